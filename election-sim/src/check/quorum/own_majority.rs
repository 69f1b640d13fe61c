//! What can be promised beside members that run kevy-elect, which keep to no primary: whatever a
//! majority without them can do alone.
//!
//! * **One of three, two of five:** the others are still a majority. While they are well, they elect
//!   within the promised time and nothing deposes their primary.
//! * **Two of three:** an election needs a vote of kevy-elect. Nothing is promised about its time,
//!   because kevy-elect's candidates refuse by rank and wait by a hash of their ids.
//! * **All:** nothing of this protocol runs.
//!
//! Whatever their number, votes are durable and given once in an epoch, a majority elects, an epoch
//! has one winner, epochs do not fall, and a resource that checks tokens serves none twice. One
//! primary at a time is promised only [as far as its own voters go](super::exclusion_by_own_voters).

use super::WorldState;
use crate::{quorum::is_majority, schedule::Heal};

/// Whether the members of the healed core that do not run kevy-elect make a majority.
pub(super) fn own_majority(world: &WorldState<'_>, heal: &Heal) -> bool {
    let own = heal.core.iter().filter(|node| !world.nodes[**node].state.is_legacy());
    is_majority(&world.environment.in_force.voters, own.copied())
}

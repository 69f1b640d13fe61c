//! When a well-connected majority may still have no leader. One member has had no ballot, perhaps
//! because it was killed before it ever wrote one. Another member cannot read its own ballot or
//! runs as two processes. It is then unknown what these two members have promised and acknowledged,
//! and only an operator can tell.

use super::{Stored, WorldState};
use crate::schedule::Heal;

/// Whether a node of the core does not know what it has promised, or has acknowledged more than the
/// core has, and cannot learn it.
pub(super) fn promises_are_lost(world: &WorldState<'_>, heal: &Heal) -> bool {
    let disk = |node: usize| world.nodes[node].state.disk.durable();
    let torn = (0..world.nodes.len()).any(|node| *disk(node) == Stored::Torn);
    let newest = heal.core.iter().map(|node| world.nodes[*node].state.data.position()).max();
    let newest = newest.unwrap_or_default();
    let lost = heal.core.iter().any(|node| match disk(*node) {
        Stored::Nothing => true,
        Stored::Ballot(ballot) => ballot.floor > newest,
        Stored::Torn => false,
    });
    lost && (torn || world.schedule.has_twins())
}

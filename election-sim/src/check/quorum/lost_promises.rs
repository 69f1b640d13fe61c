//! When a well-connected majority may be leaderless all the same: one of it has had no ballot, be it
//! that it was killed before it ever wrote one, and another member cannot read its own or runs as
//! two processes. What two of the members have promised and acknowledged is unknown then, and nothing
//! but an operator tells.

use crate::{
    quorum::{QuorumEnvironment, Stored},
    schedule::Heal,
    simulator::WorldState,
};

/// Whether a node of the core does not know what it has promised, or has acknowledged more than the
/// core has, and cannot learn it.
pub(super) fn promises_are_lost(world: &WorldState<'_, QuorumEnvironment>, heal: &Heal) -> bool {
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

//! One primary per epoch: no second node is ever elected in it, announces it, or leads under it on
//! the wire.
//!
//! With members that run kevy-elect, this holds for elections. On the wire it holds for the other
//! members only: a primary of kevy-elect votes without ceasing to be primary, and then claims the
//! epoch of the candidate it has voted for.

use super::{Checker, Contract, QuorumEnvironment, Verdict, WorldState};
use election_core::{
    Change, Epoch,
    quorum::{Action, Message, Role},
};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct OnePrimaryPerEpoch {
    /// By epoch: the process that was seen to lead it, with its life.
    primaries: BTreeMap<Epoch, (usize, u32)>,
}

impl OnePrimaryPerEpoch {
    fn leads(&mut self, world: &WorldState<'_>, node: usize, epoch: Epoch) -> Verdict {
        let life = world.nodes[node].life;
        let (first, before) = *self.primaries.entry(epoch).or_insert((node, life));
        if (first, before) == (node, life) {
            return Ok(());
        }
        Err(format!(
            "node {first} and node {node} both lead epoch {epoch} (lives {before} and {life})"
        ))
    }
}

impl Checker<QuorumEnvironment> for OnePrimaryPerEpoch {
    const NAME: &'static str = "one-primary-per-epoch";
    const HOLDS: Contract = Contract::Beyond;

    fn changed(&mut self, world: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        match change {
            Change::Elected(tenure) => self.leads(world, node, tenure.term.epoch),
            _ => Ok(()),
        }
    }

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let Action::Send { message, .. } = action else { return Ok(()) };
        if world.nodes[node].state.is_legacy() {
            return Ok(());
        }
        match message {
            Message::Announce { epoch, .. } => self.leads(world, node, *epoch),
            Message::Heartbeat(heartbeat) if heartbeat.role == Role::Primary => {
                self.leads(world, node, heartbeat.epoch)
            }
            _ => Ok(()),
        }
    }
}

//! A node's epoch never falls: not the epoch that binds it, not the one that it sends, and not
//! across a restart, as far as its disk has kept it.

use super::{Checker, Contract, QuorumEnvironment, Stored, Verdict, WorldState};
use election_core::{
    Epoch,
    quorum::{Action, Message},
};

#[derive(Debug, Default)]
pub(super) struct EpochsNeverFall {
    bound: Vec<Epoch>,
    said: Vec<Epoch>,
}

impl Checker<QuorumEnvironment> for EpochsNeverFall {
    const NAME: &'static str = "epochs-never-fall";
    const HOLDS: Contract = Contract::Void;

    fn new(nodes: usize) -> Self {
        Self { bound: vec![Epoch::NONE; nodes], said: vec![Epoch::NONE; nodes] }
    }

    fn born(&mut self, world: &WorldState<'_>, node: usize) {
        self.bound[node] = match world.nodes[node].state.disk.durable() {
            Stored::Ballot(ballot) => ballot.promised,
            Stored::Nothing | Stored::Torn => Epoch::NONE,
        };
        self.said[node] = Epoch::NONE;
    }

    fn cloned(&mut self, _: &WorldState<'_>, from: usize, onto: usize) {
        self.bound[onto] = self.bound[from];
        self.said[onto] = self.said[from];
    }

    fn asked(&mut self, _: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let Action::Send { message: Message::Heartbeat(heartbeat), .. } = action else {
            return Ok(());
        };
        let before = std::mem::replace(&mut self.said[node], heartbeat.epoch);
        if heartbeat.epoch >= before {
            return Ok(());
        }
        Err(format!("node {node} says epoch {} after epoch {before}", heartbeat.epoch))
    }

    fn stepped(&mut self, world: &WorldState<'_>, node: usize) -> Verdict {
        let Some(machine) = &world.nodes[node].machine else { return Ok(()) };
        let now = machine.promised();
        let before = std::mem::replace(&mut self.bound[node], now);
        if now >= before {
            return Ok(());
        }
        Err(format!("node {node} was bound to epoch {before} and is to epoch {now}"))
    }
}

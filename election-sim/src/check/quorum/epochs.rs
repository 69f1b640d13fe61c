//! A node's epoch never goes down: not what it is bound to, not what it says, and not across a
//! restart, as far as its disk has kept it.

use crate::{
    check::{Check, Scene, Verdict},
    fault::Contract,
    quorum::{QuorumSide, Stored},
};
use election_core::{
    Epoch,
    quorum::{Action, Message},
};

#[derive(Debug)]
pub(super) struct Epochs {
    bound: Vec<Epoch>,
    said: Vec<Epoch>,
}

impl Check<QuorumSide> for Epochs {
    const NAME: &'static str = "epochs";
    const HOLDS: Contract = Contract::Void;

    fn new(nodes: usize) -> Self {
        Self { bound: vec![Epoch::NONE; nodes], said: vec![Epoch::NONE; nodes] }
    }

    fn born(&mut self, scene: &Scene<'_, QuorumSide>, node: usize) {
        self.bound[node] = match scene.nodes[node].kit.disk.durable() {
            Stored::Ballot(ballot) => ballot.promised,
            Stored::Nothing | Stored::Torn => Epoch::NONE,
        };
        self.said[node] = Epoch::NONE;
    }

    fn cloned(&mut self, _: &Scene<'_, QuorumSide>, from: usize, onto: usize) {
        self.bound[onto] = self.bound[from];
        self.said[onto] = self.said[from];
    }

    fn asked(&mut self, _: &Scene<'_, QuorumSide>, node: usize, action: &Action) -> Verdict {
        let Action::Send { message: Message::Heartbeat(heartbeat), .. } = action else {
            return Ok(());
        };
        let before = std::mem::replace(&mut self.said[node], heartbeat.epoch);
        if heartbeat.epoch >= before {
            return Ok(());
        }
        Err(format!("node {node} says epoch {} after {before}", heartbeat.epoch))
    }

    fn stepped(&mut self, scene: &Scene<'_, QuorumSide>, node: usize) -> Verdict {
        let Some(machine) = &scene.nodes[node].machine else { return Ok(()) };
        let now = machine.promised();
        let before = std::mem::replace(&mut self.bound[node], now);
        if now >= before {
            return Ok(());
        }
        Err(format!("node {node} was bound to epoch {before} and is to {now}"))
    }
}

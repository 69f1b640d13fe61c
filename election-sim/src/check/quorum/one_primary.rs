//! One primary per epoch: nobody else is ever elected in it, announces it, or leads under it on
//! the wire.

use crate::{
    check::{Check, Scene, Verdict},
    fault::Contract,
    quorum::QuorumSide,
};
use election_core::{
    Change, Epoch,
    quorum::{Action, Message, Role},
};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct OnePrimary {
    /// Which process, in which life, was seen to lead each epoch.
    primaries: BTreeMap<Epoch, (usize, u32)>,
}

impl OnePrimary {
    fn leads(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, epoch: Epoch) -> Verdict {
        let life = scene.nodes[node].life;
        let (first, before) = *self.primaries.entry(epoch).or_insert((node, life));
        if (first, before) == (node, life) {
            return Ok(());
        }
        Err(format!("nodes {first} and {node} both lead epoch {epoch} (lives {before} and {life})"))
    }
}

impl Check<QuorumSide> for OnePrimary {
    const NAME: &'static str = "one-primary";
    const HOLDS: Contract = Contract::Beyond;

    fn new(_: usize) -> Self {
        Self { primaries: BTreeMap::new() }
    }

    fn changed(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, change: &Change) -> Verdict {
        match change {
            Change::Elected(tenure) => self.leads(scene, node, tenure.term.epoch),
            _ => Ok(()),
        }
    }

    fn asked(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, action: &Action) -> Verdict {
        let Action::Send { message, .. } = action else { return Ok(()) };
        match message {
            Message::Announce { epoch, .. } => self.leads(scene, node, *epoch),
            Message::Heartbeat(heartbeat) if heartbeat.role == Role::Primary => {
                self.leads(scene, node, heartbeat.epoch)
            }
            _ => Ok(()),
        }
    }
}

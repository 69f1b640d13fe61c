//! Nobody leads without the votes of a majority: fewer nodes than that never get anywhere.

use super::one_vote::vote;
use crate::{
    check::{Check, Scene, Verdict},
    fault::Contract,
    quorum::QuorumSide,
};
use election_core::{
    Change, Epoch,
    quorum::{Action, Message, Peer},
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub(super) struct Majority {
    /// Who has voted for whom in which epoch.
    votes: BTreeMap<(Epoch, Peer), BTreeSet<Peer>>,
}

impl Majority {
    fn leads(&self, scene: &Scene<'_, QuorumSide>, node: usize, epoch: Epoch) -> Verdict {
        let me = scene.nodes[node].kit.peer;
        let mut voters = self.votes.get(&(epoch, me)).cloned().unwrap_or_default();
        voters.insert(me);
        if voters.len() >= scene.side.quorum() {
            return Ok(());
        }
        Err(format!(
            "node {node} leads epoch {epoch} with {} votes of {}",
            voters.len(),
            scene.side.count()
        ))
    }
}

impl Check<QuorumSide> for Majority {
    const NAME: &'static str = "majority";
    const HOLDS: Contract = Contract::Beyond;

    fn new(_: usize) -> Self {
        Self { votes: BTreeMap::new() }
    }

    fn asked(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, action: &Action) -> Verdict {
        let me = scene.nodes[node].kit.peer;
        if let Some((epoch, candidate)) = vote(action, me) {
            if candidate != me {
                self.votes.remove(&(epoch, me)); // it has yielded, and its tally is void
            }
            self.votes.entry((epoch, candidate)).or_default().insert(me);
        }
        match action {
            Action::Send { message: Message::Announce { epoch, .. }, .. } => {
                self.leads(scene, node, *epoch)
            }
            _ => Ok(()),
        }
    }

    fn changed(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, change: &Change) -> Verdict {
        match change {
            Change::Elected(tenure) => self.leads(scene, node, tenure.term.epoch),
            _ => Ok(()),
        }
    }
}

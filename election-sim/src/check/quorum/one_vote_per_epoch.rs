//! One vote per epoch per member, across restarts. An ACCEPT is a vote for its receiver, an OFFER a
//! vote for its sender. A candidate may yield once to a better candidate of the same epoch: it has
//! then given up its own tally, and may never lead that epoch.
//!
//! A node whose disk is lost may vote again in an election that has failed: enough of the other
//! nodes know of every other election. The checker `one-primary-per-epoch` verifies that no epoch
//! has two winners.

use crate::{
    check::{Checker, Verdict},
    fault::Contract,
    quorum::{QuorumEnvironment, Stored},
    simulator::WorldState,
};
use election_core::{
    Epoch,
    quorum::{Action, Audience, Message, Peer},
};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct OneVotePerEpoch {
    /// The candidate that got the vote, and the process that gave it.
    votes: BTreeMap<(Epoch, Peer), (Peer, usize)>,
}

impl Checker<QuorumEnvironment> for OneVotePerEpoch {
    const NAME: &'static str = "one-vote-per-epoch";
    const HOLDS: Contract = Contract::Beyond;

    fn new(_: usize) -> Self {
        Self { votes: BTreeMap::new() }
    }

    fn born(&mut self, world: &WorldState<'_, QuorumEnvironment>, node: usize) {
        if *world.nodes[node].state.disk.durable() == Stored::Nothing {
            self.votes.retain(|_, (_, voter)| *voter != node);
        }
    }

    fn asked(
        &mut self,
        world: &WorldState<'_, QuorumEnvironment>,
        node: usize,
        action: &Action,
    ) -> Verdict {
        let me = world.nodes[node].state.peer;
        let Some((epoch, candidate)) = vote(action, me) else { return Ok(()) };
        let (vote, _) = self.votes.entry((epoch, me)).or_insert((candidate, node));
        let first = if *vote == me { std::mem::replace(vote, candidate) } else { *vote };
        if first == candidate || first == me {
            return Ok(());
        }
        Err(format!(
            "node {node} votes for member {} in epoch {epoch}, after voting for member {}",
            candidate.index(),
            first.index()
        ))
    }
}

/// The vote that an action of the member `me` gives, if any: its epoch, and its candidate.
pub(super) fn vote(action: &Action, me: Peer) -> Option<(Epoch, Peer)> {
    match action {
        Action::Send { to: Audience::One(to), message: Message::Accept { epoch, .. } } => {
            Some((*epoch, *to))
        }
        Action::Send { message: Message::Offer { epoch, .. }, .. } => Some((*epoch, me)),
        _ => None,
    }
}

//! One vote per epoch per member, across restarts: an ACCEPT is a vote for its receiver, an OFFER
//! one for its sender. A candidate may yield to a better one of the same epoch, once: it has given
//! up its own tally then, and may never lead that epoch.
//!
//! A node whose disk is lost may vote again in an election that has come to nothing: enough of the
//! others know of every other one. That no epoch has two winners is for `one-primary` to see.

use crate::{
    check::{Check, Scene, Verdict},
    fault::Contract,
    quorum::{QuorumSide, Stored},
};
use election_core::{
    Epoch,
    quorum::{Action, Audience, Message, Peer},
};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct OneVote {
    /// For whom, and which process gave it.
    votes: BTreeMap<(Epoch, Peer), (Peer, usize)>,
}

impl Check<QuorumSide> for OneVote {
    const NAME: &'static str = "one-vote";
    const HOLDS: Contract = Contract::Beyond;

    fn new(_: usize) -> Self {
        Self { votes: BTreeMap::new() }
    }

    fn born(&mut self, scene: &Scene<'_, QuorumSide>, node: usize) {
        if *scene.nodes[node].kit.disk.durable() == Stored::Nothing {
            self.votes.retain(|_, (_, voter)| *voter != node);
        }
    }

    fn asked(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, action: &Action) -> Verdict {
        let me = scene.nodes[node].kit.peer;
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

/// The vote that an action of the member `me` gives, if it does: in which epoch, and to whom.
pub(super) fn vote(action: &Action, me: Peer) -> Option<(Epoch, Peer)> {
    match action {
        Action::Send { to: Audience::One(to), message: Message::Accept { epoch, .. } } => {
            Some((*epoch, *to))
        }
        Action::Send { message: Message::Offer { epoch, .. }, .. } => Some((*epoch, me)),
        _ => None,
    }
}

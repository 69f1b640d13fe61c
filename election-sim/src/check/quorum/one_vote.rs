//! One vote per epoch per member, across restarts: an ACCEPT is a vote for its receiver, an OFFER
//! one for its sender. A candidate may yield to a better one of the same epoch, once: it has given
//! up its own tally then, and may never lead that epoch.

use crate::{
    check::{Check, Scene, Verdict},
    fault::Contract,
    quorum::QuorumSide,
};
use election_core::{
    Epoch,
    quorum::{Action, Audience, Message, Peer},
};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct OneVote {
    votes: BTreeMap<(Epoch, Peer), Peer>,
}

impl Check<QuorumSide> for OneVote {
    const NAME: &'static str = "one-vote";
    const HOLDS: Contract = Contract::Beyond;

    fn new(_: usize) -> Self {
        Self { votes: BTreeMap::new() }
    }

    fn asked(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, action: &Action) -> Verdict {
        let me = scene.nodes[node].kit.peer;
        let Some((epoch, candidate)) = vote(action, me) else { return Ok(()) };
        let vote = self.votes.entry((epoch, me)).or_insert(candidate);
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

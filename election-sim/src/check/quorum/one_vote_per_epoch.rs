//! One vote per epoch per member, across restarts. An ACCEPT is a vote for its receiver, an OFFER a
//! vote for its sender. A candidate may yield once to a better candidate of the same epoch: it has
//! then given up its own tally, and may never lead that epoch. A member that has won an epoch never
//! yields its vote in it, however soon it gives the leadership up.
//!
//! A node whose disk is lost may vote again in an election that has failed: enough of the other
//! nodes know of every other election. The checker `one-primary-per-epoch` verifies that no epoch
//! has two winners.

use super::{Checker, Contract, QuorumEnvironment, Stored, Verdict, WorldState};
use election_core::{
    Change, Epoch,
    quorum::{Action, Audience, Message, Role},
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct OneVotePerEpoch {
    /// The candidate that got the vote, and the process that gave it.
    votes: BTreeMap<(Epoch, usize), (usize, usize)>,
    /// What each member has won: elections, and those of its bumps.
    won: BTreeSet<(Epoch, usize)>,
}

impl OneVotePerEpoch {
    fn voted(&mut self, node: usize, me: usize, (epoch, candidate): (Epoch, usize)) -> Verdict {
        let (vote, _) = self.votes.entry((epoch, me)).or_insert((candidate, node));
        let yields = *vote == me && candidate != me;
        if yields && self.won.contains(&(epoch, me)) {
            return Err(format!(
                "node {node} votes for member {candidate} in epoch {epoch}, which it has won itself"
            ));
        }
        let first = if yields { std::mem::replace(vote, candidate) } else { *vote };
        if first == candidate || yields {
            return Ok(());
        }
        Err(format!(
            "node {node} votes for member {candidate} in epoch {epoch}, after voting for member {first}"
        ))
    }
}

impl Checker<QuorumEnvironment> for OneVotePerEpoch {
    const NAME: &'static str = "one-vote-per-epoch";
    const HOLDS: Contract = Contract::Beyond;

    fn born(&mut self, world: &WorldState<'_>, node: usize) {
        if *world.nodes[node].state.disk.durable() == Stored::Nothing {
            self.votes.retain(|_, (_, voter)| *voter != node);
        }
    }

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let me = world.nodes[node].state.member;
        if let Some(won) = won(action) {
            self.won.insert((won, me));
        }
        match vote(world, node, action) {
            Some(vote) => self.voted(node, me, vote),
            None => Ok(()),
        }
    }

    fn changed(&mut self, world: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        if let Change::Elected(tenure) = change {
            self.won.insert((tenure.term.epoch, world.nodes[node].state.member));
        }
        Ok(())
    }
}

/// The epoch that the sender of a frame says it has won.
fn won(action: &Action) -> Option<Epoch> {
    match action {
        Action::Send { message: Message::Announce { epoch, .. }, .. } => Some(*epoch),
        Action::Send { message: Message::Heartbeat(said), .. } if said.role == Role::Primary => {
            Some(said.epoch)
        }
        _ => None,
    }
}

/// The vote that an action of a node gives, if any: its epoch, and the node that answers for its
/// candidate.
pub(super) fn vote(world: &WorldState<'_>, node: usize, action: &Action) -> Option<(Epoch, usize)> {
    match action {
        Action::Send { to: Audience::One(to), message: Message::Accept { epoch, .. } } => {
            Some((*epoch, world.environment.host(node, *to)?))
        }
        Action::Send { message: Message::Offer { epoch, .. }, .. } => {
            Some((*epoch, world.nodes[node].state.member))
        }
        _ => None,
    }
}

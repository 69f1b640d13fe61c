//! No node leads without the votes of a majority: a minority never elects anybody. If the list of
//! members has changed, the list before may have counted.

use super::{Checker, Contract, QuorumEnvironment, Verdict, WorldState, one_vote_per_epoch::vote};
use crate::quorum::{Machine, Nodes, is_majority, nodes_of};
use election_core::{
    Change, Epoch,
    quorum::{Action, Message},
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct MajorityElects {
    /// By epoch and candidate: the voters.
    votes: BTreeMap<(Epoch, usize), BTreeSet<usize>>,
    /// The elections that were judged. An announcement is repeated as long as a tenure lasts.
    judged: BTreeSet<(Epoch, usize)>,
}

impl MajorityElects {
    fn leads(&mut self, world: &WorldState<'_>, node: usize, epoch: Epoch) -> Verdict {
        let me = world.nodes[node].state.member;
        if !self.judged.insert((epoch, me)) {
            return Ok(());
        }
        let mut voters = self.votes.get(&(epoch, me)).cloned().unwrap_or_default();
        voters.insert(me);
        let lists = lists(world, node);
        if lists.iter().any(|list| is_majority(list, voters.iter().copied())) {
            return Ok(());
        }
        let all = lists.first().map_or(0, Nodes::len);
        Err(format!("node {node} leads epoch {epoch} with {} votes of {all}", voters.len()))
    }
}

/// The list that a node goes by, and the one before.
fn lists(world: &WorldState<'_>, node: usize) -> Vec<Nodes> {
    match &world.nodes[node].machine {
        Some(Machine::Own(quorum)) if world.environment.in_force.generation > 0 => {
            let lists = quorum.lists();
            let both = [Some(lists.established()), lists.parent()];
            both.into_iter().flatten().map(|list| nodes_of(world.schedule, lists, list)).collect()
        }
        _ => vec![world.environment.in_force.voters.clone()],
    }
}

impl Checker<QuorumEnvironment> for MajorityElects {
    const NAME: &'static str = "majority-elects";
    const HOLDS: Contract = Contract::Beyond;

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let me = world.nodes[node].state.member;
        if let Some((epoch, candidate)) = vote(world, node, action) {
            if candidate != me {
                self.votes.remove(&(epoch, me)); // it has yielded; its tally is void
            }
            self.votes.entry((epoch, candidate)).or_default().insert(me);
        }
        match action {
            Action::Send { message: Message::Announce { epoch, .. }, .. } => {
                self.leads(world, node, *epoch)
            }
            _ => Ok(()),
        }
    }

    fn changed(&mut self, world: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        match change {
            Change::Elected(tenure) => self.leads(world, node, tenure.term.epoch),
            _ => Ok(()),
        }
    }
}

//! The lists of members form one chain. Each generation has one list, with one member more or less
//! than the one before. It is in force only once majorities of both have recorded, in one epoch, that
//! they accept it. Whoever accepts a list in an epoch is bound to no later one, and has no vote left in
//! that epoch. And nobody votes for a node that goes by an older list than its own.

use super::{
    Checker, Contract, Heard, QuorumEnvironment, Stored, Verdict, WorldState,
    one_vote_per_epoch::vote,
};
use crate::quorum::{Machine, Nodes, is_majority, nodes_of};
use election_core::{
    Epoch,
    quorum::{Action, Ballot, Event, MemberList, Membership, Role},
};
use std::collections::BTreeMap;

/// The members, and which of them are witnesses.
type List = (Nodes, Nodes);

#[derive(Debug, Default)]
pub(super) struct ListsFormAChain {
    /// By generation: the list in force.
    chain: BTreeMap<u64, List>,
    /// By generation and epoch: who has recorded which list as accepted.
    accepted: BTreeMap<(u64, Epoch), Vec<(List, Nodes)>>,
}

fn list_of(world: &WorldState<'_>, lists: &Membership, list: &MemberList) -> List {
    let witnesses = MemberList { voters: list.witnesses, ..*list };
    (nodes_of(world.schedule, lists, list), nodes_of(world.schedule, lists, &witnesses))
}

impl ListsFormAChain {
    /// Takes in what the disk of a node has accepted.
    fn read(&mut self, world: &WorldState<'_>, node: usize) {
        let state = &world.nodes[node].state;
        let Stored::Ballot(ballot) = state.disk.durable() else { return };
        let Some((epoch, list)) = ballot.lists.accepted() else { return };
        let known = self.accepted.entry((list.generation, epoch)).or_default();
        let list = list_of(world, &ballot.lists, list);
        match known.iter_mut().find(|(of, _)| *of == list) {
            Some((_, by)) => _ = by.insert(state.member),
            None => known.push((list, Nodes::from([state.member]))),
        }
    }

    fn established(&mut self, world: &WorldState<'_>, node: usize, lists: &Membership) -> Verdict {
        let generation = lists.established().generation;
        let list = list_of(world, lists, lists.established());
        if let Some(known) = self.chain.get(&generation) {
            if *known == list {
                return Ok(());
            }
            return Err(format!("node {node} has another list {generation} than there was"));
        }
        let before = lists.parent().map(|parent| list_of(world, lists, parent));
        let Some((parent, _)) = before.filter(|_| generation > 0) else { return Ok(()) };
        let one_more_or_less = parent.symmetric_difference(&list.0).count() == 1;
        let follows = self.chain.get(&(generation - 1)).is_none_or(|(known, _)| *known == parent);
        if !follows || !one_more_or_less {
            return Err(format!("node {node} has a list {generation} that does not come next"));
        }
        let of_generation = (generation, Epoch::NONE)..(generation + 1, Epoch::NONE);
        let all = self.accepted.range(of_generation).flat_map(|(_, lists)| lists);
        let mut accepted = all.filter(|(of, _)| *of == list).map(|(_, by)| by);
        let both = |by: &Nodes| {
            is_majority(&parent, by.iter().copied()) && is_majority(&list.0, by.iter().copied())
        };
        if !accepted.any(both) {
            return Err(format!(
                "node {node} goes by list {generation}, which no majorities have accepted"
            ));
        }
        self.chain.insert(generation, list);
        Ok(())
    }

    fn saves(&mut self, world: &WorldState<'_>, node: usize, ballot: &Ballot) -> Verdict {
        if let Some((epoch, list)) = ballot.lists.accepted() {
            let bound = match world.nodes[node].state.disk.durable() {
                Stored::Ballot(last) if last.lists.accepted() != Some((epoch, list)) => {
                    last.promised
                }
                _ => Epoch::NONE,
            };
            // A primary may be bound to a later epoch that it did not win, and nobody else can.
            let leads = world.nodes[node].machine.as_ref().map(Machine::role);
            if epoch < bound && leads != Some(Role::Primary) {
                return Err(format!(
                    "node {node} accepts a list in epoch {epoch}, bound to epoch {bound}"
                ));
            }
            if epoch == ballot.promised && ballot.voted_for.is_none() {
                let generation = list.generation;
                return Err(format!(
                    "node {node} accepts list {generation} in epoch {epoch} and keeps its vote"
                ));
            }
        }
        self.established(world, node, &ballot.lists)
    }
}

/// The generation of the list that a node goes by.
fn generation(world: &WorldState<'_>, node: usize) -> Option<u64> {
    match world.nodes[node].machine.as_ref()? {
        Machine::Own(quorum) => Some(quorum.lists().established().generation),
        Machine::Legacy(_) => None,
    }
}

impl Checker<QuorumEnvironment> for ListsFormAChain {
    const NAME: &'static str = "lists-form-a-chain";
    const HOLDS: Contract = Contract::Within;

    fn born(&mut self, world: &WorldState<'_>, node: usize) {
        self.read(world, node);
    }

    fn heard(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        if matches!(heard.event, Event::Saved(_)) {
            self.read(world, heard.node);
        }
    }

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        if !world.environment.lists_change {
            return Ok(());
        }
        if let Action::Save(ballot) = action {
            return self.saves(world, node, ballot);
        }
        let Some((epoch, candidate)) = vote(world, node, action) else { return Ok(()) };
        // A later life, which may have lost its ballot, has no use for the vote.
        let asks = world.nodes[candidate].machine.as_ref().map(Machine::role);
        match (generation(world, node), generation(world, candidate)) {
            (Some(own), Some(theirs)) if theirs < own && asks != Some(Role::Replica) => {
                Err(format!(
                    "node {node} votes in epoch {epoch} for member {candidate}, which goes by list \
                 {theirs} and not {own}"
                ))
            }
            _ => Ok(()),
        }
    }
}

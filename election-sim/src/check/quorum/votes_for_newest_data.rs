//! No node votes for data older than its own, unless it votes for the primary it follows. So the
//! winner of an election has the newest data among its voters.
//!
//! A voter that runs kevy-elect compares offsets alone, and not again when its vote is durable: it
//! is not judged.

use super::{
    Checker, Contract, Heard, QuorumEnvironment, Verdict, WorldState, one_vote_per_epoch::vote,
};
use crate::quorum::Machine;
use election_core::{
    Epoch,
    quorum::{Action, Event, Message, Position},
};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct VotesForNewestData {
    /// By node: the newest offer that it heard, for each election.
    offers: Vec<BTreeMap<(Epoch, usize), Position>>,
    voted: Vec<Epoch>,
}

impl Checker<QuorumEnvironment> for VotesForNewestData {
    const NAME: &'static str = "votes-for-newest-data";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { offers: vec![BTreeMap::new(); nodes], voted: vec![Epoch::NONE; nodes] }
    }

    fn born(&mut self, _: &WorldState<'_>, node: usize) {
        self.offers[node].clear();
    }

    fn heard(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        let Event::Received { from, message, .. } = heard.event else { return };
        let from = world.environment.host(heard.node, *from);
        if let (Message::Offer { epoch, position, .. }, Some(from)) = (message, from) {
            self.offers[heard.node].insert((*epoch, from), *position);
        }
    }

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let there = &world.nodes[node];
        if there.state.is_legacy() {
            return Ok(());
        }
        let vote = vote(world, node, action).filter(|(_, whom)| *whom != there.state.member);
        let Some((epoch, candidate)) = vote else { return Ok(()) };
        if epoch <= self.voted[node] {
            return Ok(()); // the same vote again
        }
        self.voted[node] = epoch;
        let followed = there.machine.as_ref().and_then(Machine::followed);
        let candidates = world.schedule.nodes[candidate].name.as_str();
        let follows = followed.is_some_and(|(term, _)| term.leader.as_str() == candidates);
        let Some(offered) = self.offers[node].get(&(epoch, candidate)) else {
            return Err(format!("node {node} votes in epoch {epoch} without having been asked"));
        };
        let own = match there.state.recorded() {
            Some(recorded) => recorded,
            None => there.state.data.position(),
        };
        if *offered >= own || follows {
            return Ok(());
        }
        Err(format!("node {node} votes for {offered:?} while it has {own:?} itself"))
    }
}

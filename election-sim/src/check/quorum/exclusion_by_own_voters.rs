//! What is left of [exclusion](crate::check::exclusion) beside members that run kevy-elect.
//!
//! A voter of kevy-elect keeps to no primary: it votes for whoever offers a higher epoch and enough
//! data. So two nodes can act at once, each with the vote of such a voter. But a voter of this
//! protocol never stands behind both of them: of two nodes of this protocol that act at once, no
//! third one vouches for both. Nothing is promised where kevy-elect leads.
//!
//! * **One of three:** two nodes act at once only if each has the vote of the third, so only if they
//!   do not hear each other. The heartbeats of the third then end one of the two.
//! * **Two of three, and more:** the same, but every leadership stands on a vote of kevy-elect.

use super::{Checker, Contract, Heard, QuorumEnvironment, Verdict, WorldState, vouched::Books};
use election_core::quorum::{Action, Message};
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct ExclusionByOwnVoters {
    nodes: Vec<Books>,
}

impl Checker<QuorumEnvironment> for ExclusionByOwnVoters {
    const NAME: &'static str = "exclusion-by-own-voters";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { nodes: vec![Books::default(); nodes] }
    }

    fn born(&mut self, _: &WorldState<'_>, node: usize) {
        self.nodes[node] = Books::default();
    }

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        if let Action::Send { message: Message::Offer { epoch, .. }, .. } = action {
            self.nodes[node].offer(*epoch, world.nodes[node].read(world.now));
        }
        Ok(())
    }

    fn heard(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        if world.schedule.has_legacy() {
            self.nodes[heard.node].hear(world, heard);
        }
    }

    fn stepped(&mut self, world: &WorldState<'_>, node: usize) -> Verdict {
        let acts = |node: usize| {
            let there = &world.nodes[node];
            there.work.is_some() && there.works(world.now) && !there.state.is_legacy()
        };
        self.nodes[node].take(world.nodes[node].read(world.now));
        if !acts(node) || !world.schedule.has_legacy() {
            return Ok(());
        }
        let others = (0..world.nodes.len()).filter(|other| *other != node && acts(*other));
        for other in others {
            let (here, there) = (self.voters(world, node), self.voters(world, other));
            let own = |voter: &&usize| !world.nodes[**voter].state.is_legacy();
            if let Some(voter) = here.intersection(&there).find(own) {
                return Err(format!(
                    "node {node} and node {other} may both act, and member {voter} vouches for both"
                ));
            }
        }
        Ok(())
    }
}

impl ExclusionByOwnVoters {
    /// The members that the leadership of a node rests on.
    fn voters(&self, world: &WorldState<'_>, node: usize) -> BTreeSet<usize> {
        let me = world.nodes[node].state.member;
        let majority = self.nodes[node].majority(&world.environment.in_force.voters, me);
        self.nodes[node].voters(majority).chain([me]).collect()
    }
}

//! A vote leaves a node only once it would survive a crash.

use super::one_vote::vote;
use crate::{
    check::{Check, Scene, Verdict},
    fault::Contract,
    quorum::{QuorumSide, Stored},
};
use election_core::quorum::Action;

#[derive(Debug)]
pub(super) struct Durable;

impl Check<QuorumSide> for Durable {
    const NAME: &'static str = "durable";
    const HOLDS: Contract = Contract::Beyond;

    fn new(_: usize) -> Self {
        Self
    }

    fn asked(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, action: &Action) -> Verdict {
        let kit = &scene.nodes[node].kit;
        let Some((epoch, candidate)) = vote(action, kit.peer) else { return Ok(()) };
        let candidate = scene.side.config(node).members().id(candidate);
        match kit.disk.durable() {
            Stored::Ballot(ballot)
                if ballot.promised == epoch && ballot.voted_for.as_ref() == candidate =>
            {
                Ok(())
            }
            other => Err(format!(
                "node {node} votes in epoch {epoch}; a crash now would leave {other:?}"
            )),
        }
    }
}

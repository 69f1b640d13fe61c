//! A vote leaves a node only when it would survive a crash.

use super::{
    Checker, Contract, QuorumEnvironment, Stored, Verdict, WorldState, one_vote_per_epoch::vote,
};
use election_core::quorum::Action;

#[derive(Debug, Default)]
pub(super) struct VoteIsDurable;

impl Checker<QuorumEnvironment> for VoteIsDurable {
    const NAME: &'static str = "vote-is-durable";
    const HOLDS: Contract = Contract::Beyond;

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let state = &world.nodes[node].state;
        let Some((epoch, candidate)) = vote(action, state.peer) else { return Ok(()) };
        let candidate = world.environment.config(node).members().id(candidate);
        match state.disk.durable() {
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

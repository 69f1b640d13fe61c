//! A vote leaves a node only when it would survive a crash.

use super::{
    Checker, Contract, QuorumEnvironment, Stored, Verdict, WorldState, one_vote_per_epoch::vote,
};
use election_core::{NodeId, quorum::Action};

#[derive(Debug, Default)]
pub(super) struct VoteIsDurable;

impl Checker<QuorumEnvironment> for VoteIsDurable {
    const NAME: &'static str = "vote-is-durable";
    const HOLDS: Contract = Contract::Beyond;

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let state = &world.nodes[node].state;
        let Some((epoch, candidate)) = vote(world, node, action) else { return Ok(()) };
        let candidate = Some(world.schedule.nodes[candidate].name.as_str());
        match state.disk.durable() {
            Stored::Ballot(ballot)
                if ballot.promised == epoch
                    && ballot.voted_for.as_ref().map(NodeId::as_str) == candidate =>
            {
                Ok(())
            }
            other => Err(format!(
                "node {node} votes in epoch {epoch}; a crash now would leave {other:?}"
            )),
        }
    }
}

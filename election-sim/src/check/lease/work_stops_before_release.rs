//! A term is released, and its lease cut down, only after its work has been reported stopped, and no
//! process campaigns while its old work may still run.

use super::{Checker, Contract, LeaseEnvironment, Verdict, WorldState};
use election_core::lease::Query;

#[derive(Debug, Default)]
pub(super) struct WorkStopsBeforeRelease;

impl Checker<LeaseEnvironment> for WorkStopsBeforeRelease {
    const NAME: &'static str = "work-stops-before-release";
    const HOLDS: Contract = Contract::Void;

    fn asked(&mut self, world: &WorldState<'_>, node: usize, query: &Query) -> Verdict {
        let Some(work) = world.nodes[node].work else { return Ok(()) };
        match query {
            Query::Resign { epoch } if *epoch == work.epoch => {
                Err(format!("node {node} releases epoch {epoch} while its work runs"))
            }
            Query::Renew { epoch, ttl, .. }
                if *epoch == work.epoch && *ttl < world.schedule.timing_of(node).ttl =>
            {
                Err(format!("node {node} cuts the lease of epoch {epoch} down while its work runs"))
            }
            Query::Attempt { .. } | Query::TakeOver { .. } => {
                Err(format!("node {node} campaigns while its work of epoch {} runs", work.epoch))
            }
            _ => Ok(()),
        }
    }
}

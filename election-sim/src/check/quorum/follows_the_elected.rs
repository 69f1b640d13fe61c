//! The primary that a follower names has led under exactly that term. The epoch is the fencing
//! token of a tenure that began, whatever epoch the primary has raised itself to since. A primary
//! that runs kevy-elect names no token, and claims epochs that it has only voted in: what is heard
//! of it is not judged.

use super::{Checker, Contract, QuorumEnvironment, Verdict, WorldState};
use crate::schedule::Software;
use election_core::{Change, Epoch, NodeId, Term};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct FollowsTheElected {
    /// By epoch: the nodes elected in it. More than one only beyond the contract.
    began: BTreeMap<Epoch, Vec<NodeId>>,
}

impl Checker<QuorumEnvironment> for FollowsTheElected {
    const NAME: &'static str = "follows-the-elected";
    const HOLDS: Contract = Contract::Void;

    fn changed(&mut self, world: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        let named = match change {
            Change::Elected(tenure) => {
                let Term { epoch, leader } = &tenure.term;
                self.began.entry(*epoch).or_default().push(leader.clone());
                return Ok(());
            }
            Change::Followed { term, .. } => Some(term),
            Change::Lost { successor, .. } => successor.as_ref(),
            _ => None,
        };
        let led = |term: &Term| self.began.get(&term.epoch)?.contains(&term.leader).then_some(());
        match named {
            Some(term) if led(term).is_none() && !may_be_legacy(world, &term.leader) => {
                let (leader, epoch) = (&term.leader, term.epoch);
                Err(format!(
                    "node {node} follows {leader} under epoch {epoch}, which it was never elected in"
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Whether this member ever runs kevy-elect.
fn may_be_legacy(world: &WorldState<'_>, id: &NodeId) -> bool {
    let nodes = &world.schedule.nodes;
    nodes.iter().any(|node| node.name == id.as_str() && node.software != Software::Own)
}

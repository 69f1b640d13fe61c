//! A process that is told that its term is over neither leads that term nor works on it any more.

use super::{Answered, Checker, Contract, LeaseEnvironment, Verdict, WorldState, books_by_node};
use election_core::{
    Epoch, Protocol,
    lease::{Answer, Query},
};

#[derive(Debug, Default)]
pub(super) struct StopsWhenReplaced {
    /// By node: the term that it was told is over.
    over: Vec<Option<Epoch>>,
}

impl Checker<LeaseEnvironment> for StopsWhenReplaced {
    const NAME: &'static str = "stops-when-replaced";
    const HOLDS: Contract = Contract::Void;

    books_by_node!(over, WorldState<'_>);

    fn heard(&mut self, world: &WorldState<'_>, answered: &Answered<'_>) {
        // Once it drains, it no longer asks how its last renewal went.
        let leads = world.nodes[answered.node].work.is_some_and(|work| !work.told);
        if let (Query::Renew { epoch, .. }, Ok(Answer::Gone), true) =
            (answered.query, answered.result, answered.current && leads)
        {
            self.over[answered.node] = Some(*epoch);
        }
    }

    fn stepped(&mut self, world: &WorldState<'_>, node: usize) -> Verdict {
        let Some(over) = self.over[node] else { return Ok(()) };
        let there = &world.nodes[node];
        let believes = there.machine.as_ref().is_some_and(|lease| {
            let tenure = lease.tenure(there.clock.read(world.now));
            tenure.is_some_and(|tenure| tenure.term.epoch == over)
        });
        let works = there.works(world.now) && there.work.is_some_and(|work| work.epoch == over);
        if believes || works {
            return Err(format!("node {node} goes on with epoch {over}, which it knows is over"));
        }
        Ok(())
    }
}

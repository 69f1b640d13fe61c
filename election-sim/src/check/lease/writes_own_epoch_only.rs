//! A renewal or resignation touches only the term of its sender, and a process resigns only a term
//! that it has won. It renews what it leads; and if leases last for a least time, what it has led
//! last, to cut the lease down to that.

use super::{Checker, Contract, Effect, LeaseEnvironment, Verdict, WorldState, books_by_node};
use election_core::{Change, Epoch, lease::Query};

#[derive(Debug, Default)]
pub(super) struct WritesOwnEpochOnly {
    /// By node: what its present life has led last.
    led: Vec<Epoch>,
}

impl Checker<LeaseEnvironment> for WritesOwnEpochOnly {
    const NAME: &'static str = "writes-own-epoch-only";
    const HOLDS: Contract = Contract::Void;

    books_by_node!(led, WorldState<'_>);

    fn changed(&mut self, _: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        if let Change::Elected(tenure) = change {
            self.led[node] = tenure.term.epoch;
        }
        Ok(())
    }

    fn asked(&mut self, world: &WorldState<'_>, node: usize, query: &Query) -> Verdict {
        let Query::Renew { epoch, .. } = query else { return Ok(()) };
        match world.nodes[node].work {
            Some(work) if work.epoch == *epoch => Ok(()),
            None if lasts(world) && self.led[node] == *epoch => Ok(()),
            None => Err(format!("node {node} renews epoch {epoch} and does no leader work")),
            Some(work) => Err(format!(
                "node {node} renews epoch {epoch} while its leader work is of epoch {}",
                work.epoch
            )),
        }
    }

    fn done(&mut self, _: &WorldState<'_>, Effect { statement, done }: &Effect<'_>) -> Verdict {
        let epoch = match &statement.query {
            Query::Renew { epoch, .. } | Query::Resign { epoch } => epoch.get(),
            _ => return Ok(()),
        };
        let own = done.before.own && done.before.term == epoch;
        if own || done.before == done.after {
            return Ok(());
        }
        Err(format!(
            "{} touched epoch {} with a statement about epoch {epoch}",
            statement.who.id, done.before.term
        ))
    }
}

fn lasts(world: &WorldState<'_>) -> bool {
    !world.environment.config.at_least_for().is_zero()
}

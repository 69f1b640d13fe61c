//! A process believes in a term once: never again after its belief has ended, and never after it
//! issued a resignation of the term.

use super::{Checker, Contract, LeaseEnvironment, Verdict, WorldState, books_by_node};
use election_core::{Change, lease::Query};

#[derive(Debug, Default)]
pub(super) struct EpochLedOnce {
    /// By node: the highest epoch that was given up in this life.
    given_up: Vec<u64>,
}

impl Checker<LeaseEnvironment> for EpochLedOnce {
    const NAME: &'static str = "epoch-led-once";
    const HOLDS: Contract = Contract::Void;

    books_by_node!(given_up, WorldState<'_>);

    fn asked(&mut self, _: &WorldState<'_>, node: usize, query: &Query) -> Verdict {
        if let Query::Resign { epoch } = query {
            self.given_up[node] = self.given_up[node].max(epoch.get());
        }
        Ok(())
    }

    fn changed(&mut self, _: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        match change {
            Change::Elected(tenure) if tenure.term.epoch.get() <= self.given_up[node] => {
                Err(format!(
                    "node {node} leads {}, having given up epoch {}",
                    tenure.term, self.given_up[node]
                ))
            }
            Change::Lost { term, .. } => {
                self.given_up[node] = self.given_up[node].max(term.epoch.get());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

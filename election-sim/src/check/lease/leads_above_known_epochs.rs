//! A process never leads under an epoch at or below one that the database had told it before. This
//! holds whatever the database has lost since and whatever its clock reads.

use super::{Answered, Checker, Contract, LeaseEnvironment, Verdict, WorldState, books_by_node};
use election_core::{Change, Epoch, lease::Answer};

#[derive(Debug, Default)]
pub(super) struct LeadsAboveKnownEpochs {
    nodes: Vec<Known>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    /// The highest epoch in any answer to this process.
    highest: Epoch,
    /// An epoch that it was told it had won, although it knew an equal or higher one.
    too_low: Option<Epoch>,
}

impl Checker<LeaseEnvironment> for LeadsAboveKnownEpochs {
    const NAME: &'static str = "leads-above-known-epochs";
    const HOLDS: Contract = Contract::Void;

    books_by_node!(nodes, WorldState<'_>);

    fn heard(&mut self, _: &WorldState<'_>, answered: &Answered<'_>) {
        let Known { highest, too_low } = &mut self.nodes[answered.node];
        match answered.result {
            Ok(Answer::Won { epoch, .. }) => {
                if *epoch <= *highest && answered.current {
                    *too_low = Some(*epoch);
                }
                *highest = (*highest).max(*epoch);
            }
            Ok(Answer::Seen(row)) => *highest = (*highest).max(row.epoch),
            _ => {}
        }
    }

    fn changed(&mut self, _: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        let (epoch, Known { highest, too_low }) = (tenure.term.epoch, &self.nodes[node]);
        if epoch < *highest || *too_low == Some(epoch) {
            return Err(format!("{} leads, though it knew of epoch {highest}", tenure.term));
        }
        Ok(())
    }
}

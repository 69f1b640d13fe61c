//! A process never leads under an epoch at or below one that the database had told it before. This
//! holds whatever the database has lost since and whatever its clock reads.

use crate::{
    check::{Checker, Verdict},
    fault::Contract,
    lease::{Answered, LeaseEnvironment},
    simulator::WorldState,
};
use election_core::{Change, Epoch, lease::Answer};

#[derive(Debug)]
pub(super) struct LeadsAboveKnownEpochs {
    /// By node: the highest epoch in any answer to this process.
    highest: Vec<Epoch>,
    /// By node: an epoch that it was told it had won, although it knew an equal or higher one.
    too_low: Vec<Option<Epoch>>,
}

impl Checker<LeaseEnvironment> for LeadsAboveKnownEpochs {
    const NAME: &'static str = "leads-above-known-epochs";
    const HOLDS: Contract = Contract::Void;

    fn new(nodes: usize) -> Self {
        Self { highest: vec![Epoch::NONE; nodes], too_low: vec![None; nodes] }
    }

    fn born(&mut self, _: &WorldState<'_, LeaseEnvironment>, node: usize) {
        self.highest[node] = Epoch::NONE;
        self.too_low[node] = None;
    }

    fn cloned(&mut self, _: &WorldState<'_, LeaseEnvironment>, from: usize, onto: usize) {
        self.highest[onto] = self.highest[from];
        self.too_low[onto] = self.too_low[from];
    }

    fn heard(&mut self, _: &WorldState<'_, LeaseEnvironment>, answered: &Answered<'_>) {
        let node = answered.node;
        let highest = &mut self.highest[node];
        match answered.result {
            Ok(Answer::Won { epoch, .. }) => {
                if *epoch <= *highest && answered.current {
                    self.too_low[node] = Some(*epoch);
                }
                *highest = (*highest).max(*epoch);
            }
            Ok(Answer::Seen(row)) => *highest = (*highest).max(row.epoch),
            _ => {}
        }
    }

    fn changed(
        &mut self,
        _: &WorldState<'_, LeaseEnvironment>,
        node: usize,
        change: &Change,
    ) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        let (epoch, highest) = (tenure.term.epoch, self.highest[node]);
        if epoch < highest || self.too_low[node] == Some(epoch) {
            return Err(format!("{} leads, though it knew of epoch {highest}", tenure.term));
        }
        Ok(())
    }
}

//! Every acquisition carries a higher token than every earlier one, both in the row and in what the
//! leaders are told.
//!
//! A promoted replica may have lost the newest terms, and the row shows older ones until the next is
//! won; that one is above the lost ones, too. Beyond the contract a replica that is behind, or a lost row together with a clock that went
//! back, can bring an old number again.

use super::{Checker, Contract, Effect, LeaseEnvironment, Verdict, WorldState};
use election_core::Change;

#[derive(Debug, Default)]
pub(super) struct TokensIncrease {
    highest_row: u64,
    highest_led: u64,
    /// The history of the server whose row was seen last.
    history: u64,
}

impl Checker<LeaseEnvironment> for TokensIncrease {
    const NAME: &'static str = "tokens-increase";
    const HOLDS: Contract = Contract::Within;

    fn new(_: usize) -> Self {
        Self { highest_row: 0, highest_led: 0, history: 1 }
    }

    fn done(&mut self, world: &WorldState<'_>, Effect { statement, done }: &Effect<'_>) -> Verdict {
        let (before, after) = (self.highest_row, done.after.term);
        self.highest_row = before.max(after);
        let taken = done.after.own && (!done.before.own || done.before.term != after);
        if taken && after <= before {
            return Err(format!(
                "{} took the lease under term {after} after term {before}",
                statement.who.id
            ));
        }
        let history = world.environment.database.table.server().history;
        if taken {
            self.history = history;
        }
        if after < before && history == self.history {
            return Err(format!("the row went from term {before} back to {after}"));
        }
        Ok(())
    }

    fn changed(&mut self, _: &WorldState<'_>, _: usize, change: &Change) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        let (before, epoch) = (self.highest_led, tenure.term.epoch.get());
        self.highest_led = before.max(epoch);
        if epoch <= before {
            return Err(format!("{} leads, after epoch {before}", tenure.term));
        }
        Ok(())
    }
}

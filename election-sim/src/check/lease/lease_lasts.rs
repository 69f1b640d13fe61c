//! A lease that was led lasts for its least time by the database's clock, whatever became of its
//! holder: nobody wins the next term sooner.

use super::{Checker, Contract, Effect, LeaseEnvironment, Verdict, WorldState};
use election_core::{Change, lease::Query};

#[derive(Debug, Default)]
pub(super) struct LeaseLasts {
    newest: Option<Term>,
}

/// The newest term that was won.
#[derive(Clone, Copy, Debug)]
struct Term {
    number: u64,
    /// When it was won, by the database's clock.
    won_ms: i64,
    /// How far that clock had been stepped by then.
    step_ms: i64,
    led: bool,
}

impl Checker<LeaseEnvironment> for LeaseLasts {
    const NAME: &'static str = "lease-lasts";
    const HOLDS: Contract = Contract::Within;

    fn changed(&mut self, _: &WorldState<'_>, _: usize, change: &Change) -> Verdict {
        if let (Change::Elected(tenure), Some(newest)) = (change, &mut self.newest) {
            newest.led |= tenure.term.epoch.get() == newest.number;
        }
        Ok(())
    }

    fn done(&mut self, world: &WorldState<'_>, Effect { statement, done }: &Effect<'_>) -> Verdict {
        let (Query::Attempt { ttl, clock_step, .. } | Query::TakeOver { ttl, clock_step, .. }) =
            &statement.query
        else {
            return Ok(());
        };
        if !done.after.own || done.before.term == done.after.term {
            return Ok(());
        }
        let millis =
            |span: std::time::Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let whole_ms = |nanos: u64| i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX);
        let won_ms = done.after.expires_ms.saturating_sub(millis(*ttl + *clock_step));
        // As of when the statement read the clock.
        let step_ms = statement.clock_ms.saturating_sub(whole_ms(statement.began));
        let number = done.after.term;
        let won = Term { number, won_ms, step_ms, led: false };
        // A statement that had to wait read the clock long before it won: that wins no sooner. And a
        // clock that was stepped has counted something else than time.
        let stepped = world.environment.database.step_ms;
        let done_ms = whole_ms(world.now).saturating_add(stepped);
        let before = self.newest.replace(won).filter(|before| {
            before.led && before.number == done.before.term && before.step_ms == stepped
        });
        let least = millis(world.environment.config.at_least_for());
        match before {
            Some(before) if done_ms < before.won_ms.saturating_add(least) => Err(format!(
                "epoch {number} was won {} ms after epoch {}, whose lease had to last {least} ms",
                done_ms - before.won_ms,
                before.number
            )),
            _ => Ok(()),
        }
    }
}

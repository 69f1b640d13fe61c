//! The row covers the process that works by it: as long as leader work may run, the lease in the
//! database has not ended, whatever happened to the statements in between.
//!
//! A statement's clock stands still while the statement waits. A renewal that executes after its
//! own repetition therefore brings an older end with it. Without an ordinal it would take back time
//! that its holder already trusts in. An older end alone is harmless: only the trust counts.

use super::{Checker, Contract, Effect, LeaseEnvironment, Verdict, WorldState};

#[derive(Debug, Default)]
pub(super) struct RowOutlastsWork;

impl Checker<LeaseEnvironment> for RowOutlastsWork {
    const NAME: &'static str = "row-outlasts-work";
    const HOLDS: Contract = Contract::Within;

    fn done(&mut self, world: &WorldState<'_>, Effect { statement, done }: &Effect<'_>) -> Verdict {
        if done.before == done.after || !done.after.held {
            return Ok(());
        }
        let there = &world.nodes[statement.node];
        let Some(work) = there.work.filter(|work| work.epoch.get() == done.after.term) else {
            return Ok(());
        };
        let since = done.after.expires_ms.saturating_sub(world.environment.database.step_ms);
        let ends = u64::try_from(since).unwrap_or(0).saturating_mul(1_000_000);
        let works_until = there.clock.when(work.stop_by);
        if works_until <= ends || works_until <= world.now {
            return Ok(());
        }
        Err(format!(
            "{} may work on epoch {} for {} ms after its lease has ended",
            statement.who.id,
            work.epoch,
            (works_until - ends) / 1_000_000
        ))
    }
}

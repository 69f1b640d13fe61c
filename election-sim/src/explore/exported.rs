//! Counterexamples as schedules: what is given out, and only if it shows the same.

use super::model::Broken;
use crate::{Scn, schedule::Schedule, shrink::shrink};
use std::{sync::Arc, time::Duration};

/// What a counterexample can be given out as.
#[derive(Clone, Debug)]
pub enum Exported {
    /// A schedule that shows the same violation when it is played.
    Schedule(Box<Scn>),
    /// Its moves only, and why.
    Trace(String),
}

/// For so long at most a schedule is looked for, and made smaller.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Whether a schedule violates what this check is about.
pub(super) fn shows(schedule: &Schedule, check: &str) -> bool {
    schedule.play().is_ok_and(|outcome| {
        outcome.violation.is_some_and(|found| found.check == check)
            || outcome.broken.contains(&check)
    })
}

/// The schedule as a file, as small as it gets.
pub(super) fn written(schedule: Schedule, broken: &Broken) -> Exported {
    let check = broken.check;
    let schedule = match shrink(&schedule, &Arc::default(), check, PATIENCE) {
        Some(shrunk) if shows(&shrunk.schedule, check) => shrunk.schedule,
        _ => schedule,
    };
    let mut scn = Scn::new(schedule);
    scn.head = vec![format!("Found by exhaustive search: {broken}.")];
    scn.full = true;
    match scn.play(&Arc::default()) {
        Ok((_, transcript)) => {
            scn.transcript = Some(transcript);
            Exported::Schedule(Box::new(scn))
        }
        Err(why) => Exported::Trace(why.to_string()),
    }
}

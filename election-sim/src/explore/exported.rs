//! Counterexamples as schedules. A schedule is exported only if it shows the same violation.

use super::model::Broken;
use crate::{Scn, schedule::Schedule, shrink::shrink};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The exported form of a counterexample.
#[derive(Clone, Debug)]
pub enum Exported {
    /// A schedule that shows the same violation when it is played.
    Schedule(Box<Scn>),
    /// Only its moves, and the reason why there is no schedule.
    Trace(String),
}

/// The longest time for finding a schedule, and for shrinking it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The first of these schedules that shows the violation.
pub(super) fn first(schedules: impl Iterator<Item = Schedule>, broken: &Broken) -> Exported {
    let ends = Instant::now() + PATIENCE;
    for schedule in schedules {
        if shows(&schedule, broken.check) {
            return written(schedule, broken);
        }
        if Instant::now() >= ends {
            break;
        }
    }
    Exported::Trace("no schedule was found that shows the same; its moves are the trace".into())
}

/// Whether a schedule violates the invariant of this check.
fn shows(schedule: &Schedule, check: &str) -> bool {
    schedule.play().is_ok_and(|outcome| {
        outcome.violation.is_some_and(|found| found.check == check)
            || outcome.broken.contains(&check)
    })
}

/// The schedule as a file, shrunk as far as possible.
fn written(schedule: Schedule, broken: &Broken) -> Exported {
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

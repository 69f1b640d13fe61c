//! What the books of both protocols are about.

use super::model::Broken;
use election_core::{Epoch, Timestamp};
use std::time::Duration;

/// The present reading of every clock. An hour leaves room for the past.
pub(super) const NOW: Timestamp = Timestamp::from_nanos(3_600_000_000_000);

/// Leader work: what must never run twice at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) epoch: Epoch,
    /// The time of the hard stop.
    pub(super) stop_by: Timestamp,
    /// The work has been told to stop.
    pub(super) told: bool,
}

pub(super) type Verdict<T> = Result<T, Broken>;

pub(super) fn broken<T>(check: &'static str, what: String) -> Verdict<T> {
    Err(Broken { check, what })
}

/// How much of its own time passes in a unit for a clock that gains so much.
pub(super) fn step(unit: Duration, ppm: i32) -> Duration {
    let kept = u128::from(1_000_000_u32.saturating_add_signed(ppm));
    let nanos = unit.as_nanos() * kept / 1_000_000;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

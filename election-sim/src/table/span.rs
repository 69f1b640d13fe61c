//! Spans in whole milliseconds, as the row counts them.

use std::time::Duration;

/// The time from `now_ms` to `then_ms`; zero if that has passed.
pub(super) fn until(then_ms: i64, now_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(then_ms.saturating_sub(now_ms)).unwrap_or(0))
}

pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

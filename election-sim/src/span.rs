//! Spans of time as the world counts them: in nanoseconds.

use crate::schedule::DurationRange;
use std::time::Duration;

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn between(span: DurationRange) -> (u64, u64) {
    (nanos(span.low), nanos(span.high))
}

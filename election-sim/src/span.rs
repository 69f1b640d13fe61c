//! Spans of time, counted in nanoseconds.

use std::time::Duration;

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn between(span: DurationRange) -> (u64, u64) {
    (nanos(span.low), nanos(span.high))
}

/// A range of spans; every use draws one value from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationRange {
    /// The shortest span.
    pub low: Duration,
    /// The longest span.
    pub high: Duration,
}

impl DurationRange {
    /// A range with one value.
    #[must_use]
    pub const fn exactly(span: Duration) -> Self {
        Self { low: span, high: span }
    }

    /// From `low` to `high` milliseconds.
    #[must_use]
    pub const fn millis(low: u64, high: u64) -> Self {
        Self { low: Duration::from_millis(low), high: Duration::from_millis(high) }
    }
}

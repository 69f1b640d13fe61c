//! How often the log says what happens as often as it likes.

use election_core::Timestamp;
use std::{mem, time::Duration};

/// The time between two lines about the same.
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Default)]
pub(crate) struct Rate {
    told: Option<Timestamp>,
    pub(crate) untold: u64,
}

impl Rate {
    /// How many were not told before this one; `None` if this one is not to be told either.
    pub(crate) fn count(&mut self, now: Timestamp) -> Option<u64> {
        if !self.is_over(now) {
            self.untold += 1;
            return None;
        }
        self.told = Some(now);
        Some(mem::take(&mut self.untold))
    }

    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.told.is_none_or(|told| now >= told + MINUTE)
    }
}

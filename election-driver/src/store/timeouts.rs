//! How long a store waits, and for what. Each wait is a little shorter than the one around it, so
//! the shortest wait, which knows the most, is the one that reports what was waited for.

use election_core::lease::Config;
use std::time::Duration;

/// The waits within one call, all of them fractions of its longest wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    longest: Duration,
}

impl Timeouts {
    /// Without an elector that would have given its timing.
    pub(super) const ALONE: Self = Self { longest: Duration::from_secs(10) };

    /// The waits that fit into one attempt of an elector.
    pub(super) fn of(config: &Config) -> Self {
        Self { longest: config.attempt_timeout() }
    }

    /// The wait for a lock that another session holds. PostgreSQL counts anew for each lock, and a
    /// session that is not first in the queue for a row waits for two; then there is time left to
    /// ask who holds it.
    pub(super) fn lock(self) -> Duration {
        self.longest / 8 * 3
    }

    /// The time for one statement to execute, on the server.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn statement(self) -> Duration {
        self.longest - self.longest / 8
    }

    /// The time for everything within one call, connecting included, on this side.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn call(self) -> Duration {
        self.longest - self.longest / 16
    }
}

/// Waits no longer than this, on the timer of the runtime that does sqlx's I/O.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
    sqlx_core::rt::timeout(time, future).await.ok()
}

//! How long a store waits, and for what: each wait is a little shorter than the one around it, so
//! that whoever waits the least, and knows the most, is the one to say what was waited for.

use election_core::lease::Config;
use std::time::Duration;

/// The waits within one call, all of them parts of its longest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    longest: Duration,
}

impl Timeouts {
    /// Where no elector has said what its timing is.
    pub(super) const ALONE: Self = Self { longest: Duration::from_secs(10) };

    /// What fits into one attempt of an elector.
    pub(super) fn of(config: &Config) -> Self {
        Self { longest: config.attempt_timeout() }
    }

    /// For a lock that somebody else holds. PostgreSQL counts anew for each, and who is not the
    /// first in the queue for a row waits for two; then there is time left to ask who holds it.
    pub(super) fn lock(self) -> Duration {
        self.longest / 8 * 3
    }

    /// For one statement to be executed, on the server.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn statement(self) -> Duration {
        self.longest - self.longest / 8
    }

    /// For all that one call asks for, connecting included, on this side.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn call(self) -> Duration {
        self.longest - self.longest / 16
    }
}

/// Waits no longer than this, on the timer of the runtime that sqlx does its I/O on.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
    sqlx_core::rt::timeout(time, future).await.ok()
}

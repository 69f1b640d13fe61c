//! How long a store waits, and for what. Each wait is a little shorter than the one around it, so
//! the shortest wait, which knows the most, is the one that reports what was waited for.

use election_core::lease::Config;
use std::time::Duration;

/// The waits within one call, all of them fractions of its longest wait.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    longest: Duration,
    /// Whether a call that fails for lack of time is soon made again.
    repeats: bool,
}

/// How long an attempt to connect may take before another is made. A slow server is reached in the
/// end; a server that has moved is looked up anew.
const PATIENCE: Duration = Duration::from_secs(10);
/// What the first attempts get under a short lease. TCP repeats what was lost after a second.
const SHORTEST: Duration = Duration::from_secs(1);
/// What an attempt gets after many in vain: each may have left a session behind that is still
/// logging in, which servers allow for a minute (`authentication_timeout`).
const LONGEST: Duration = Duration::from_secs(30);
/// The time after which PostgreSQL has ended a session whose client it does not hear, by the TCP
/// keep-alives that the session asks for.
const UNHEARD: Duration = Duration::from_secs(30);

impl Timeouts {
    /// Without an elector that would have given its timing.
    pub(super) const ALONE: Self = Self { longest: Duration::from_secs(10), repeats: false };

    /// The waits that fit into one attempt of an elector.
    pub(super) fn of(config: &Config) -> Self {
        Self { longest: config.attempt_timeout(), repeats: true }
    }

    /// The wait for a lock that another session holds. PostgreSQL counts anew for each lock, and a
    /// session that is not first in the queue for a row waits for two; then there is time left to
    /// ask who holds it.
    pub(super) fn lock(self) -> Duration {
        self.longest / 8 * 3
    }

    /// How long to wait for an attempt to connect, after this many others in vain: first about a
    /// lease, then ever longer. A session that the server has let in is waited for until the server
    /// has ended it, if it does so by itself: then there is never another beside it.
    pub(super) fn patience(self, logged_in: bool, others: u32) -> Duration {
        if logged_in {
            return UNHEARD;
        }
        let first = self.longest.saturating_mul(8).clamp(SHORTEST, PATIENCE);
        first.saturating_mul(1 << others.min(8)).min(LONGEST)
    }

    /// The time for one statement to execute, on the server.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn statement(self) -> Duration {
        self.longest - self.longest / 8
    }

    /// The time for everything within one call, connecting included, on this side.
    pub(super) fn call(self) -> Duration {
        self.longest - self.longest / 16
    }

    /// Whether the statements of an elector are going to be run again and again.
    pub(super) fn repeats(self) -> bool {
        self.repeats
    }

    /// Whether a connection has come too late for a call that began this long ago. Connecting takes
    /// longer than a statement, so what took that long on a slow link should be enough; half of a
    /// call has to be.
    pub(super) fn is_too_late(self, called: Duration, connecting: Duration) -> bool {
        let rest = self.call().saturating_sub(called);
        self.repeats && rest < connecting.min(self.call() / 2)
    }
}

/// Waits no longer than this, on the timer of the runtime that does sqlx's I/O.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
    sqlx_core::rt::timeout(time, future).await.ok()
}

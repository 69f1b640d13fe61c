//! How long a store waits, and for what. Each wait is a little shorter than the one around it, so
//! the shortest wait, which knows the most, is the one that reports what was waited for.

use std::time::Duration;

/// The waits within one call, all of them fractions of its longest wait.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    longest: Duration,
    /// Of an elector, which soon repeats a call that fails for lack of time, and keeps to a pace.
    ttl: Option<Duration>,
    /// Many elections share the connection.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code))]
    shared: bool,
}

/// How far an attempt to connect has got, and who ends its session if the link fails.
#[cfg_attr(not(any(feature = "postgres", feature = "mysql")), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The server has let nobody in, as far as is known. Servers bound a login by themselves.
    Outside,
    /// The session ends when the server finds that its client has gone, if it ever does.
    Inside,
    /// The server ends the session by itself if it hears nothing more.
    Bounded,
    /// The next session ends it.
    Known,
    /// The server may let the session be idle for as long as between two calls.
    Lasting,
}

/// What the server allows a session that is being opened to stay idle at most, in seconds. TCP
/// repeats what was lost after one.
const OPENING: u64 = 5;
/// What an attempt gets after many in vain. A slow server is reached in the end; a server that has
/// moved is looked up anew.
const LONGEST: Duration = Duration::from_secs(30);
/// The time after which a server has ended a session whose client is gone, if it asks the client's
/// machine (TCP keep-alives) and nobody else answers.
const UNHEARD: Duration = Duration::from_secs(30);
/// What an attempt gets after many have left a session behind that nobody ends.
const LONGEST_UNHEARD: Duration = Duration::from_secs(3600);
/// What a session in use may stay idle at least.
const IDLE: Duration = Duration::from_secs(60);

impl Timeouts {
    /// Without an elector that would have given its timing.
    pub(super) const ALONE: Self =
        Self { longest: Duration::from_secs(10), ttl: None, shared: false };

    /// The waits that fit into one attempt of an elector.
    pub(super) fn of(attempt_timeout: Duration, ttl: Duration) -> Self {
        Self { longest: attempt_timeout, ttl: Some(ttl), shared: false }
    }

    /// The same for a connection that many elections share.
    pub(super) fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// The wait for a lock that another session holds. PostgreSQL counts anew for each lock, and a
    /// session that is not first in the queue for a row waits for two; then there is time left to
    /// ask who holds it.
    pub(super) fn lock(self) -> Duration {
        self.longest / 8 * 3
    }

    /// What the server allows a session that is being opened to stay idle, in whole seconds, and to
    /// take over a statement.
    pub(super) fn opening(self) -> Duration {
        let seconds = self.longest.saturating_mul(4).as_millis().div_ceil(1000);
        Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX).clamp(1, OPENING))
    }

    /// What the server allows a session in use to stay idle, in whole seconds; nothing is known of
    /// the pace at which an application calls.
    pub(super) fn idle(self) -> Option<Duration> {
        let idle = self.ttl?.saturating_mul(4).max(IDLE);
        Some(Duration::from_secs(idle.as_secs()))
    }

    /// The ttl of the elector.
    #[cfg(feature = "postgres")]
    pub(super) fn ttl(self) -> Option<Duration> {
        self.ttl
    }

    /// How long to wait for an attempt to connect after it was begun or the server was last heard,
    /// after this many others that came to nothing at the same stage: first about a lease, then
    /// ever longer. A session that the server has let in is waited for until the server has ended
    /// it. If the server may never do so, at most one more is left behind whenever the time without
    /// a connection has doubled.
    pub(super) fn patience(self, stage: Stage, others: u32) -> Duration {
        let doubled = |first: Duration| first.saturating_mul(1 << others.min(8));
        match stage {
            Stage::Outside => doubled(self.ended()).min(LONGEST),
            Stage::Inside => doubled(UNHEARD).min(LONGEST_UNHEARD),
            Stage::Bounded | Stage::Known => self.ended(),
            Stage::Lasting => self.idle().map_or(UNHEARD, |idle| idle + self.ended()),
        }
    }

    /// The time for one of several hosts to let the client in, after this many tries in vain: first
    /// its share of a call. A login that takes longer than a call still ends well.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn share(self, hosts: u32, vain: u32) -> Duration {
        let first = self.call() / hosts.max(1);
        first.saturating_mul(1 << vain.min(8)).min(self.opening().max(first))
    }

    /// The time after which the server has ended a session of which nothing was heard while it was
    /// being opened: it completes a statement, and waits for the next.
    pub(super) fn ended(self) -> Duration {
        2 * self.opening()
    }

    /// The time for one statement to execute, on the server.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn statement(self) -> Duration {
        self.longest - self.longest / 8
    }

    /// Whether many elections share the connection: a wait for a lock must not use up everyone's time.
    #[cfg(feature = "mysql")]
    pub(super) fn is_shared(self) -> bool {
        self.shared
    }

    /// The time for everything within one call, connecting included, on this side.
    pub(super) fn call(self) -> Duration {
        self.longest - self.longest / 16
    }

    /// Whether the statements of an elector are going to be run again and again.
    pub(super) fn repeats(self) -> bool {
        self.ttl.is_some()
    }

    /// Whether a connection has come too late for a call that began this long ago. Connecting takes
    /// longer than a statement, so what took that long on a slow link should be enough; half of a
    /// call has to be.
    pub(super) fn is_too_late(self, called: Duration, connecting: Duration) -> bool {
        let rest = self.call().saturating_sub(called);
        self.repeats() && rest < connecting.min(self.call() / 2)
    }
}

/// Waits no longer than this, on the timer of the runtime that does sqlx's I/O.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
    sqlx_core::rt::timeout(time, future).await.ok()
}

#[cfg(test)]
mod tests;

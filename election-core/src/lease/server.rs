//! Which history of the database has answered, and whether it has outlasted what an earlier one may
//! have granted.
//!
//! A replica that takes over may lack the newest writes: the win of a leader that still leads, or its
//! renewals. What is in its row then proves nothing, whatever the clocks say, until every lease that
//! was granted before it took over has ended. So who first attempts behind a new history records
//! since when it is known, and nobody wins there before a whole lease has passed since then. The
//! record is a row of the database that took over. It cannot come from the one before, and two servers
//! that count their histories alike do not share it.

use core::time::Duration;

/// The history of writes that the answering database server continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Server {
    /// The number of the history; it grows whenever a replica is promoted (PostgreSQL's timeline).
    /// The first follows none and may have lost nothing. Databases that cannot tell are always in
    /// their first.
    pub history: u64,
    /// When an attempt first found this history, in milliseconds since 1970 by the database's clock.
    /// `None` in the first history, if none has found it yet, or if the clock has gone back behind
    /// that time.
    pub since_ms: Option<i64>,
    /// For how long it has been known; zero without [`since_ms`](Self::since_ms).
    pub known: Duration,
}

impl Server {
    /// The number of the history that follows none.
    pub const FIRST_HISTORY: u64 = 1;

    /// A server that follows none.
    pub const FIRST: Self =
        Self { history: Self::FIRST_HISTORY, since_ms: None, known: Duration::ZERO };

    /// Whether writes may have been lost when its history began.
    #[must_use]
    pub const fn follows(&self) -> bool {
        self.history > Self::FIRST_HISTORY
    }

    /// Whether an attempt has to record since when its history is known.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        self.follows() && self.since_ms.is_none()
    }

    /// How long it still is before every lease of this length must have ended that an earlier history
    /// has granted.
    #[must_use]
    pub fn outlasts_in(&self, lease: Duration) -> Duration {
        if self.follows() { lease.saturating_sub(self.known) } else { Duration::ZERO }
    }

    /// Whether this is the same history, known since the same time.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.history, self.since_ms) == (other.history, other.since_ms)
    }
}

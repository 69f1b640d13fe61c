//! Which history the server continues, and whether it has outlasted those before.

use super::span::until;
use election_core::lease::Server;
use std::time::Duration;

/// The history of the server that holds the table, and the record of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// The number of the history.
    pub history: u64,
    /// Since when it is known, in unix milliseconds of the database's clock.
    pub since_ms: Option<i64>,
}

impl Default for Promoted {
    fn default() -> Self {
        Self { history: Server::FIRST_HISTORY, since_ms: None }
    }
}

impl Promoted {
    /// The history that follows, of which no attempt knows yet.
    #[must_use]
    pub fn next(self) -> Self {
        Self { history: self.history + 1, since_ms: None }
    }

    /// As a reader sees it at `now_ms`.
    #[must_use]
    pub fn seen(&self, now_ms: i64) -> Server {
        let since_ms = self.since_ms.filter(|since| self.history > 1 && *since <= now_ms);
        let known = since_ms.map_or(Duration::ZERO, |since| until(now_ms, since));
        Server { history: self.history, since_ms, known }
    }

    /// An attempt finds it at `now_ms`.
    pub(crate) fn found(&mut self, now_ms: i64) {
        if self.seen(now_ms).is_unknown() {
            self.since_ms = Some(now_ms);
        }
    }

    /// Whether it outlasts a lease of this length at `now_ms`.
    pub(super) fn outlasts(&self, lease: Duration, now_ms: i64) -> bool {
        let seen = self.seen(now_ms);
        !seen.is_unknown() && seen.outlasts_in(lease).is_zero()
    }
}

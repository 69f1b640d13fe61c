//! Which history the server continues, and whether it has outlasted those before.

use super::span::until;
use election_core::lease::Server;
use std::time::Duration;

/// The history of the server that holds the table, and the record of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Table, candidate};
    use election_core::{
        Candidate, Epoch,
        lease::{Answer, Query},
    };

    const TTL: Duration = Duration::from_secs(15);
    const EPOCH: Epoch = Epoch::new(1_000);

    fn a() -> Candidate {
        candidate("a", 1)
    }

    /// What a replica has that took over at 10,000: a's lease, which ends at 16,000. With a record, an
    /// attempt has found its history at once.
    fn promoted(recorded: bool) -> Table {
        let mut table = Table::new();
        assert!(takes(&mut table, &a(), TTL, 1_000));
        table.set_server(table.server().next());
        assert!(!recorded || !takes(&mut table, &candidate("b", 2), TTL, 10_000));
        table
    }

    fn takes(table: &mut Table, who: &Candidate, ttl: Duration, now_ms: i64) -> bool {
        let attempt = Query::Attempt { seen: Epoch::NONE, ttl, clock_step: Duration::ZERO };
        matches!(table.run(who, None, &attempt, now_ms), Answer::Won { .. })
    }

    fn renews(table: &mut Table, leads: bool, now_ms: i64) -> bool {
        let (ordinal, clock_step) = (table.leader().renewals + 1, Duration::ZERO);
        let renew = Query::Renew { epoch: EPOCH, ordinal, ttl: TTL, clock_step, leads };
        matches!(table.run(&a(), None, &renew, now_ms), Answer::Renewed { .. })
    }

    #[test]
    fn an_attempt_waits_for_the_longer_of_two_leases() {
        let b = candidate("b", 2);
        for (ttl, waits) in [(5, 15_000), (15, 15_000), (30, 30_000)] {
            let ttl = Duration::from_secs(ttl);
            let mut table = promoted(true);
            assert!(!takes(&mut table, &b, ttl, 10_000 + waits - 1), "{ttl:?}");
            assert!(takes(&mut table, &b, ttl, 10_000 + waits), "{ttl:?}");
        }
        let mut table = promoted(false);
        assert!(!takes(&mut table, &b, TTL, 99_000), "this is the first attempt");
        assert!(!takes(&mut table, &b, TTL, 98_999), "the clock has gone back behind it");
        assert!(!takes(&mut table, &b, TTL, 98_999 + 14_999));
        assert!(takes(&mut table, &b, TTL, 98_999 + 15_000));
    }

    #[test]
    fn a_leader_renews_an_expired_row_until_it_is_outlasted() {
        assert!(renews(&mut promoted(false), true, 99_000), "not even the first attempt was made");
        assert!(renews(&mut promoted(true), true, 24_999));
        assert!(!renews(&mut promoted(true), true, 25_000));
        let mut first = Table::new();
        assert!(takes(&mut first, &a(), TTL, 1_000));
        assert!(renews(&mut first.clone(), true, 15_999));
        assert!(!renews(&mut first, true, 16_000), "no server has taken over");
    }

    #[test]
    fn who_cannot_tell_whether_it_leads_renews_nothing_until_then() {
        assert!(!renews(&mut promoted(false), false, 10_000));
        let mut table = promoted(true);
        assert!(renews(&mut table, true, 10_001) && renews(&mut table, true, 24_000));
        assert!(!renews(&mut table, false, 24_999));
        assert!(renews(&mut table, false, 25_000));
        assert!(!renews(&mut promoted(true), false, 25_000), "nor what has expired");
    }

    /// Two servers may count their histories alike; then the record tells them apart.
    #[test]
    fn a_take_over_is_of_one_record() {
        let seen = |table: &Table| table.server().seen(12_000);
        let take_over = |server| Query::TakeOver {
            seen: Epoch::NONE,
            ttl: TTL,
            clock_step: Duration::ZERO,
            epoch: EPOCH,
            holder: Some(a()),
            renewals: 0,
            server,
        };
        let here = promoted(true);
        let there = Server { since_ms: Some(9_999), ..seen(&here) };
        let later = Server { history: 3, ..seen(&here) };
        let b = candidate("b", 2);
        for (server, wins) in [(there, false), (later, false), (seen(&here), true)] {
            let answer = here.clone().run(&b, None, &take_over(server), 12_000);
            assert_eq!(matches!(answer, Answer::Won { .. }), wins, "{server:?}");
        }
        let unknown = promoted(false);
        let answer = unknown.clone().run(&b, None, &take_over(seen(&unknown)), 12_000);
        assert!(matches!(answer, Answer::Seen(_)), "no attempt has recorded it");
    }
}

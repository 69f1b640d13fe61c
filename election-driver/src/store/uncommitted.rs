//! What a call inside a transaction has seen or done, for as long as it may still be undone.

use crate::now;
use election_core::{
    Epoch, Timestamp,
    lease::{Candidacy, Config, Row},
    sql::{CandidateRow, ElectionRow},
};
use std::time::Duration;

/// What a call in a transaction has seen or done. If the transaction is rolled back, it has done
/// nothing: acting on an election before its commit makes two leaders after a rollback (oban#1488).
///
/// It also counts the time until it is asked. A lease begins with the call, not with the commit, so
/// by a late commit it may be over, and somebody else may lead.
#[must_use = "it only becomes true when the transaction commits"]
#[derive(Clone, Debug)]
pub struct Uncommitted<T> {
    outcome: T,
    /// When the call began.
    asked: Timestamp,
    /// How long the outcome holds, counted from the call.
    lasts: Duration,
}

impl<T> Uncommitted<T> {
    pub(super) fn new(outcome: T, asked: Timestamp) -> Self {
        Self { outcome, asked, lasts: Duration::MAX }
    }

    /// The outcome, once the caller's commit has succeeded (or if there was no transaction).
    ///
    /// Of every lease and registration in it, the time since the call is taken off, as much of it as
    /// the database's clock can have counted ([`Config::DEFAULT_DRIFT`]). What has run out on the
    /// way to the commit is over here too: a candidate does not lead
    /// ([`leads`](election_core::lease::Candidacy::leads)) by such a row, and `true` has become
    /// `false`.
    ///
    /// If the commit has failed, drop this value. If the answer to the commit was lost, nobody knows
    /// whether the lease was taken: drop it too, and elect again.
    pub fn committed(self) -> T
    where
        T: Lapses,
    {
        let passed = now().since(self.asked);
        let passed = passed.saturating_add(Config::DEFAULT_DRIFT.over(passed));
        self.outcome.after(passed, self.lasts)
    }

    /// The outcome as of the call: for logs, and for what the same transaction writes. Nothing
    /// outside of the transaction may depend on it. The epoch of a win that is rolled back may be
    /// given to somebody else.
    pub fn peek(&self) -> &T {
        &self.outcome
    }
}

impl Uncommitted<Row> {
    /// Whether this candidate leads by the row.
    pub(super) fn led_by(self, who: &Candidacy) -> Uncommitted<bool> {
        let Self { outcome: row, asked, .. } = self;
        Uncommitted { outcome: who.leads(&row), asked, lasts: row.remaining }
    }
}

/// An outcome that time changes.
pub trait Lapses: Sized {
    /// The outcome after this time, if it holds so long.
    fn after(self, passed: Duration, lasts: Duration) -> Self;
}

impl Lapses for Row {
    fn after(self, passed: Duration, _: Duration) -> Self {
        Self { remaining: self.remaining.saturating_sub(passed), ..self }
    }
}

impl Lapses for ElectionRow {
    fn after(self, passed: Duration, lasts: Duration) -> Self {
        Self { row: self.row.after(passed, lasts), ..self }
    }
}

impl Lapses for CandidateRow {
    fn after(self, passed: Duration, _: Duration) -> Self {
        Self { remaining: self.remaining.saturating_sub(passed), ..self }
    }
}

impl<T: Lapses> Lapses for Vec<T> {
    fn after(self, passed: Duration, lasts: Duration) -> Self {
        self.into_iter().map(|each| each.after(passed, lasts)).collect()
    }
}

impl Lapses for bool {
    fn after(self, passed: Duration, lasts: Duration) -> Self {
        self && passed < lasts
    }
}

/// Who was asked has been asked.
impl Lapses for Option<Epoch> {
    fn after(self, _: Duration, _: Duration) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(remaining: u64) -> Row {
        Row { remaining: Duration::from_secs(remaining), ..Row::vacant() }
    }

    #[test]
    fn an_old_uncommitted_lease_has_run_out() {
        let at = |seconds| now() - Duration::from_secs(seconds);
        let minute = Duration::from_secs(60);
        let left = |asked| Uncommitted::new(row(60), at(asked)).committed().remaining;
        // A clock that is faster by nine per cent has counted 54.5 and 65.4 seconds.
        assert!((1..6).contains(&left(50).as_secs()), "{:?}", left(50));
        assert_eq!(left(60), Duration::ZERO);
        for (asked, held) in [(50, true), (60, false)] {
            let led = Uncommitted { outcome: true, asked: at(asked), lasts: minute };
            assert_eq!(led.committed(), held);
        }
        let who = election_core::Candidate {
            id: election_core::NodeId::new("a").unwrap(),
            incarnation: election_core::Incarnation::new(uuid::Uuid::nil()),
        };
        let listed =
            CandidateRow { candidate: who, label: None, last_heartbeat_ms: 0, remaining: minute };
        let listed = Uncommitted::new(vec![listed], at(60)).committed();
        assert_eq!(listed[0].remaining, Duration::ZERO);
        assert!(!Uncommitted::new(false, at(0)).committed());
        assert!(Uncommitted::new(true, at(86_400)).committed(), "somebody was asked");
        let asked = Some(Epoch::new(7));
        assert_eq!(Uncommitted::new(asked, at(86_400)).committed(), asked);
    }
}

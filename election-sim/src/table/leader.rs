//! The leader row, and what a statement does to it.

use super::{
    promoted::Promoted,
    span::{millis, until},
};
use election_core::{
    Candidate, Epoch, Label,
    lease::{Answer, Holder, Query, Row},
};
use std::time::Duration;

/// The leader row.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Leader {
    /// The newest epoch; zero if nobody ever led.
    pub term: u64,
    /// The holder; `None` if vacant.
    pub holder: Option<Holder>,
    /// When the epoch was won, in unix milliseconds of the database's clock.
    pub elected_ms: i64,
    /// When the lease ends unless renewed, by the same clock.
    pub expires_ms: i64,
    /// The ttl that the holder asked for.
    pub ttl_ms: i64,
    /// The highest ordinal of a renewal that took effect in this epoch.
    pub renewals: u64,
    /// The epoch that somebody has asked to resign.
    pub resign_requested: Option<u64>,
}

impl Leader {
    /// Executes a statement that concerns only the leader row.
    pub(crate) fn run(
        &mut self,
        who: &Candidate,
        label: Option<&Label>,
        query: &Query,
        at: &Promoted,
        now_ms: i64,
    ) -> Answer {
        match query {
            Query::Attempt { seen, ttl, clock_step } => {
                if self.is_free((*ttl, *clock_step), at, now_ms) {
                    return self.take(who, label, *seen, (*ttl, *clock_step), at, now_ms);
                }
                Answer::Seen(self.row(at, now_ms))
            }
            Query::TakeOver { seen, ttl, clock_step, epoch, holder, renewals, server } => {
                let same = self.term == epoch.get() && self.renewals == *renewals;
                let there = match holder {
                    Some(holder) => self.is_held(holder, epoch.get()),
                    None => self.holder.is_none() && at.history > 1,
                };
                if same && there && at.seen(now_ms).is_same(server) && !server.is_unknown() {
                    return self.take(who, label, *seen, (*ttl, *clock_step), at, now_ms);
                }
                Answer::Seen(self.row(at, now_ms))
            }
            Query::Renew { epoch, ordinal, ttl, clock_step, leads } => {
                let own = self.is_held(who, epoch.get());
                let row_ttl = Duration::from_millis(u64::try_from(self.ttl_ms).unwrap_or(0));
                let runs = self.expires_ms > now_ms || (*leads && !at.outlasts(row_ttl, now_ms));
                let proved = *leads || self.is_proof((*ttl, *clock_step), at, now_ms);
                if own && self.renewals < *ordinal && runs && proved {
                    return self.extend(*ordinal, (*ttl, *clock_step), now_ms);
                }
                Answer::Gone
            }
            Query::Resign { epoch } => {
                if self.is_held(who, epoch.get()) {
                    self.holder = None;
                    self.expires_ms = now_ms;
                }
                Answer::Released
            }
            Query::Observe => Answer::Seen(self.row(at, now_ms)),
            // The row knows nothing of the list.
            Query::Register { .. } | Query::Unregister => Answer::Listed,
            Query::Others => Answer::Others(true),
        }
    }

    /// Whether an attempt with this ttl and clock step would win at `now_ms`.
    #[must_use]
    pub(crate) fn is_free(&self, asked: (Duration, Duration), at: &Promoted, now_ms: i64) -> bool {
        (self.holder.is_none() || self.expires_ms <= now_ms) && self.is_proof(asked, at, now_ms)
    }

    /// Whether all has ended by `now_ms` that an earlier history can have granted.
    fn is_proof(
        &self,
        (ttl, clock_step): (Duration, Duration),
        at: &Promoted,
        now_ms: i64,
    ) -> bool {
        let row_ttl = Duration::from_millis(u64::try_from(self.ttl_ms).unwrap_or(0));
        at.outlasts(row_ttl.max(ttl).saturating_add(clock_step), now_ms)
    }

    /// The row as a reader of this server sees it at `now_ms`.
    #[must_use]
    pub fn row(&self, at: &Promoted, now_ms: i64) -> Row {
        Row {
            epoch: Epoch::new(self.term),
            holder: self.holder.clone(),
            remaining: until(self.expires_ms, now_ms),
            ttl: Duration::from_millis(u64::try_from(self.ttl_ms).unwrap_or(0)),
            renewals: self.renewals,
            resign_requested: self.resign_requested == Some(self.term) && self.term != 0,
            elected_ms: (self.term != 0).then_some(self.elected_ms),
            server: at.seen(now_ms),
        }
    }

    pub(super) fn is_held(&self, who: &Candidate, term: u64) -> bool {
        self.term == term && self.holder.as_ref().is_some_and(|held| held.candidate == *who)
    }

    fn take(
        &mut self,
        who: &Candidate,
        label: Option<&Label>,
        seen: Epoch,
        (ttl, clock_step): (Duration, Duration),
        at: &Promoted,
        now_ms: i64,
    ) -> Answer {
        let height = (at.history.min(MOST_HEIGHTS) - 1) << HEIGHT_BITS;
        let clock = u64::try_from(now_ms.saturating_add_unsigned(height)).unwrap_or(0);
        self.term = (self.term + 1).max(clock).max(seen.get().saturating_add(1));
        self.holder = Some(Holder { candidate: who.clone(), label: label.cloned() });
        self.elected_ms = now_ms;
        self.renewals = 0;
        let remaining = self.keep(ttl, clock_step, now_ms);
        Answer::Won { epoch: Epoch::new(self.term), remaining }
    }

    fn extend(
        &mut self,
        ordinal: u64,
        (ttl, clock_step): (Duration, Duration),
        now_ms: i64,
    ) -> Answer {
        self.renewals = ordinal;
        let remaining = self.keep(ttl, clock_step, now_ms);
        let resign_requested = self.resign_requested == Some(self.term);
        Answer::Renewed { remaining, resign_requested }
    }

    /// The lease of whoever holds it counts from now on.
    pub(crate) fn lasts_from(&mut self, now_ms: i64) {
        self.expires_ms =
            now_ms.saturating_add(if self.holder.is_some() { self.ttl_ms } else { 0 });
    }

    /// Keeps the lease for so long from now on.
    fn keep(&mut self, ttl: Duration, clock_step: Duration, now_ms: i64) -> Duration {
        let kept = ttl.saturating_add(clock_step);
        self.expires_ms = now_ms.saturating_add(millis(kept));
        self.ttl_ms = millis(ttl);
        kept
    }
}

/// Each history has a range of epochs of its own, of 2^42 ms, until no more fit into 64 bits.
const HEIGHT_BITS: u32 = 42;
const MOST_HEIGHTS: u64 = 1 << 20;

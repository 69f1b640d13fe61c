//! What this process knows of the row, and how old that knowledge is.

use super::{
    config::{Config, DATABASE_TICK},
    message::Row,
};
use crate::{Candidate, Epoch, Timestamp};
use core::time::Duration;

/// The row as last seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct View {
    pub(super) row: Row,
    /// When this state of the row, apart from its remaining time, was first seen: the time of the
    /// answer, which is later than the holder's last renewal.
    pub(super) unchanged_since: Timestamp,
    /// When the lease ends by this process's clock, as far as it can tell.
    pub(super) ends_at: Timestamp,
    /// When the history of the database outlasts all that an earlier one has granted.
    pub(super) opens_at: Timestamp,
    /// When the holder has renewed it last, if this process can tell: both have to allow for the same
    /// steps of the database's clock.
    pub(super) renewed_at: Option<Timestamp>,
    pub(super) notice: Notice,
}

/// What a notification has said of the term in view. Anybody may send one, so it counts once per
/// term and only leads to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Notice {
    /// Nothing.
    None,
    /// Its holder has resigned, and this process has not read the row since.
    Resigned,
    /// The same, and this process has read the row since: from here on only the row counts.
    Checked,
}

impl View {
    /// Takes in a row that was received at `now`.
    pub(super) fn seen(earlier: Option<&Self>, row: Row, now: Timestamp, config: &Config) -> Self {
        let clock_step = config.clock_step;
        let unchanged_since = earlier
            .filter(|view| same_renewal(&view.row, &row) && view.row.server.is_same(&row.server))
            .map_or(now, |view| view.unchanged_since);
        let ends_at = now + row.clamped_remaining();
        let lost = row.ttl.max(longest(config)).saturating_add(clock_step);
        let opens_at = now + row.server.outlasts_in(lost);
        let age = row.ttl.saturating_add(clock_step).checked_sub(row.remaining);
        let renewed_at = age.filter(|_| !clock_step.is_zero()).map(|age| now - age);
        let notice = match earlier.filter(|view| view.row.epoch == row.epoch) {
            Some(view) if view.notice != Notice::None => Notice::Checked,
            _ => Notice::None,
        };
        Self { row, unchanged_since, ends_at, opens_at, renewed_at, notice }
    }

    /// Whether the newer row shows a resignation, or a request for one, so that another change follows.
    pub(super) fn announces_change(&self, newer: &Row) -> bool {
        newer.resign_requested && !self.row.resign_requested
            || newer.holder.is_none() && self.row.holder.is_some()
    }

    /// Takes in a notification that the holder of this epoch has resigned. Returns whether it is
    /// new.
    pub(super) fn said_to_be_resigned(&mut self, epoch: Epoch) -> bool {
        let news = self.row.epoch == epoch && self.notice == Notice::None;
        if news {
            self.notice = Notice::Resigned;
        }
        news
    }

    /// Whether this row is from before the one in view, because it has an older epoch. In another
    /// history, or after a while, the database has lost the newer one for good.
    pub(super) fn outdates(&self, row: &Row, now: Timestamp, config: &Config) -> bool {
        row.epoch < self.row.epoch
            && row.server.history == self.row.server.history
            && now < self.counts_until(config)
    }

    /// Until when a row with an older epoch does not count: until the lease in view ends or, if it has
    /// been given back, could have.
    pub(super) fn counts_until(&self, config: &Config) -> Timestamp {
        self.row.live_holder().map_or_else(|| self.silent_at(config), |_| self.ends_at)
    }

    /// Whether to attempt at `now`: because that can be expected to win, or to record since when the
    /// history of the database is known.
    pub(super) fn invites(&self, now: Timestamp) -> bool {
        let free = self.row.live_holder().is_none()
            || self.ends_at <= now
            || self.notice == Notice::Resigned;
        self.row.server.is_unknown() || (free && self.opens_at <= now)
    }

    /// When a follower should come back because the lease ends, at `now` or later: if it is not
    /// free, one millisecond later than the row says, because the database counts whole
    /// milliseconds.
    pub(super) fn comes_free_at(&self, now: Timestamp) -> Timestamp {
        let tick = Duration::from_millis(1);
        let held = self.row.live_holder().map_or(now, |_| self.ends_at + tick);
        if self.opens_at > now { held.max(self.opens_at + tick) } else { held }
    }

    /// When the holder has been silent for longer than its lease on this process's clock. If the
    /// row then still says that the lease runs, the database's clock must have gone back.
    pub(super) fn silent_at(&self, config: &Config) -> Timestamp {
        self.unchanged_since + self.silence(config)
    }

    /// How long a holder must be silent before a follower takes over: its whole lease, if this
    /// process's clock is fast. That the holder's own may be slow is what its margin is for. After
    /// a failover the row may lack a later holder, so that this process can only go by its own ttl.
    pub(super) fn silence(&self, config: &Config) -> Duration {
        let unseen = if self.row.server.follows() { longest(config) } else { Duration::ZERO };
        let lease = self.row.ttl.max(unseen);
        lease.saturating_add(config.drift.over(lease)).saturating_add(DATABASE_TICK)
    }
}

/// The longest lease that an attempt with these settings asks for.
fn longest(config: &Config) -> Duration {
    config.ttl.max(config.at_least_for)
}

fn same_renewal(a: &Row, b: &Row) -> bool {
    a.epoch == b.epoch && a.renewals == b.renewals && candidate(a) == candidate(b)
}

fn candidate(row: &Row) -> Option<&Candidate> {
    row.holder.as_ref().map(|holder| &holder.candidate)
}

/// The leadership that was published last. From it, any step can work out what is still to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Published {
    /// Nothing yet.
    Nothing,
    /// Nobody leads.
    Vacant,
    /// Another process leads under this term.
    Followed(Epoch),
    /// This process leads.
    Own,
}

//! What this process knows of the row, and how old the knowledge is.

use super::{config::Config, message::Row};
use crate::{Candidate, Epoch, Timestamp};
use core::time::Duration;

/// The row as last seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct View {
    pub(super) row: Row,
    /// When the row, as it stands but for its remaining time, was first seen: the time of the
    /// answer, which is later than the holder's last renewal.
    pub(super) unchanged_since: Timestamp,
    /// When the lease ends by this clock, as far as can be told.
    pub(super) ends_at: Timestamp,
    pub(super) notice: Notice,
}

/// What a notification has said of the term in view. Anybody may send one, so it is believed once
/// a term, and only as far as to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Notice {
    /// Nothing.
    None,
    /// Its holder has resigned, and the row has not been read since.
    Resigned,
    /// The same, and the row has been read since: from here only the row counts.
    Checked,
}

impl View {
    /// Takes in a row that was received at `now`.
    pub(super) fn seen(earlier: Option<&Self>, row: Row, now: Timestamp) -> Self {
        let unchanged_since = earlier
            .filter(|view| same_renewal(&view.row, &row))
            .map_or(now, |view| view.unchanged_since);
        let ends_at = now + row.clamped_remaining();
        let notice = match earlier.filter(|view| view.row.epoch == row.epoch) {
            Some(view) if view.notice != Notice::None => Notice::Checked,
            _ => Notice::None,
        };
        Self { row, unchanged_since, ends_at, notice }
    }

    /// Takes in that the holder of this term is said to have resigned; whether that is news.
    pub(super) fn said_to_be_resigned(&mut self, epoch: Epoch) -> bool {
        let news = self.row.epoch == epoch && self.notice == Notice::None;
        if news {
            self.notice = Notice::Resigned;
        }
        news
    }

    /// Whether an attempt at `now` can be expected to win.
    pub(super) fn expects_vacancy(&self, now: Timestamp) -> bool {
        self.row.live_holder().is_none() || self.ends_at <= now || self.notice == Notice::Resigned
    }

    /// When a follower should come back because the lease ends; `None` if it is vacant already.
    /// One millisecond later than the row says, because the database counts whole ones.
    pub(super) fn comes_free_at(&self) -> Option<Timestamp> {
        self.row.live_holder().map(|_| self.ends_at + Duration::from_millis(1))
    }

    /// When the holder has been silent for longer than its lease on this clock, whatever the
    /// database's clock says: the database's clock must have gone back.
    pub(super) fn silent_at(&self, config: &Config) -> Timestamp {
        self.unchanged_since + self.silence(config)
    }

    /// How long a holder must have been silent to be taken over from.
    pub(super) fn silence(&self, config: &Config) -> Duration {
        let drift = config.drift.over(self.row.ttl);
        self.row.ttl.saturating_add(drift).saturating_add(config.margin)
    }
}

fn same_renewal(a: &Row, b: &Row) -> bool {
    a.epoch == b.epoch && a.renewals == b.renewals && candidate(a) == candidate(b)
}

fn candidate(row: &Row) -> Option<&Candidate> {
    row.holder.as_ref().map(|holder| &holder.candidate)
}

/// Which leadership was published last, so that what is still owed can be recomputed at any time.
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

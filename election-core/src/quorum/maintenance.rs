//! The record that says whether automatic failover is paused.

use crate::quorum::places::Peer;
use core::{fmt, time::Duration};

#[cfg(doc)]
use super::machine::Quorum;

/// A reading of the wall clock: milliseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixMillis(pub u64);

/// As RFC 3339 writes it, in UTC and to the second: `2026-11-23T00:07:16Z`. A year after 9999 has
/// more digits.
impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000;
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        // Years begin in March, so that a leap day is the last of its year; 400 of them, an era,
        // have 146,097 days.
        let from_march = days + 719_468;
        let (era, day) = (from_march / 146_097, from_march % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        let year = era * 400 + year + next;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Whether automatic failover is paused, and who may lead meanwhile: a level for the whole cluster.
/// The default is the record of a cluster in which nobody has ever paused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Maintenance {
    /// The number of the record; zero for the default.
    pub number: u32,
    /// The member that made the record.
    pub issuer: Peer,
    /// Whether automatic failover is paused.
    pub paused: bool,
    /// The member that took the order.
    pub by: Peer,
    /// When it took the order, by its wall clock: for people to read. Nothing depends on it.
    pub since: Option<UnixMillis>,
    /// The member that may be elected meanwhile: the last primary.
    pub primary: Option<Peer>,
}

impl Default for Maintenance {
    fn default() -> Self {
        let nobody = Peer::new(0);
        Self { number: 0, issuer: nobody, paused: false, by: nobody, since: None, primary: None }
    }
}

impl Maintenance {
    /// The record that a node states to hold.
    pub(super) const fn held(&self, agreed: bool) -> Held {
        if self.number == 0 {
            return Held(0);
        }
        let issuer = self.issuer.index() as u64 & 63;
        Held((self.number as u64) << 7 | issuer << 1 | agreed as u64)
    }
}

/// What is left of a pause that ends by itself, in a ballot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Remainder {
    /// How much was left when the ballot was written.
    pub left: Duration,
    /// What the wall clock of this node read then, if the node knew. A restart takes off the time
    /// since.
    pub at: Option<UnixMillis>,
}

/// Which record of [`Maintenance`] a node holds, as its heartbeats say. Greater is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Held(u64);

impl Held {
    /// From the number in a frame.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number in a frame: that of the record times 128, the place of its issuer times two, and
    /// one more if the record is agreed and recorded. Zero for the default.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The same record, agreed or not.
    pub(super) fn is(self, record: &Maintenance) -> bool {
        self.0 | 1 == record.held(true).0
    }
}

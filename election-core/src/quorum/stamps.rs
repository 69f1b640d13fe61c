//! The stamps of this node's own frames.

use super::message::Stamp;
use crate::{Incarnation, Timestamp};

/// This life, and the stamp of its newest frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stamps {
    pub(super) incarnation: Incarnation,
    /// The newest stamp given.
    pub(super) newest: Timestamp,
    /// How far stamps have ever run ahead of the clock, in nanoseconds: two frames of one instant
    /// still need two stamps.
    pub(super) ahead: u64,
}

impl Stamps {
    pub(super) const fn new(incarnation: Incarnation) -> Self {
        Self { incarnation, newest: Timestamp::ZERO, ahead: 0 }
    }

    /// A stamp newer than every one before, as close to the clock as possible.
    pub(super) fn next(&mut self, now: Timestamp) -> Stamp {
        let at = now.max(self.newest.after(1));
        self.newest = at;
        self.ahead = self.ahead.max(at.as_nanos() - now.as_nanos());
        Stamp { incarnation: self.incarnation, at }
    }

    /// Whether this node gave a stamp, in this life.
    pub(super) fn gave(&self, stamp: &Stamp) -> bool {
        stamp.incarnation == self.incarnation && stamp.at <= self.newest
    }
}

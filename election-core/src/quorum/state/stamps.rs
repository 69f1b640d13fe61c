//! The stamps of this node's own frames.

use crate::{Incarnation, Timestamp, quorum::message::Stamp};

/// This life, and the stamp of its newest frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stamps {
    pub(crate) incarnation: Incarnation,
    /// The newest stamp given.
    pub(crate) newest: Timestamp,
    /// How far stamps have ever run ahead of the clock, in nanoseconds: two frames of one instant
    /// still need two stamps.
    pub(crate) ahead: u64,
}

impl Stamps {
    pub(crate) const fn new(incarnation: Incarnation) -> Self {
        Self { incarnation, newest: Timestamp::ZERO, ahead: 0 }
    }

    /// A stamp newer than every one before, as close to the clock as possible.
    pub(crate) fn next(&mut self, now: Timestamp) -> Stamp {
        let at = now.max(self.newest.after(1));
        self.newest = at;
        self.ahead = self.ahead.max(at.as_nanos() - now.as_nanos());
        Stamp { incarnation: self.incarnation, at }
    }

    /// Whether this node gave a stamp, in this life.
    pub(crate) fn gave(&self, stamp: &Stamp) -> bool {
        stamp.incarnation == self.incarnation && stamp.at <= self.newest
    }
}

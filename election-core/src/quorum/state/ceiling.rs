//! How far the frames of others can lead what only grows: a node's epochs, and the numbers of records
//! of maintenance.
//!
//! One frame with an absurd number would leave no room for any later one, if it were believed: in
//! kevy-elect's protocol an absurd epoch blocks elections for ever. No sequence of elections or orders
//! leaps far, so a frame that does is refused. But not for ever. Somebody who speaks in a member's name
//! can lead the other members away in steps that are small enough; a member that was away meanwhile
//! must find back to them by itself. So the bound rises for as long as somebody speaks beyond it, by
//! one leap in each `down_after`, however many steps that somebody takes. A member that follows needs
//! no longer than that took, unless it is restarted on the way: it begins with its own promise again. And epochs last for years of it: 2³¹ leaps.

use crate::Timestamp;

/// The greatest leap of epochs that is believed at once.
pub(crate) const EPOCHS: u64 = 1 << 32;
/// The greatest leap of the numbers of records. People give orders, and there are 2³² numbers.
pub(crate) const RECORDS: u64 = 1 << 16;
/// How far beyond what a node itself asks for others may answer: they may have asked meanwhile.
const NEAR: u64 = 1 << 10;

/// The highest number that a frame may name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ceiling {
    bound: u64,
    leap: u64,
    /// When it may rise again.
    rises_at: Timestamp,
}

impl Ceiling {
    /// Of a node that has just started, and has come so far before.
    pub(crate) fn new(reached: u64, leap: u64) -> Self {
        Self { bound: reached.saturating_add(leap), leap, rises_at: Timestamp::ZERO }
    }

    /// Whether a frame may name this number.
    #[inline]
    pub(crate) fn admits(&self, number: u64) -> bool {
        number <= self.bound
    }

    /// This node itself goes as far, on its own account: it asks for votes, which it does not do
    /// without a pause in between.
    pub(crate) fn reached(&mut self, number: u64) {
        self.bound = self.bound.max(number.saturating_add(NEAR));
    }

    /// A frame was refused.
    #[cold]
    pub(crate) fn strained(&mut self, now: Timestamp, down_after: u64) {
        if self.rises_at <= now {
            self.bound = self.bound.saturating_add(self.leap);
            self.rises_at = now.after(down_after);
        }
    }

    #[cfg(feature = "model-checking")]
    pub(crate) fn rebase(&mut self, at: impl FnOnce(&mut Timestamp)) {
        at(&mut self.rises_at);
    }
}

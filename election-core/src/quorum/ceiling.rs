//! How far the frames of others can lead a node's epochs.
//!
//! One frame with an absurd epoch would leave no room for any later election, if it were believed:
//! in kevy-elect's protocol it blocks elections for ever. No sequence of elections leaps far, so a
//! frame that does is refused. But not for ever. Somebody who speaks in a member's name can lead the
//! other members away in steps that are small enough; a member that was away meanwhile must find
//! back to them by itself. So the bound rises for as long as somebody speaks beyond it, by one leap
//! in each `down_after`. It rises no faster for an attacker than for a member that follows, who so
//! needs no longer than the attack took. And the epochs last for years of it: 2³¹ leaps.

use crate::{Epoch, Timestamp};

/// The greatest leap that is believed at once.
const LEAP: u64 = 1 << 32;
/// So many epochs above what this node has promised are no leap: it may be at the ceiling itself, and
/// asks for votes then.
const NEAR: u64 = 1 << 10;

/// The highest epoch that a frame may name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ceiling {
    bound: Epoch,
    /// When it may rise again.
    rises_at: Timestamp,
}

impl Ceiling {
    /// Of a node that has just started, with this promise.
    pub(super) fn new(promised: Epoch) -> Self {
        Self { bound: above(promised, LEAP), rises_at: Timestamp::ZERO }
    }

    /// Whether a frame may name this epoch to a node with this promise.
    #[inline]
    pub(super) fn admits(&self, epoch: Epoch, promised: Epoch) -> bool {
        epoch <= self.bound || above(promised, NEAR) >= epoch
    }

    /// A frame was refused.
    #[cold]
    pub(super) fn strained(&mut self, now: Timestamp, down_after: u64) {
        if self.rises_at <= now {
            self.bound = above(self.bound, LEAP);
            self.rises_at = now.after(down_after);
        }
    }

    #[cfg(feature = "model-checking")]
    pub(super) fn rebase(&mut self, at: impl FnOnce(&mut Timestamp)) {
        at(&mut self.rises_at);
    }
}

fn above(epoch: Epoch, count: u64) -> Epoch {
    Epoch::new(epoch.get().saturating_add(count))
}

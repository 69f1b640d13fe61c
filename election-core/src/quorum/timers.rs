//! When a node does something by itself: one table of every deadline.
//!
//! A new deadline is a row here, and what happens when it is due in `Quorum::expire`, which does
//! not compile without it. Whoever has something to wait for sets the timer; waking in time, and
//! moving all of them at once for a model checker, is written here once.

use crate::Timestamp;

/// While what a passing timer changes anything, so that the node asks to be woken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wakes {
    /// Always.
    Always,
    /// Unless the node must not be heard.
    Audible,
    /// While the node looks for a primary, itself perhaps, and only if the timer has not passed.
    Seeking,
    /// Never: it is looked at when something else is due.
    Never,
}

crate::timers::timers! {
    wakes: Wakes;
    /// When to stop believing in the node's own leadership: `grace` before trust ends.
    Belief: Always,
    /// When to let the others elect, whether the work has stopped or not: trust and margin are
    /// over.
    Drain: Always,
    /// When to stop supporting: `down_after` after the last frame that asked for it.
    Support: Always,
    /// When to take the primary that is followed for gone.
    Primary: Always,
    /// When to give up a candidacy that has not won.
    Candidacy: Always,
    /// When to send everybody the next heartbeat.
    Heartbeat: Audible,
    /// When to make the offer again.
    Offer: Always,
    /// When to try again to save a ballot that could not be saved.
    Save: Always,
    /// When any support that an earlier life gave has run out.
    Boot: Always,
    /// When a candidate that has failed may offer itself again.
    Backoff: Seeking,
    /// When a node that has resigned may offer itself again.
    StayOut: Seeking,
    /// When to report that nobody can be elected for want of data, or of knowledge.
    Patience: Seeking,
    /// When to offer itself, unless somebody better does so before.
    Campaign: Seeking,
    /// When to send no more heartbeats as primary, and none as replica yet.
    Silence: Never,
    /// When to announce the leadership to everybody again, with a heartbeat: a lost announcement
    /// leaves a follower without the address for no longer than that.
    Announce: Never,
}

impl Timers {
    /// Nothing is waited for, and nothing keeps the node from offering itself.
    pub(super) const fn new() -> Self {
        let mut timers = Self::stopped();
        timers.set(Timer::Backoff, Timestamp::ZERO);
        timers.set(Timer::StayOut, Timestamp::ZERO);
        timers
    }

    /// Sets a timer, but no earlier than it is set.
    #[inline]
    pub(super) fn postpone(&mut self, timer: Timer, to: Timestamp) {
        self.set(timer, self.at(timer).max(to));
    }

    /// When to be woken for the next of them.
    #[inline]
    pub(super) fn next(&self, now: Timestamp, audible: bool, seeking: bool) -> Timestamp {
        let mut next = Timestamp::MAX;
        Timer::each(|timer| {
            let at = self.at(timer);
            let counts = match timer.wakes() {
                Wakes::Always => true,
                Wakes::Audible => audible,
                Wakes::Seeking => seeking && at > now,
                Wakes::Never => false,
            };
            if counts && at < next {
                next = at;
            }
        });
        next
    }
}

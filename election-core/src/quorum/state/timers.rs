//! When a node acts by itself: one table of all deadlines.
//!
//! To add a deadline, add a row here and its consequence in `Quorum::expire`, which does not
//! compile without it. Code that waits for something sets the timer. Waking in time, and moving all
//! timers at once for a model checker, is written here once.

use crate::Timestamp;

/// When a passing timer changes anything, so that the node asks to be woken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakes {
    /// Always.
    Always,
    /// Unless the node must stay silent.
    Audible,
    /// While the node looks for a primary or campaigns, and only if the timer has not passed.
    Seeking,
    /// Never: a step that is due for another reason looks at it.
    Never,
}

crate::timers::timers! {
    wakes: Wakes;
    /// When to stop believing in the node's own leadership: `grace` before trust ends.
    Belief: Always,
    /// When to let the others elect, even if the work has not stopped: trust and margin are over.
    Drain: Always,
    /// When support ends: `down_after` after the last frame that asked for it.
    Support: Always,
    /// When the primary that this node follows counts as gone.
    Primary: Always,
    /// When to give up a candidacy that has not won.
    Candidacy: Always,
    /// When to send everybody the next heartbeat.
    Heartbeat: Audible,
    /// When to make the offer again.
    Offer: Always,
    /// When a candidate of kevy-elect, whose offer was refused, has given up.
    Asked: Always,
    /// When to try again to save a ballot that could not be saved.
    Save: Always,
    /// When any support that an earlier life gave has run out.
    Boot: Always,
    /// When a failed candidate may offer itself again.
    Backoff: Seeking,
    /// When a node that has resigned may offer itself again, or a node that another one has deposed
    /// through a member of kevy-elect.
    StayOut: Seeking,
    /// When to report that missing data or knowledge keeps this node from being elected.
    Patience: Seeking,
    /// When to make an offer, unless a better candidate does so before.
    Campaign: Seeking,
    /// When to forget a proposal to pause automatic failover, or to resume it.
    Proposal: Always,
    /// When a pause of automatic failover ends by itself.
    PauseEnd: Always,
    /// When to look again whether the preferred member can have the leadership back.
    FailBack: Always,
    /// When to stop heartbeats as primary, without sending any as replica yet.
    Silence: Never,
    /// When to announce the leadership to everybody again, with a heartbeat. After a lost
    /// announcement, a follower lacks the address no longer than that.
    Announce: Never,
}

impl Timers {
    /// All timers are stopped, and no timer keeps the node from making an offer.
    pub(crate) const fn new() -> Self {
        let mut timers = Self::stopped();
        timers.set(Timer::Backoff, Timestamp::ZERO);
        timers.set(Timer::StayOut, Timestamp::ZERO);
        timers
    }

    /// Moves a timer to this time if it is set earlier.
    #[inline]
    pub(crate) fn postpone(&mut self, timer: Timer, to: Timestamp) {
        self.set(timer, self.at(timer).max(to));
    }

    /// When the node must be woken next.
    pub(crate) fn next(&self, now: Timestamp, audible: bool, seeking: bool) -> Timestamp {
        let mut next = Timestamp::MAX;
        Timer::each(|timer| {
            let at = self.at(timer);
            let wakes = match timer.wakes() {
                Wakes::Always => true,
                Wakes::Audible => audible,
                Wakes::Seeking => seeking && at > now,
                Wakes::Never => false,
            };
            if wakes {
                next = next.min(at);
            }
        });
        next
    }
}

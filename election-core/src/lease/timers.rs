//! When a process acts by itself: one table of all deadlines.
//!
//! To add a deadline, add a row here and its question in `Lease::question`, which does not compile
//! without it.

use crate::Timestamp;

/// What happens when a timer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brings {
    /// The end of something.
    End,
    /// A question to the database, once there is room for it. If several are due, the order of the
    /// rows decides.
    Question,
}

crate::timers::timers! {
    brings: Brings;
    /// When to stop believing that this process leads: `grace` before trust ends.
    Belief: End,
    /// When to give up on the question in flight.
    Answer: End,
    /// When to release a term, or to try that again.
    Resign: Question,
    /// When to renew the term that is led.
    Renew: Question,
    /// When to ask whether anybody else stands: as soon as it is worth asking.
    Others: Question,
    /// When to look at the row.
    Poll: Question,
    /// When to renew the place on the list of candidates.
    Register: Question,
    /// When to leave the list: as soon as everything else is done.
    Unregister: Question,
}

impl Timers {
    /// A process that has just started looks at the row and puts itself on the list.
    pub(super) const fn new() -> Self {
        let mut timers = Self::stopped();
        timers.set(Timer::Others, Timestamp::ZERO);
        timers.set(Timer::Poll, Timestamp::ZERO);
        timers.set(Timer::Register, Timestamp::ZERO);
        timers.set(Timer::Unregister, Timestamp::ZERO);
        timers
    }

    /// Moves a timer to this time if it is set later.
    pub(super) fn advance(&mut self, timer: Timer, to: Timestamp) {
        self.set(timer, self.at(timer).min(to));
    }
}

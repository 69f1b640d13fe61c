//! When a process does something by itself: one table of every deadline.
//!
//! A new deadline is a row here, and what is asked when it is due in `Lease::question`, which does
//! not compile without it.

use crate::Timestamp;

/// What a timer that is due brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brings {
    /// The end of something.
    End,
    /// A question to the database, once there is room for it. In the order of the rows, if several
    /// are due.
    Question,
}

crate::timers::timers! {
    brings: Brings;
    /// When to stop believing that this process leads: `grace` before trust ends.
    Belief: End,
    /// When to give up on the question in flight.
    Answer: End,
    /// When to give back a term, or to try it again.
    Resign: Question,
    /// When to renew the term that is led.
    Renew: Question,
    /// When to ask whether anybody else stands: as soon as it is worth asking.
    Others: Question,
    /// When to look at the row.
    Poll: Question,
    /// When to renew the place on the list of candidates.
    Register: Question,
    /// When to leave the list: as soon as nothing else is left to do.
    Unregister: Question,
}

impl Timers {
    /// A process that has just started looks at the row, and puts itself on the list.
    pub(super) const fn new() -> Self {
        let mut timers = Self::stopped();
        timers.set(Timer::Others, Timestamp::ZERO);
        timers.set(Timer::Poll, Timestamp::ZERO);
        timers.set(Timer::Register, Timestamp::ZERO);
        timers.set(Timer::Unregister, Timestamp::ZERO);
        timers
    }

    /// Sets a timer, but no later than it is set.
    pub(super) fn advance(&mut self, timer: Timer, to: Timestamp) {
        self.set(timer, self.at(timer).min(to));
    }
}

//! The order of things within a step, and the steps that need not go the whole way.

mod actions;
mod conclusions;
mod expiry;
mod frames;
mod inputs;
mod publish;
mod routine;

use self::routine::Heard;
use crate::{
    Change, Input, Protocol, Step, Tenure, Timestamp,
    quorum::{
        machine::Quorum,
        members::Peer,
        message::{Action, Connection, Event, Message},
    },
};

impl Quorum {
    /// Takes a frame where it is: the same step as with [`Event::Received`]. Frames are large, and
    /// to move one costs more than most steps.
    ///
    /// `None` if there is nothing to do and the deadline is the same as before.
    #[inline(always)]
    pub fn hear(
        &mut self,
        now: Timestamp,
        from: Peer,
        connection: Connection,
        message: &Message,
    ) -> Option<Step<Action>> {
        let due = self.advance(now);
        let heard = if due { Heard::News } else { self.goes_on(from, connection, message) };
        match heard {
            Heard::Routine => None,
            Heard::Postponed => Some(self.nothing()),
            Heard::News => Some(self.step_on(due, |node| node.received(from, connection, message))),
        }
    }

    /// Looks at the clock: the same step as with [`Input::Tick`], for a caller that asks more often
    /// than something is due.
    ///
    /// `None` if there is nothing to do and the deadline is the same as before.
    #[inline(always)]
    pub fn tick(&mut self, now: Timestamp) -> Option<Step<Action>> {
        let before = self.now;
        if self.advance(now) { Some(self.tick_on(before)) } else { None }
    }

    #[inline(never)]
    fn tick_on(&mut self, before: Timestamp) -> Step<Action> {
        if self.beats_on(before) {
            let action = Some(self.beat());
            return Step { change: None, action, wake_at: self.next_wake() };
        }
        self.step_on(true, |_| None)
    }

    /// Moves this node's time, never back. Returns whether a deadline is due.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: Timestamp) -> bool {
        self.now = self.now.max(now);
        self.wake_at <= self.now
    }

    /// The same as [`Protocol::step`] on the whole way, whatever the routine: for a check that both
    /// ways lead to the same state and the same step.
    #[cfg(feature = "model-checking")]
    pub fn step_in_full(&mut self, now: Timestamp, input: &Input<Event>) -> Step<Action> {
        let due = self.advance(now);
        if !due && matches!(input, Input::Tick) {
            return self.nothing();
        }
        self.step_on(due, |node| node.handle(input))
    }

    /// A step without consequences.
    #[inline]
    pub(crate) fn nothing(&self) -> Step<Action> {
        Step { change: None, action: None, wake_at: self.next_wake() }
    }

    /// A step on the whole way: what ends by itself goes before the input, and the conclusions from
    /// both before the action.
    pub(crate) fn step_on(
        &mut self,
        due: bool,
        handle: impl FnOnce(&mut Self) -> Option<Change>,
    ) -> Step<Action> {
        let expired = if due { self.expire() } else { None };
        let handled = handle(self);
        debug_assert!(expired.is_none() || handled.is_none(), "one change a step");
        let change = self.conclude(expired, handled);
        let action = self.act();
        self.wake_at = self.plan();
        self.routine = self.routine();
        Step { change, action, wake_at: self.next_wake() }
    }

    /// Draws the conclusions. Returns the change of this step.
    fn conclude(&mut self, expired: Option<Change>, handled: Option<Change>) -> Option<Change> {
        self.settle();
        // A change is large and rare: move it only if there is one.
        if expired.is_some() {
            return expired;
        }
        if handled.is_some() {
            return handled;
        }
        self.owed_change()
    }

    #[inline(always)]
    fn next_wake(&self) -> Option<Timestamp> {
        (self.wake_at < Timestamp::MAX).then_some(self.wake_at)
    }
}

impl Protocol for Quorum {
    type Event = Event;
    type Action = Action;

    #[inline(always)] // a tick or frame is not moved, and its kind is known where it comes from
    fn step(&mut self, now: Timestamp, input: Input<Event>) -> Step<Action> {
        let step = match &input {
            Input::Tick => self.tick(now),
            Input::Event(Event::Received { from, connection, message }) => {
                self.hear(now, *from, *connection, message)
            }
            other => {
                let due = self.advance(now);
                return self.step_on(due, |node| node.handle(other));
            }
        };
        step.unwrap_or_else(|| self.nothing())
    }

    fn tenure(&self, now: Timestamp) -> Option<Tenure> {
        self.believed(now).and_then(|lead| self.tenure_of(lead))
    }

    fn is_leader(&self, now: Timestamp) -> bool {
        self.believed(now).is_some()
    }

    fn is_finished(&self) -> bool {
        self.withdrawn
            && self.leadership.is_none()
            && self.unstopped.is_none()
            && !self.outbox.farewell
    }
}

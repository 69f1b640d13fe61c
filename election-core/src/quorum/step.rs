//! The order of things within a step, and the steps that need not go the whole way.

use super::{
    machine::Quorum,
    members::Peer,
    message::{Action, Connection, Message},
    routine::Heard,
};
#[cfg(doc)]
use crate::Protocol;
use crate::{Change, Step, Timestamp};
#[cfg(any(doc, feature = "model-checking"))]
use crate::{Input, quorum::message::Event};

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
    pub(super) fn advance(&mut self, now: Timestamp) -> bool {
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
    pub(super) fn nothing(&self) -> Step<Action> {
        Step { change: None, action: None, wake_at: self.next_wake() }
    }

    /// A step on the whole way: what ends by itself goes before the input, and the conclusions from
    /// both before the action.
    pub(super) fn step_on(
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

//! The order of things within a step.

mod actions;
mod conclusions;
mod expiry;
mod frames;
mod inputs;
mod publish;

use crate::{
    Input, Protocol, Step, Tenure, Timestamp,
    quorum::{
        machine::Quorum,
        message::{Action, Event},
    },
};

impl Protocol for Quorum {
    type Event = Event;
    type Action = Action;

    /// What ends by itself goes before the input, and the conclusions from both before the action.
    fn step(&mut self, now: Timestamp, input: Input<Event>) -> Step<Action> {
        self.now = self.now.max(now);
        let expired = self.expire();
        let handled = self.handle(&input);
        debug_assert!(expired.is_none() || handled.is_none(), "one change a step");
        self.settle();
        let change = expired.or(handled).or_else(|| self.owed_change());
        let action = self.act();
        let wake_at = if change.is_some() { self.now } else { self.plan() };
        Step { change, action, wake_at: (wake_at < Timestamp::MAX).then_some(wake_at) }
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

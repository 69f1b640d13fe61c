//! The trait that both protocols implement.

use crate::{Change, Epoch, Tenure, Timestamp};

/// A leader-election protocol as a deterministic state machine.
///
/// The caller owns the clock and all I/O. It calls [`step`](Self::step) with an input, publishes
/// the change, performs the action, and calls again at `wake_at` or at the next input, whichever
/// comes first. [`drive`](mod@crate::drive) is that loop.
///
/// The same configuration, seed and inputs give the same outputs on every platform.
pub trait Protocol {
    /// What the caller reports: answers, frames, saved ballots, health.
    type Event;
    /// What the caller is asked to do.
    type Action;

    /// Takes one input at the time `now`.
    ///
    /// `now` should not go back. If it does, the latest time seen counts instead. No input panics.
    fn step(&mut self, now: Timestamp, input: Input<Self::Event>) -> Step<Self::Action>;

    /// This process's leadership as it may be believed at `now`.
    ///
    /// The protocol stores no "I am leader" flag. Every call computes the answer from a deadline,
    /// so a stalled runtime, a dead task or a starved timer cannot keep leadership alive.
    fn tenure(&self, now: Timestamp) -> Option<Tenure>;

    /// Whether this process may believe at `now` that it leads.
    fn is_leader(&self, now: Timestamp) -> bool {
        self.tenure(now).is_some()
    }

    /// Whether [`Input::Withdraw`] is complete: this process holds no leadership and has nothing
    /// left to do. A driver may stop here. If it goes on delivering late answers and one of them
    /// says that a term was won after all, it may be asked to give that term back.
    fn is_finished(&self) -> bool;
}

/// The input of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<E> {
    /// An event from outside.
    Event(E),
    /// Give leadership up and stay out for a while, so that another candidate can take it.
    Resign,
    /// All leader work of this epoch has ended, by itself or by force. Due once after every
    /// [`Change::Lost`], whatever the reason. Only this input permits a release: without it, the
    /// leadership is not given back but runs out, and this process neither leads again nor [is
    /// finished](Protocol::is_finished).
    ///
    /// A report that comes before its `Lost` counts for nothing and is not remembered, because work
    /// may begin as long as the term lasts. So work that ends while its term goes on resigns, or
    /// waits. Nor is it enough that an [`until`](Tenure::until) seen earlier has passed: a renewal
    /// may have moved it meanwhile.
    Stopped(Epoch),
    /// Leave the election for good: resign, release, take the candidate off the list.
    Withdraw,
    /// `wake_at` has come and there is no other input. A tick that comes earlier does nothing.
    Tick,
}

/// The result of a step: at most one change, one action and one deadline. The caller has no queue
/// to drain and cannot get the order wrong.
#[must_use = "a dropped step loses a change or an action"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<A> {
    /// Publish it before you perform the action.
    pub change: Option<Change>,
    /// Start it without waiting for it: its outcome comes back as an event.
    pub action: Option<A>,
    /// When to call again if there is no input before; `None` means that only an input matters. A
    /// deadline that is due goes before any waiting input.
    pub wake_at: Option<Timestamp>,
}

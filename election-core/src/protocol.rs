//! The shape both protocols share.

use crate::{Change, Epoch, Tenure, Timestamp};

/// A leader-election protocol as a deterministic state machine.
///
/// The caller owns time and the outside world. It calls [`step`](Self::step) with whatever
/// happened, publishes the change, performs the action, and calls again at `wake_at` or when
/// something happens, whichever comes first. [`drive`](mod@crate::drive) is that loop.
///
/// Same configuration, seed and inputs give the same outputs on every platform.
pub trait Protocol {
    /// What the outside world reports: answers, frames, saved ballots, health.
    type Event;
    /// What the outside world is asked to do.
    type Action;

    /// Takes one input at the time `now`.
    ///
    /// `now` should not go back; where it does, the latest time seen counts instead. No input
    /// panics, and a step allocates nothing.
    fn step(&mut self, now: Timestamp, input: Input<Self::Event>) -> Step<Self::Action>;

    /// This process's leadership as it may be believed at `now`.
    ///
    /// There is no stored "I am leader": the answer is computed from a deadline at every call,
    /// so that a stalled runtime, a dead task or a starved timer cannot leave it standing.
    fn tenure(&self, now: Timestamp) -> Option<Tenure>;

    /// Whether this process may believe at `now` that it leads.
    fn is_leader(&self, now: Timestamp) -> bool {
        self.tenure(now).is_some()
    }

    /// Whether [`Input::Withdraw`] has run its course: nothing is held and nothing is owed. A
    /// driver may stop here. One that goes on delivering late answers may be asked to give a term
    /// back that such an answer says was won after all.
    fn is_finished(&self) -> bool;
}

/// What a step is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<E> {
    /// Something happened outside.
    Event(E),
    /// Give leadership up and stay out for a while, so that somebody else can take it.
    Resign,
    /// All leader work of this epoch has ended. Only this permits a release: a lease whose work
    /// will not stop is never released but runs out.
    Stopped(Epoch),
    /// Leave the election for good: resign, release, take the candidate off the list.
    Withdraw,
    /// Nothing happened, but `wake_at` has come.
    Tick,
}

/// What a step gives back: at most one change, one action and one deadline. There is no queue to
/// drain and so no order to get wrong.
#[must_use = "a dropped step loses a change or an action"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<A> {
    /// To be published before the action is performed.
    pub change: Option<Change>,
    /// To be started, not awaited: its outcome comes back as an event.
    pub action: Option<A>,
    /// When to call again if nothing happens before; `None` means only when something does. A
    /// deadline that is due goes before any input that waits.
    pub wake_at: Option<Timestamp>,
}

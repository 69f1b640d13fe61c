//! The loop that every runtime shares.
//!
//! A protocol needs four things, and [`Host`] names them: a clock, a place to publish changes,
//! something that starts actions, and **one** inbox with **one** timer, through which all answers,
//! frames and commands arrive. The loop performs no I/O itself:
//!
//! 1. step at the host's time with the next input,
//! 2. publish the change and the state behind it, *before* starting the action,
//! 3. start the action; its outcome comes back through the inbox,
//! 4. wait for the deadline or the inbox; a deadline that is due goes first.
//!
//! A host without `async` (an interrupt handler, a game loop, a simulator) can call
//! [`Protocol::step`] in that order itself; the loop does nothing else.
//! [`embedding`](crate::embedding) says what else there is to a driver.

use crate::{Change, Input, Protocol, Timestamp};
use core::{
    future::poll_fn,
    task::{Context, Poll},
};

/// What the loop needs from its host.
pub trait Host<P: Protocol> {
    /// Reads the clock. The loop calls it before every step.
    fn now(&mut self) -> Timestamp;

    /// Publishes the outcome of a step. The loop calls it after every step, mostly with `change:
    /// None`, because a renewal moves the end of the tenure without being a change. Must not block.
    fn publish(&mut self, protocol: &P, change: Option<Change>);

    /// Starts an action without waiting for it.
    fn perform(&mut self, action: P::Action);

    /// Yields the next input: [`Input::Tick`] once `wake_at` has come, an input from the inbox
    /// before that, or `None` to end the loop. Polling must be cancel-safe: only the call that
    /// returns an input takes it from the inbox.
    fn poll_input(
        &mut self,
        cx: &mut Context<'_>,
        wake_at: Option<Timestamp>,
    ) -> Poll<Option<Input<P::Event>>>;
}

/// Runs `protocol` until it [is finished](Protocol::is_finished) or the host ends the loop.
///
/// The first step is an [`Input::Tick`]. Dropping the future stops the protocol where it stands: a
/// leadership that it holds runs out at the end of the tenure.
pub async fn drive<P: Protocol, H: Host<P>>(protocol: &mut P, host: &mut H) {
    let mut input = Input::Tick;
    loop {
        let now = host.now();
        let step = protocol.step(now, input);
        host.publish(protocol, step.change);
        if let Some(action) = step.action {
            host.perform(action);
        }
        if protocol.is_finished() {
            return;
        }
        let next = poll_fn(|cx| host.poll_input(cx, step.wake_at)).await;
        match next {
            Some(next) => input = next,
            None => return,
        }
    }
}

//! The loop that every runtime shares, and how to embed the core in another one.
//!
//! To drive a protocol you need four things, and [`Host`] names them: a clock, somewhere to
//! publish what changed, something that starts actions, and **one** inbox into which answers,
//! frames and commands all flow, with **one** timer. The loop performs no I/O itself:
//!
//! 1. step at the host's time with the input that came,
//! 2. publish the change and the state behind it, *before* the action is started,
//! 3. start the action; its outcome comes back through the inbox,
//! 4. wait for the deadline or the inbox; a deadline that is due goes first.
//!
//! A host without `async` (an interrupt handler, a game loop, a simulator) can call
//! [`Protocol::step`] in that order itself; nothing else hides here.

use crate::{Change, Input, Protocol, Timestamp};
use core::{
    future::poll_fn,
    task::{Context, Poll},
};

/// What the loop needs from its surroundings.
pub trait Host<P: Protocol> {
    /// The clock, read anew before every step.
    fn now(&mut self) -> Timestamp;

    /// Makes the outcome of a step known. Called after every step, with `change: None` after
    /// most, because a renewal moves the tenure's end without being a change. Must not block.
    fn publish(&mut self, protocol: &P, change: Option<Change>);

    /// Starts an action without waiting for it.
    fn perform(&mut self, action: P::Action);

    /// Yields the next input: [`Input::Tick`] once `wake_at` has come, what the inbox holds
    /// before that, `None` to end the loop. It is cancel-safe to poll: an input is taken from
    /// the inbox only in the call that returns it.
    fn poll_input(
        &mut self,
        cx: &mut Context<'_>,
        wake_at: Option<Timestamp>,
    ) -> Poll<Option<Input<P::Event>>>;
}

/// Runs `protocol` until it [is finished](Protocol::is_finished) or the host ends the loop.
///
/// The first step is a [`Input::Tick`]. Dropping the future stops the protocol where it stands:
/// what it holds runs out by itself at the tenure's end.
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

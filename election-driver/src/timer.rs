//! A timer that a suspended machine cannot make late by more than a slice.

use crate::Runtime;
use election_core::Timestamp;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// Waits for instants of the runtime's clock, sleeping in slices.
pub(crate) struct Timer<R: Runtime> {
    runtime: R,
    slice: Duration,
    asleep: Option<(Timestamp, Pin<Box<R::Sleep>>)>,
}

impl<R: Runtime> Timer<R> {
    pub(crate) fn new(runtime: R, slice: Duration) -> Self {
        Self { runtime, slice, asleep: None }
    }

    /// Ready once the clock has reached `at`. Another `at` replaces the earlier one.
    pub(crate) fn poll_at(&mut self, cx: &mut Context<'_>, at: Timestamp) -> Poll<()> {
        loop {
            let now = self.runtime.now();
            if now >= at {
                self.asleep = None;
                return Poll::Ready(());
            }
            let sleep = match &mut self.asleep {
                Some((until, sleep)) if *until == at => sleep,
                asleep => {
                    let sleep = Box::pin(self.runtime.sleep(at.since(now).min(self.slice)));
                    &mut asleep.insert((at, sleep)).1
                }
            };
            match sleep.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => self.asleep = None,
            }
        }
    }

    pub(crate) async fn wait_until(&mut self, at: Timestamp) {
        poll_fn(|cx| self.poll_at(cx, at)).await;
    }
}

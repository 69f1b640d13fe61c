//! What comes for somebody who may wait for it.

use std::{
    collections::VecDeque,
    task::{Context, Poll, Waker},
};

/// Values that come one after the other, and who waits for the next.
pub(super) struct Mailbox<T> {
    values: VecDeque<T>,
    waker: Option<Waker>,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self { values: VecDeque::new(), waker: None }
    }
}

impl<T> Mailbox<T> {
    /// Returns whether somebody waits for it.
    pub(super) fn put(&mut self, value: T) -> bool {
        self.values.push_back(value);
        self.waker.take().map(Waker::wake).is_some()
    }

    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<T> {
        if let Some(value) = self.values.pop_front() {
            return Poll::Ready(value);
        }
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Takes all that nobody has taken yet.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = T> {
        self.values.drain(..)
    }
}

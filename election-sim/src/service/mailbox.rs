//! What comes for somebody who may wait for it.

use std::{collections::VecDeque, task::Waker};

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

impl<T> IntoIterator for Mailbox<T> {
    type Item = T;
    type IntoIter = std::collections::vec_deque::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

impl<T> Mailbox<T> {
    /// Returns whether somebody waits for it.
    pub(super) fn put(&mut self, value: T) -> bool {
        self.values.push_back(value);
        self.waker.take().map(Waker::wake).is_some()
    }

    pub(super) fn take(&mut self, waker: &Waker) -> Option<T> {
        self.waker = Some(waker.clone());
        self.values.pop_front()
    }
}

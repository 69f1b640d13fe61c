//! The simulated database, as a store of the driver's.

use super::cell::Cell;
use election_core::lease::{Answer, Query, Registration};
use election_driver::{Notice, Notifications, Pause, Store, StoreError};
use futures_core::Stream;
use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

/// The simulated database as a [`Store`], with all of its faults.
#[derive(Clone)]
pub struct SimStore {
    cell: Cell,
    notifies: bool,
}

impl SimStore {
    pub(super) fn new(cell: Cell, notifies: bool) -> Self {
        Self { cell, notifies }
    }
}

impl fmt::Debug for SimStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimStore").field("notifies", &self.notifies).finish_non_exhaustive()
    }
}

/// Whoever waits for an answer: once dropped, nobody does.
struct Asking<'a>(&'a Cell);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.state().give_up();
    }
}

impl Store for SimStore {
    async fn answer(&mut self, _: &Registration, query: &Query) -> Result<Answer, StoreError> {
        self.cell.state().send(query);
        let asking = Asking(&self.cell);
        let answer = poll_fn(|cx| asking.0.state().poll_answer(cx));
        answer.await.map_err(|kind| StoreError::new(kind, "the simulated database fails"))
    }

    fn notifications(&mut self, _: &Registration, _: Pause) -> Notifications {
        if self.notifies {
            _ = self.cell.state().notices.put(Notice::Listening);
        }
        Box::pin(Notices(self.cell.clone()))
    }
}

struct Notices(Cell);

impl Stream for Notices {
    type Item = Notice;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Notice>> {
        self.0.state().notices.poll(cx).map(Some)
    }
}

//! Everything that happened to leadership, in order.

use async_channel::Receiver;
use election_core::Change;
use futures_core::Stream;
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// The ordered, lossless stream of changes, beginning with the state at the time of subscribing.
///
/// It ends when the elector does. A reader that is slow blocks nobody; what it has not read is
/// kept for it, a few entries for every time leadership moves.
pub struct Changes(Pin<Box<Receiver<Change>>>);

impl Changes {
    pub(crate) fn new(receiver: Receiver<Change>) -> Self {
        Self(Box::pin(receiver))
    }

    /// The next change; `None` once the elector has ended. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Change> {
        self.0.recv().await.ok()
    }

    /// The next change, if it has happened already.
    pub fn try_next(&mut self) -> Option<Change> {
        self.0.try_recv().ok()
    }
}

impl Stream for Changes {
    type Item = Change;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        self.0.as_mut().poll_next(cx)
    }
}

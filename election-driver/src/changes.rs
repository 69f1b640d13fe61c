//! Every change of leadership, in order.

use async_channel::{Receiver, Sender};
use election_core::Change;
use futures_core::Stream;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};
use thiserror::Error;

/// How many unread changes are kept for a reader.
const UNREAD: usize = 10_000;

/// A reader of [`Changes`] left 10,000 of them unread. The reader still gets those. Later changes
/// are lost, and the stream ends with this error. [`Handle::status`](crate::Handle::status) has the
/// latest state, and a new stream begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{UNREAD} leadership changes were left unread, and later ones are lost; read faster, or use \
     `Handle::status` or `Handle::watch`, which keep only the latest state"
)]
pub struct Lagged;

/// The ordered stream of changes, without a gap until it ends.
///
/// It begins with the state at the time of subscribing. If the database has not answered yet, it
/// begins with the first state that becomes known. It ends when the elector ends. In a quorum, one
/// leader may be told twice, without its label and with it ([`Change::Followed`]).
///
/// A slow reader blocks nobody. The stream keeps up to 10,000 unread changes, a few for every time
/// that leadership moves; after those it ends with [`Lagged`].
///
/// ```no_run
/// # use election_driver::{Handle, Lagged, Runtime, core::Change};
/// async fn journal<R: Runtime>(leader: &Handle<R>) -> Result<(), Lagged> {
///     let mut changes = leader.changes();
///     while let Some(change) = changes.next().await? {
///         match change {
///             Change::Elected(tenure) => println!("this process leads: {}", tenure.term),
///             Change::Lost { term, reason, .. } => println!("no longer {term}: {reason}"),
///             Change::Followed { term, .. } => println!("{term} leads"),
///             Change::Vacant => println!("nobody leads"),
///             Change::Alert(alert) => println!("look at this: {alert}"),
///         }
///     }
///     Ok(()) // the elector has ended
/// }
/// ```
pub struct Changes {
    receiver: Pin<Box<Receiver<Change>>>,
    lagged: Arc<AtomicBool>,
}

impl Changes {
    /// The next change; `None` once the elector has ended. Dropping the future loses nothing.
    ///
    /// # Errors
    /// Once, after 10,000 changes were unread at one time; `None` from then on.
    pub async fn next(&mut self) -> Result<Option<Change>, Lagged> {
        match self.receiver.recv().await {
            Ok(change) => Ok(Some(change)),
            Err(_) => self.end(),
        }
    }

    /// The next change, if it has happened already.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_next(&mut self) -> Result<Option<Change>, Lagged> {
        match self.receiver.try_recv() {
            Ok(change) => Ok(Some(change)),
            Err(error) if error.is_closed() => self.end(),
            Err(_) => Ok(None),
        }
    }

    fn end<T>(&self) -> Result<Option<T>, Lagged> {
        if self.lagged.swap(false, Ordering::AcqRel) { Err(Lagged) } else { Ok(None) }
    }
}

impl Stream for Changes {
    type Item = Result<Change, Lagged>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(match ready!(self.receiver.as_mut().poll_next(cx)) {
            Some(change) => Some(Ok(change)),
            None => self.end().transpose(),
        })
    }
}

/// Where the changes for one reader are put.
pub(crate) struct Subscriber {
    sender: Sender<Change>,
    lagged: Arc<AtomicBool>,
}

/// A reader and the queue it reads from.
pub(crate) fn subscription() -> (Subscriber, Changes) {
    let (sender, receiver) = async_channel::unbounded();
    let lagged = Arc::<AtomicBool>::default();
    let changes = Changes { receiver: Box::pin(receiver), lagged: lagged.clone() };
    (Subscriber { sender, lagged }, changes)
}

impl Subscriber {
    /// `false` if nobody reads any more, or the reader is too slow.
    pub(crate) fn tell(&self, change: &Change) -> bool {
        if self.sender.len() >= UNREAD {
            self.lagged.store(true, Ordering::Release);
            return false;
        }
        self.sender.try_send(change.clone()).is_ok()
    }
}

/// The queue between the elector and one reader, by itself: for the fuzz target of this repository.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub struct Queue(Subscriber);

#[cfg(feature = "fuzzing")]
impl Queue {
    /// How many unread changes it keeps.
    pub const UNREAD: usize = UNREAD;

    /// A queue and its reader.
    #[must_use]
    pub fn new() -> (Self, Changes) {
        let (subscriber, changes) = subscription();
        (Self(subscriber), changes)
    }

    /// `false` if the elector lets go of this reader.
    #[must_use]
    pub fn tell(&self, change: &Change) -> bool {
        self.0.tell(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_lite::{StreamExt, future::block_on};

    #[test]
    fn who_does_not_read_is_told_after_ten_thousand() {
        let (subscriber, mut changes) = subscription();
        assert_eq!(changes.try_next(), Ok(None), "nothing has happened yet");
        for _ in 0..UNREAD {
            assert!(subscriber.tell(&Change::Vacant));
        }
        assert!(!subscriber.tell(&Change::Vacant), "the next one is too many");
        drop(subscriber);
        for _ in 0..UNREAD {
            assert_eq!(changes.try_next(), Ok(Some(Change::Vacant)), "what was kept is kept");
        }
        assert_eq!(block_on(changes.next()), Err(Lagged));
        assert_eq!(block_on(changes.next()), Ok(None), "said once");
        assert_eq!(changes.try_next(), Ok(None));
    }

    #[test]
    fn who_asks_without_waiting_is_told_too() {
        let (subscriber, mut changes) = subscription();
        while subscriber.tell(&Change::Vacant) {}
        drop(subscriber);
        for _ in 0..UNREAD {
            assert_eq!(changes.try_next(), Ok(Some(Change::Vacant)));
        }
        assert_eq!(changes.try_next(), Err(Lagged));
        assert_eq!(changes.try_next(), Ok(None), "said once");
    }

    #[test]
    fn who_reads_in_time_is_never_cut_off() {
        let (subscriber, mut changes) = subscription();
        for _ in 0..3 * UNREAD {
            assert!(subscriber.tell(&Change::Vacant));
            assert_eq!(block_on(changes.next()), Ok(Some(Change::Vacant)));
        }
        drop(subscriber);
        assert_eq!(block_on(StreamExt::next(&mut changes)), None);
    }

    #[test]
    fn the_stream_ends_with_the_error() {
        let (subscriber, changes) = subscription();
        while subscriber.tell(&Change::Vacant) {}
        drop(subscriber);
        let told: Vec<_> = block_on(changes.collect());
        assert_eq!(told.len(), UNREAD + 1);
        assert_eq!(told.last(), Some(&Err(Lagged)));
    }
}

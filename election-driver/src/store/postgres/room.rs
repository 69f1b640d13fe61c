//! How the elector's connection and the listener's share the server's room for connections.
//!
//! The elector's connection comes first: without it there is no lease, while without the listener's
//! a handover only takes longer. The server holds one listener's session at a time. This process
//! cannot close one that the network has forgotten, so the elector's session ends it on the server
//! before another is opened. That also keeps a listener from trying while the elector itself gets no
//! answer. One that went mute between its login and its first answer has told no number by which to
//! end it: the server's keep-alives do.

use super::session::Backend;
use crate::store::progress::lock;
use event_listener::{Event as Signal, listener};
use sqlx::PgConnection;
use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};

/// Shared by the elector's connection and its listener's.
#[derive(Clone, Default)]
pub(super) struct Room(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Not even the elector gets a connection.
    scarce: AtomicBool,
    /// Abandoned listener connections that may still exist.
    given_up: Mutex<Vec<Arc<GivenUp>>>,
    changed: Signal,
}

/// A listener's connection that is no longer used; without a backend if it had not yet told its
/// number.
pub(super) struct GivenUp {
    backend: Option<Backend>,
    gone: AtomicBool,
}

impl Room {
    /// The elector was refused a connection, or has one again.
    pub(super) fn set_scarce(&self, scarce: bool) {
        if self.0.scarce.swap(scarce, Ordering::AcqRel) != scarce {
            self.0.changed.notify(usize::MAX);
        }
    }

    /// The elector is connected, perhaps to another host.
    pub(super) fn has_moved(&self) {
        self.0.changed.notify(usize::MAX);
    }

    /// A listener's connection is no longer used.
    pub(super) fn give_up(&self, backend: Option<Backend>) -> Arc<GivenUp> {
        let given_up = Arc::new(GivenUp { backend, gone: AtomicBool::new(false) });
        self.list().push(given_up.clone());
        given_up
    }

    /// Ends the abandoned connections, over the elector's connection. The future may be dropped;
    /// the next call ends those whose end was not seen.
    pub(super) async fn clear(&self, connection: &mut PgConnection) {
        loop {
            let Some(next) = self.list().first().cloned() else { return };
            if let Some(backend) = &next.backend {
                if backend.end(connection).await.is_err() {
                    return;
                }
            }
            next.gone.store(true, Ordering::Release);
            self.list().retain(|each| !Arc::ptr_eq(each, &next));
            self.0.changed.notify(usize::MAX);
        }
    }

    /// The elector lacks a connection.
    pub(super) async fn until_scarce(&self) {
        self.until(|| self.0.scarce.load(Ordering::Acquire)).await;
    }

    /// The elector has its connection, and has ended the previous listener over it.
    pub(super) async fn until_free(&self, before: Option<&GivenUp>) {
        let gone = || before.is_none_or(|before| before.gone.load(Ordering::Acquire));
        self.until(|| !self.0.scarce.load(Ordering::Acquire) && gone()).await;
    }

    /// Waits until this holds, once the elector has moved.
    pub(super) async fn until(&self, holds: impl Fn() -> bool) {
        loop {
            listener!(self.0.changed => changed);
            if holds() {
                return;
            }
            changed.await;
        }
    }

    fn list(&self) -> MutexGuard<'_, Vec<Arc<GivenUp>>> {
        lock(&self.0.given_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_lite::future::{block_on, poll_once};
    use std::pin::pin;

    /// Otherwise a listener would stay behind until it next tests its connection.
    #[test]
    fn whoever_waits_hears_of_a_move_at_once() {
        let (room, moved) = (Room::default(), AtomicBool::new(false));
        let mut waits = pin!(room.until(|| moved.load(Ordering::Acquire)));
        block_on(async {
            assert!(poll_once(waits.as_mut()).await.is_none());
            moved.store(true, Ordering::Release);
            assert!(poll_once(waits.as_mut()).await.is_none(), "it looks when it is told to");
            room.has_moved();
            assert!(poll_once(waits).await.is_some());
        });
    }
}

//! How an attempt to connect gets on, told by the client to the link that waits for it.

use super::timeouts::Stage;
use crate::now;
use election_core::Timestamp;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far an attempt has got, and when the server was last heard.
#[derive(Clone)]
pub struct Progress(Arc<Mutex<Reached>>);

#[derive(Clone, Copy)]
struct Reached {
    stage: Stage,
    heard: Timestamp,
    /// When this host was first asked.
    began: Timestamp,
}

impl Default for Progress {
    fn default() -> Self {
        let now = now();
        Self(Arc::new(Mutex::new(Reached { stage: Stage::Outside, heard: now, began: now })))
    }
}

impl Progress {
    pub(super) fn get(&self) -> (Stage, Timestamp) {
        let Reached { stage, heard, .. } = *lock(&self.0);
        (stage, heard)
    }

    /// When this host was first asked.
    pub(super) fn began(&self) -> Timestamp {
        lock(&self.0).began
    }

    /// Another host is asked, from the beginning.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn begins(&self) {
        let now = now();
        *lock(&self.0) = Reached { stage: Stage::Outside, heard: now, began: now };
    }

    /// Its session was closed in order: none is left.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn left(&self) {
        self.reached(Stage::Outside);
    }

    /// How far it has got.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(super) fn stage(&self) -> Stage {
        lock(&self.0).stage
    }

    /// The server has answered.
    pub(super) fn heard(&self) {
        lock(&self.0).heard = now();
    }

    /// The server has let the client in, or knows more of it.
    pub(super) fn reached(&self, stage: Stage) {
        let mut reached = lock(&self.0);
        (reached.stage, reached.heard) = (stage, now());
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A future that all who wait for something of it keep going.

use async_lock::Mutex;
use futures_lite::future::{or, pending};
use std::{future::Future, pin::Pin};

/// It never completes. Nobody polls it while nobody waits.
pub(super) struct Common(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Common {
    pub(super) fn new(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Mutex::new(Box::pin(future)))
    }

    /// Waits for what the future yields by some other way. One who waits polls the future at a time; when
    /// that one has what it waits for, or is dropped, another goes on.
    pub(super) async fn drive_until<T>(&self, mine: impl Future<Output = T>) -> T {
        or(mine, async {
            self.0.lock().await.as_mut().await;
            pending().await
        })
        .await
    }
}

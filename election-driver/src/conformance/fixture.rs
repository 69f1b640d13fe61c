//! What a check starts from.

use super::{tasks::patiently, watchdog::watched};
use crate::{Election, Handle, Runtime, Store};
use std::{future::Future, marker::PhantomData, time::Duration};

/// What a check starts from.
pub trait Fixture: Sized {
    /// The runtime that is checked.
    type Runtime: Runtime + Default;

    /// Starts whatever there is.
    fn start() -> impl Future<Output = Self>;
}

/// A check that makes its own place, on this runtime.
pub struct OnNothing<R>(PhantomData<fn() -> R>);

impl<R: Runtime + Default> Fixture for OnNothing<R> {
    type Runtime = R;

    async fn start() -> Self {
        Self(PhantomData)
    }
}

/// A database in which electors meet, with the tables in it.
pub trait Stores: Fixture + Send + Sync + 'static {
    /// What reaches it.
    type Store: Store;

    /// One more store on it.
    fn store(&self) -> Self::Store;

    /// An elector, not yet started.
    fn election(&self, node: &str, ttl: Duration) -> Election<Self::Runtime, Self::Store> {
        let builder = Election::builder("test").node(node).ttl(ttl);
        builder.store(self.store()).build().expect("a valid election")
    }

    /// A started elector.
    fn elector(&self, node: &str, ttl: Duration) -> Handle<Self::Runtime> {
        self.election(node, ttl).start()
    }
}

/// Runs a check to its end; one that hangs fails and says so, and one that blocks its thread for good
/// ends the process.
///
/// # Panics
/// If the check fails.
pub async fn run<X: Fixture, F: Future<Output = ()>>(check: impl FnOnce(X) -> F) {
    // Unoptimised, a check is too large for the stack of a test's thread.
    let check = Box::pin(async move { check(X::start().await).await });
    watched(patiently::<X::Runtime, _>(check)).await;
}

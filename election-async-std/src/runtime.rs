//! The async-std runtime for the driver.

use election_driver::{Runtime, core::Timestamp};
use std::{future::Future, pin::Pin, time::Duration};

/// The global async-std runtime.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsyncStd;

impl Runtime for AsyncStd {
    // async-std's sleep future has no public name.
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn now(&self) -> Timestamp {
        election_driver::now()
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        Box::pin(async_std::task::sleep(duration))
    }

    fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(async_std::task::spawn(future));
    }
}

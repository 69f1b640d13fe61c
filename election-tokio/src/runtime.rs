//! The tokio runtime for the driver.

use election_driver::{Runtime, core::Timestamp};
use std::{future::Future, time::Duration};

/// The tokio runtime that is current at each use.
///
/// Its time driver must be enabled (`#[tokio::main]` does that). Spawning outside a runtime
/// panics, as `tokio::spawn` does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokio;

impl Runtime for Tokio {
    type Sleep = tokio::time::Sleep;

    fn now(&self) -> Timestamp {
        election_driver::now()
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        tokio::time::sleep(duration)
    }

    fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(tokio::spawn(future));
    }
}

//! Files and electors of the suite, on tokio.

pub(crate) use election_driver::conformance::embedded::*;

use election_tokio::Tokio;
use std::{future::Future, time::Duration};

pub(crate) type Place = InFile<Tokio>;

/// Runs a test to its end; one that hangs fails and says so.
pub(crate) async fn patiently<F: Future>(test: F) -> F::Output {
    let minute = Duration::from_secs(60);
    tokio::time::timeout(minute, test).await.expect("what is waited for did not come in a minute")
}

//! What a check can start from.

use crate::on::{OnNothing, run};
use election_driver::conformance;
use election_tokio::Tokio;
use std::future::Future;

/// A directory with a database file in it.
pub(crate) type InFile = conformance::InFile<Tokio>;

/// A file with the tables in it.
pub(crate) fn in_file<F: Future<Output = ()>>(check: impl FnOnce(InFile) -> F) {
    run(check);
}

/// The check makes its files itself.
pub(crate) fn by_itself<F: Future<Output = ()>>(check: impl FnOnce(OnNothing) -> F) {
    run(check);
}

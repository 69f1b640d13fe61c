//! What a check can start from.

use crate::on::run;
use election_driver::conformance::{InFile, OnNothing};
use election_tokio::Tokio;
use std::future::Future;

/// A file with the tables in it.
pub(crate) fn in_file<F: Future<Output = ()>>(check: impl FnOnce(InFile<Tokio>) -> F) {
    run(check);
}

/// The check makes its files itself.
pub(crate) fn by_itself<F: Future<Output = ()>>(check: impl FnOnce(OnNothing<Tokio>) -> F) {
    run(check);
}

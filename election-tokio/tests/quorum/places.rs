//! What a check can start from.

use crate::on::run;
use election_driver::conformance::OnNothing;
use election_tokio::Tokio;
use std::future::Future;

/// The check makes its nodes itself.
pub(crate) fn by_itself<F: Future<Output = ()>>(check: impl FnOnce(OnNothing<Tokio>) -> F) {
    run(check);
}

//! What a check can start from.

use crate::on::{OnNothing, run};
use std::future::Future;

/// The check makes its nodes itself.
pub(crate) fn by_itself<F: Future<Output = ()>>(check: impl FnOnce(OnNothing) -> F) {
    run(check);
}

//! The databases that a check can concern.

use crate::{
    database::{OnMariaDb, OnPostgres, OnSqlite},
    on::{OnNothing, run},
};
use std::future::Future;

/// The check starts its servers itself.
pub(crate) fn by_itself<F: Future<Output = ()>>(check: impl FnOnce(OnNothing) -> F) {
    run(check);
}

pub(crate) fn sqlite<F: Future<Output = ()>>(check: impl FnOnce(OnSqlite) -> F) {
    run(check);
}

pub(crate) fn postgres<F: Future<Output = ()>>(check: impl FnOnce(OnPostgres) -> F) {
    run(check);
}

pub(crate) fn mariadb<F: Future<Output = ()>>(check: impl FnOnce(OnMariaDb) -> F) {
    run(check);
}

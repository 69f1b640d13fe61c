//! The lease: state machines around one row of a database that fails.

mod database;
mod failures;
mod happening;
mod side;
mod statement;
mod strike;
mod wire;

pub(crate) use database::BEGIN_MS;
pub(crate) use side::{Answered, Effect, LeaseSide};
pub(crate) use statement::Statement;

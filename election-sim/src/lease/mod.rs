//! The lease: state machines around one row of a database that fails, and around many.

mod client;
mod database;
mod environment;
mod failures;
mod faults;
mod happening;
mod history;
mod many;
mod register;
mod statement;
mod wire;

pub(crate) use database::BEGIN_MS;
pub(crate) use environment::{Answered, Effect, LeaseEnvironment};
pub(crate) use many::{Many, befalls_one};
pub(crate) use statement::Stand;
pub(crate) use statement::Statement;

//! The statements of a lease as data: their text for three dialects, their parameters, and what
//! their rows mean.
//!
//! Nothing here runs a statement. A driver over sqlx does, and so can anybody with rusqlite,
//! diesel or tokio-postgres:
//!
//! 1. build [`Statements`] once, for a [`Dialect`] and the [`Tables`] to use;
//! 2. for each [`Query`](crate::lease::Query), [`begin`](Statements::begin) an [`Exchange`];
//! 3. run the [`Call`] it asks for on one connection in autocommit mode, hand the [`Outcome`]
//!    back, and repeat until it yields an [`Answer`](crate::lease::Answer).
//!
//! What holds in every dialect:
//!
//! * Each call is one statement and atomic by itself. A won attempt, a renewal and a resignation
//!   take exactly one.
//! * Expiry is judged by the database's clock, read when the statement executes. No statement
//!   uses a clock that stands still during a transaction.
//! * The leader row is never deleted: the newest term stays in it, so that the next is higher.
//! * Every value is a bound parameter. Only the tables' names stand in the text: the prefix is
//!   checked, the schema quoted.
//! * Nothing depends on how the session is set up (isolation, time zone, search path, SQL mode),
//!   but for two settings of MySQL's: `autocommit`, without which nothing outside a transaction is
//!   ever committed, and `foreign_key_checks`, without which a session wins nothing and fences
//!   nothing. Set both before the first call.

mod common;
mod dialect;
mod exchange;
mod fence;
mod mysql;
mod postgres;
mod schema;
mod sqlite;
mod statements;
mod tables;
mod template;
mod value;

pub use dialect::{Dialect, UnknownDialect};
pub use exchange::{Exchange, Progress};
pub use fence::Fence;
pub use schema::{Migration, Schema};
pub use statements::{Call, CandidateRow, RowError, Statements};
pub use tables::{InvalidIdentifier, Tables};
pub use value::{Outcome, Value};

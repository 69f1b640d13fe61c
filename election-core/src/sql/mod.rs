//! The statements of a lease as data: their text for three dialects, their parameters, and the
//! meaning of their rows.
//!
//! Nothing here runs a statement. A driver over sqlx does, and users of rusqlite, diesel or
//! tokio-postgres can do so, too:
//!
//! 1. build [`Statements`] once, for a [`Dialect`] and the [`Tables`] to use;
//! 2. for each [`Query`](crate::lease::Query), [`begin`](Statements::begin) an [`Exchange`];
//! 3. run the [`Call`] it asks for on one connection in autocommit mode, pass the [`Outcome`] back,
//!    and repeat until it yields an [`Answer`](crate::lease::Answer);
//! 4. after [`Released`](crate::lease::Answer::Released), [`tell`](Statements::tell) those who listen,
//!    where the database can.
//!
//! What holds in every dialect:
//!
//! * Each call is one atomic statement. A won attempt, a renewal and a resignation take exactly one
//!   call. ([Merged](Statements::merge) renewals and resignations take one for all, attempts a few; on MySQL
//!   renewals and attempts are a transaction.)
//! * The database's clock decides about expiry, read when the statement executes. No statement uses
//!   a clock that stands still during a transaction.
//! * The leader row is never deleted: it keeps the newest epoch, so that the next one is higher.
//! * Every value is a bound parameter. Only the names of the tables are in the text: the prefix is
//!   checked, the schema quoted.
//! * Nothing depends on the session's settings (isolation, time zone, search path, SQL mode), with
//!   three exceptions on MySQL. Without `autocommit`, nothing outside a transaction is ever
//!   committed. Without `foreign_key_checks`, a session wins nothing and fences nothing. After `SET
//!   timestamp`, a session's clock stands still and judges no expiry. See to all three before the
//!   first call.
//!
//! What the caller has to see to:
//!
//! * Inside a transaction, a win is none before the commit, its lease counts from the statement, and
//!   its epoch is given again if it is rolled back. The row is locked until the end.
//! * What was answered has to survive a power failure. SQLite needs `PRAGMA synchronous = FULL`; the
//!   servers do it unless `synchronous_commit` or `innodb_flush_log_at_trx_commit` was changed.
//! * Waiting for a lock has to end well before
//!   [`attempt_timeout`](crate::lease::Config::attempt_timeout) (SQLite's `busy_timeout`), and is a
//!   [`Failure::Conflict`](crate::lease::Failure::Conflict) then.
//! * With `PRAGMA journal_mode = WAL`, readers of SQLite never wait for writers.

mod common;
mod dialect;
mod exchange;
mod fence;
mod many;
mod mysql;
mod postgres;
mod queue;
mod rows;
mod schema;
mod sqlite;
mod statements;
mod tables;
mod template;
mod value;

pub use dialect::{Dialect, UnknownDialect};
pub use exchange::{Exchange, Progress};
pub use fence::Fence;
pub use many::{Merged, Question};
pub use queue::{Asked, Concern, Queue};
pub use rows::{CandidateRow, ElectionRow, RowError};
pub use schema::{Migration, Schema};
pub use statements::{Call, Statements};
pub use tables::{InvalidIdentifier, Tables};
pub use value::{Outcome, Value};

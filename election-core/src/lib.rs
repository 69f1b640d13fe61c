//! Leader election as deterministic step functions.
//!
//! This crate decides; it does nothing else. It reads no clock, opens no socket, runs no
//! statement, spawns no task, allocates nothing per step. A caller hands it the time and what
//! happened, and gets back what changed, what to do, and when to come back
//! ([`Protocol::step`]). The same values run in production behind an adapter, in a simulator
//! under virtual time, in a model checker and under a fuzzer.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`lease`] | leadership decided by one row in a shared database; its head is the protocol |
//! | [`quorum`] | leadership decided by a majority of a fixed set of nodes |
//! | [`sql`] | the statements behind it as data, for SQLite, PostgreSQL and MySQL/MariaDB |
//! | [`drive`] | the loop that every runtime shares, and how to embed the core in another one |
//!
//! One feature, off by default: `model-checking` adds what tells a model checker that two states
//! behave alike (`rebase` and `rename` on [`lease::Lease`], `rebase` on [`quorum::Quorum`]). Nobody
//! needs it to run an election.
//!
//! The words both protocols speak ([`Timestamp`], [`Epoch`], [`Term`], [`Tenure`], [`Change`],
//! [`Input`], [`Step`]) stand at the root.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod alert;
mod change;
pub mod drive;
pub mod lease;
mod name;
mod protocol;
pub mod quorum;
mod random;
pub mod sql;
mod term;
mod time;
mod timers;

pub use alert::Alert;
pub use change::{Change, Loss};
pub use name::{Candidate, Incarnation, InvalidName, Label, Namespace, NodeId};
pub use protocol::{Input, Protocol, Step};
pub use random::Random;
pub use term::{Epoch, Tenure, Term};
pub use time::{Drift, Timestamp};

//! Leader election as deterministic step functions.
//!
//! This crate only decides. It reads no clock, opens no socket, runs no statement and spawns no
//! task. A caller passes in the time and an event, and gets back what
//! changed, what to do, and when to call again ([`Protocol::step`]). The same state machines run in
//! production behind an adapter, in a simulator under virtual time, in a model checker and under a
//! fuzzer.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`lease`] | leadership decided by one row in a shared database; its head states the protocol |
//! | [`quorum`] | leadership decided by a majority of a fixed set of nodes |
//! | [`sql`] | the statements of a lease as data, for SQLite, PostgreSQL and MySQL/MariaDB |
//! | [`register`] | the same as reads and conditional writes, for etcd and other stores without SQL |
//! | [`drive`] | the loop that every async runtime shares |
//! | [`embedding`] | for authors of drivers: how to drive the core from a runtime of one's own |
//! | [`sources`] | where the rules come from: River, kevy-elect and other sources |
//!
//! The feature `model-checking` is off by default. It lets a model checker find out that two states
//! behave alike (`rebase` and `rename` on [`lease::Lease`], `rebase` on [`quorum::Quorum`]). An
//! election runs without it.
//!
//! The types that both protocols share ([`Timestamp`], [`Epoch`], [`Term`], [`Tenure`], [`Change`],
//! [`Input`], [`Step`]) are at the root.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod alert;
mod change;
pub mod drive;
#[cfg(doc)]
pub mod embedding;
pub mod lease;
mod name;
mod protocol;
pub mod quorum;
mod random;
pub mod register;
#[cfg(doc)]
pub mod sources;
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

// Its `Uuid` is in public signatures: take it from here, and it is of the right version.
pub use uuid;

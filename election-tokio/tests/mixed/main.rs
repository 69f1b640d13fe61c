//! Electors on different runtimes that compete for one lease: in processes of their own, which are
//! killed while they lead, and in one process, beside a runtime that a user has written.
//!
//! ```text
//!   handovers ── starts, kills ──▶ role    this very binary as an elector on one of the runtimes,
//!       │                           │      which writes into the database while it leads
//!       └── checker ◀── journal ◀───┘
//!   together     all runtimes at once, and `threads`
//! ```

#[path = "../support/checker.rs"]
mod checker;
#[allow(clippy::unwrap_used, dead_code, unused_imports)] // These tests use a part of it.
#[path = "../databases/database/mod.rs"]
mod database;
mod handovers;
#[path = "../support/journal.rs"]
mod journal;
mod role;
#[path = "../support/runtimes.rs"]
mod runtimes;
mod threads;
mod together;

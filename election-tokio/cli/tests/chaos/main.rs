//! Chaos: electors of the command and of the library over every database, under every fault that a
//! test can inflict, and a checker that knows the README's guarantees and nothing of the code.
//!
//! ```text
//!   plan ─▶ play ─▶ round ─▶ fault ─▶ world    electors, their links, their database on a disk
//!             │                         │      of its own
//!             │                         └─▶ role    jobs and electors, this very binary: they
//!             │                                     write the journal while they lead
//!             └─▶ checker ◀── journal ─▶ report
//! ```
//!
//! Without options each database takes half a minute. By hand, for as long as it is useful:
//!
//! ```sh
//! CHAOS_MINUTES=30 CHAOS_SEED=7 cargo test -p election-cli --test chaos -- --nocapture
//! ```
//!
//! | variable | meaning |
//! | --- | --- |
//! | `CHAOS_MINUTES` | how long each database is tried; half a minute unless given |
//! | `CHAOS_SEED` | what happens, to whom, for how long and after what: a function of this number and of the list of faults. A run prints it |
//! | `CHAOS_FAULTS` | only these faults, by the names in the table of [`fault`], with commas between |
//!
//! A run prints its rounds and, at its end, a table: for every fault how often it was inflicted,
//! how many violations it may have caused, and how long after the end of a round some node was seen
//! to lead. A run needs root or user namespaces, for the disk.

mod actor;
mod checker;
mod database;
mod fault;
mod home;
mod journal;
mod plan;
mod play;
mod report;
mod role;
mod round;
mod world;

use database::Engine;
use std::sync::{Mutex, PoisonError};

/// One world at a time: together they would judge each other's load.
static ALONE: Mutex<()> = Mutex::new(());

fn chaos(test: &str, engine: Engine) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(home) = home::moved(test, engine) {
        play::play(engine, home);
    }
}

#[test]
fn sqlite() {
    chaos("sqlite", Engine::Sqlite);
}

#[test]
fn postgres() {
    chaos("postgres", Engine::Postgres);
}

#[test]
fn mariadb() {
    chaos("mariadb", Engine::MariaDb);
}

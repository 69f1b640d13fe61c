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
//! Each database has two worlds: in one, electors of every kind are rivals in one election; in the other,
//! three processes share many elections, each on one connection. Without options the first takes half a
//! minute, and the other some seconds. By hand, for as long as it is useful:
//!
//! ```sh
//! CHAOS_MINUTES=30 CHAOS_SEED=7 cargo test -p election-cli --test chaos -- --nocapture
//! CHAOS_MINUTES=5 CHAOS_ELECTIONS=1000 CHAOS_TTL_MS=5000 \
//!     cargo test --profile bench -p election-cli --test chaos -- --nocapture many_on
//! ```
//!
//! | variable | meaning |
//! | --- | --- |
//! | `CHAOS_MINUTES` | how long each world is tried; half a minute, or some seconds, unless given |
//! | `CHAOS_SEED` | what happens, to whom, for how long and after what: a function of this number and of the list of faults. A run prints it |
//! | `CHAOS_ELECTIONS` | how many elections the three processes share; 20 unless given |
//! | `CHAOS_TTL_MS` | how long a lease lasts; a second unless given, on etcd and Galera three |
//! | `CHAOS_FAULTS` | only these faults, by the names in the table of [`fault`], with commas between |
//!
//! A run prints its rounds and, at its end, a table: for every fault how often it was inflicted,
//! how many violations it may have caused, and how long after the end of a round some node was seen
//! to lead, in every election. A run needs root or user namespaces, for the disk.

mod actor;
mod cast;
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

use cast::Cast;
use database::Engine;
use std::sync::{Mutex, PoisonError};

/// One world at a time: together they would judge each other's load.
static ALONE: Mutex<()> = Mutex::new(());

fn chaos(test: &str, engine: Engine, cast: Cast) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(home) = home::moved(test, engine) {
        play::play(test, engine, cast, home);
    }
}

#[test]
fn sqlite() {
    chaos("sqlite", Engine::Sqlite, Cast::One);
}

#[test]
fn postgres() {
    chaos("postgres", Engine::Postgres, Cast::One);
}

#[test]
fn mariadb() {
    chaos("mariadb", Engine::MariaDb, Cast::One);
}

#[test]
fn etcd() {
    chaos("etcd", Engine::Etcd, Cast::One);
}

#[test]
fn galera() {
    chaos("galera", Engine::Galera, Cast::One);
}

#[test]
fn many_on_sqlite() {
    chaos("many_on_sqlite", Engine::Sqlite, Cast::Many);
}

#[test]
fn many_on_postgres() {
    chaos("many_on_postgres", Engine::Postgres, Cast::Many);
}

#[test]
fn many_on_mariadb() {
    chaos("many_on_mariadb", Engine::MariaDb, Cast::Many);
}

#[test]
fn many_on_etcd() {
    chaos("many_on_etcd", Engine::Etcd, Cast::Many);
}

#[test]
fn many_on_galera() {
    chaos("many_on_galera", Engine::Galera, Cast::Many);
}

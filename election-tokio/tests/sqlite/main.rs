//! Elections in SQLite files: what a service sees of them, what is counted, and the files themselves.
//! No server makes these checks slow. (What a runtime decides is in the conformance suite.)
//!
//! What cannot happen is asserted from instants of the one clock, [`now`](election_driver::now).
#![allow(clippy::unwrap_used)]

#[macro_use]
#[path = "../support/on.rs"]
mod on;

mod files;
mod locks;
mod metrics;
mod names;
mod operations;
mod places;
mod races;
mod recorder;
mod rounds;
mod sizes;

//! The lease on real SQLite files, through the public API: races, locks, bad files and disks, and
//! the guarantees of a handle.
//!
//! Tests wait for conditions, never for time to pass. What cannot happen is asserted from instants
//! of the one clock, `election_driver::now`.
#![allow(clippy::unwrap_used)]

mod support;

mod changes;
mod files;
mod handle;
mod listed;
mod locks;
mod mounts;
mod names;
mod operations;
mod paths;
mod races;
mod rounds;
mod schema;
mod terms;
mod work;

//! SQLite files as files: paths and links to them, mounts, what is no database, and the tables in
//! them. (What a service sees of an election on them, the conformance suite checks.)
//!
//! Tests wait for conditions, never for time to pass.
#![allow(clippy::unwrap_used)]

mod support;

mod files;
mod mounts;
mod paths;
mod schema;

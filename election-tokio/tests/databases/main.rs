//! What holds on every database, on real servers in real time: each test runs on SQLite, on
//! PostgreSQL and on MariaDB, or says why it concerns only some of them.
//!
//! Tests wait for conditions, never for time to pass.
#![allow(clippy::unwrap_used)]

mod counted;
mod observer;
mod stores;
mod support;

mod broken;
mod clocks;
mod faults;
mod fence;
mod lingering;
mod links;
mod listener;
mod locked;
mod notifications;
mod operations;
mod scenarios;
mod sessions;
mod tls;
mod transactions;
mod transport;

//! The quorum machine: every rule by a table of steps, and whole clusters on a bad network.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod cluster;
mod config;
mod hand;
mod properties;
mod rules;
mod storms;

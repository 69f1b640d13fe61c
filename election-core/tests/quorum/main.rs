//! The quorum machine: every rule by a table of steps.
//!
//! Arbitrary inputs are the fuzz target's (`quorum_step`), and whole clusters the simulator's.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod config;
mod hand;
mod net;
mod rules;

//! The bytes of the quorum: exact frames, however they are split, and everything that is not a
//! frame.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod addressee;
mod cluster;
mod golden;
mod outbox;
mod outbox_model;
mod outbox_properties;
mod properties;
mod refusals;
mod reuse;

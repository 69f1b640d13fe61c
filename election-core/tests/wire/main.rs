//! The bytes of the quorum: exact frames, however they are cut; and everything that is no frame.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod cluster;
mod golden;
mod hostile;
mod properties;
mod refusals;

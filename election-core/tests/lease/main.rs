//! The lease machine alone: every rule by a table of steps, and properties over arbitrary inputs.

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[cfg(feature = "model-checking")]
mod canonical;
mod config;
mod hand;
mod properties;
mod rules;

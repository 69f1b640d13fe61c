//! The promises of a handle and its guards, at the very instants at which they matter: in virtual
//! time, and asked by the waker itself at the moment of the wake-up.

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[path = "../../src/log/capture.rs"]
mod capture;
mod changes;
mod database;
mod logged;
mod overtaken;
mod told;
mod work;
mod world;

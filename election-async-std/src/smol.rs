//! The same names on smol, where the authors of async-std send its users.
//!
//! ```toml
//! election-async-std = { version = "0.1", default-features = false, features = ["smol", "sqlite"] }
//! ```
//!
//! smol's global executor has **one** thread, unless the environment says otherwise
//! (`SMOL_THREADS`). Leader work that blocks a thread of the executor keeps the elector from
//! renewing: [`is_leader`](election_driver::Handle::is_leader) turns to no in time, and the lease is
//! lost. Give such work to `smol::unblock`. To run an elector on an executor of your own, a
//! `LocalExecutor` for instance, spawn the future of
//! [`into_parts`](election_driver::Election::into_parts) there.

mod runtime;

pub use runtime::Smol;

election_driver::adapter!(Smol, "smol");

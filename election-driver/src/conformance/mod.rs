//! The suite that every runtime's adapter has to pass: what the runtime's timers, sockets, tasks and
//! cancellation decide, on real files and sockets in real time.
//!
//! An adapter names its runtime, and a function that runs a future to its end, in its own tests:
//!
//! ```text
//! election_driver::conformance!(MyRuntime, my_runtime::block_on);
//! ```
//!
//! makes one `#[test]` of each check. [`conformance_of_store`](crate::conformance_of_store) makes those
//! that hold on any store, for a database that implements [`Stores`]. Every check waits for conditions,
//! never for time to pass; a check that cannot succeed panics with what it saw, and one that blocks its
//! thread for good ends the process (so let each test have a process of its own, as cargo-nextest does).
//!
//! What does not depend on the runtime is tested elsewhere, once.

mod fixture;
mod in_memory;
mod ports;
mod suite;
mod watchdog;

pub use cluster::{CLUSTER, Place};
pub use fixture::{Fixture, OnNothing, Stores, run};
pub use in_memory::OnRegister;
pub use ports::free_port;
pub use sqlite::InFile;
pub use tasks::awaited;
pub use watchdog::PATIENCE;

#[cfg(feature = "tls")]
pub mod certificates;
#[doc(hidden)]
#[allow(clippy::unwrap_used)]
pub mod changes;
#[doc(hidden)]
pub mod cluster;
#[doc(hidden)]
#[allow(clippy::unwrap_used)]
pub mod handle;
#[doc(hidden)]
pub mod inside;
pub mod register;
#[doc(hidden)]
#[allow(clippy::unwrap_used)]
pub mod sqlite;
#[doc(hidden)]
pub mod stores;
#[doc(hidden)]
pub mod tasks;
#[doc(hidden)]
#[allow(clippy::unwrap_used)]
pub mod work;

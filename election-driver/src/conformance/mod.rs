//! The suite that every runtime's adapter has to pass, on real databases and sockets in real time.
//!
//! An adapter names its runtime, and a function that runs a future to its end, in its own tests:
//!
//! ```text
//! election_driver::conformance!(MyRuntime, my_runtime::block_on);
//! ```
//!
//! makes one `#[test]` of each check; a macro for each database, and one for the quorum, make a
//! part of them ([`conformance_on_sqlite`](crate::conformance_on_sqlite) and its neighbours). Servers
//! are throw-away ones of the checks' own. Every check waits for conditions, never for time to pass; a
//! check that cannot succeed panics with what it saw, and one that blocks its thread for good ends the
//! process (so let each test have a process of its own, as cargo-nextest does). Some block their thread for a while: tasks must
//! go on meanwhile on a thread of the runtime's own, except for the checks on SQLite and of the quorum.

mod lines;
mod service;
mod suite;
mod tasks;
mod watchdog;

pub use service::a_service_is_handed_over;
pub use tasks::awaited;

mod harness;
#[cfg(feature = "tls")]
pub use harness::certificates;
pub use harness::{
    CANDIDATE, CLUSTER, Galera, Kind, LEADER, LinkState, Plant, Pooler, Program, Proxy, Server,
    Session, Steered, clock, free_port, process, steered,
};

mod recorded;

#[doc(hidden)]
pub mod quorum;
pub use quorum::Place;
#[cfg(feature = "tls")]
#[doc(hidden)]
pub mod secured;

#[doc(hidden)]
// The traits of checks are for checks.
#[allow(async_fn_in_trait, clippy::unwrap_used)]
pub mod database;
#[doc(hidden)]
#[allow(clippy::unwrap_used)]
pub mod embedded;
#[doc(hidden)]
#[allow(clippy::unwrap_used)]
pub mod files;
#[doc(hidden)]
pub mod futures;
#[doc(hidden)]
#[allow(clippy::unwrap_used)]
pub mod lease;
#[cfg(feature = "metrics")]
#[doc(hidden)]
#[allow(clippy::unwrap_used)]
pub mod metrics;
#[cfg(all(feature = "mysql", feature = "postgres", feature = "tls"))]
#[doc(hidden)]
#[allow(clippy::unwrap_used)]
pub mod servers;

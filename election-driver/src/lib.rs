//! The I/O half of [`election_core`], independent of the runtime.
//!
//! Users take `election-tokio` or `election-async-std` (for smol, too), which re-export this crate with their
//! [`Runtime`] filled in. To use another runtime, implement that trait: a clock, a sleep and a
//! spawn.
//!
//! ```text
//!   Election ── build ──▶ Handle ◀── Shared ──▶ Driver (a plain future)
//!                          │  ▲                   ├─ drive(Lease)       decides
//!                  Lease ◀─┘  └─ Watch, Changes   ├─ the database loop   asks
//!                  (guard)                        └─ notifications       wake
//! ```
//!
//! Everything a user holds is a view of the state that the driver published last, judged by the
//! clock at the time of the call. If the driver dies, that state runs out by itself.
#![forbid(unsafe_code)]
// What only a quorum needs is left over where there is none.
#![cfg_attr(not(unix), allow(dead_code))]

#[cfg(all(feature = "sqlite", not(unix)))]
compile_error!(
    "this crate keeps SQLite's files safe by means that only Unix has: leave the feature `sqlite` out, \
     which `election-tokio` has by default"
);

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod adapter;
mod changes;
mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
mod driver;
mod election;
#[cfg(feature = "_sql")]
mod fence;
// Its examples name an adapter: `election-tokio` tests them.
#[cfg(not(doctest))]
pub mod guide;
mod handle;
mod inbox;
mod lease;
pub mod log;
pub mod metrics;
mod network;
mod observer;
mod outage;
// Its ballot rests on Unix: a lock, a rename and a flush within an open directory.
#[cfg(unix)]
mod quorum;
#[cfg(any(feature = "_sql", unix))]
mod rate;
mod runtime;
mod setup;
mod shared;
mod store;
mod timer;
mod watch;
mod work;

#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use changes::Queue;
pub use changes::{Changes, Lagged};
pub use clock::{Deadline, now};
pub use driver::Driver;
pub use election::{BuildError, Builder, Election, NoStore, default_node};
#[cfg(feature = "_sql")]
pub use fence::FenceError;
pub use handle::{Handle, NotElected, Stopped};
pub use lease::{Lease, Lost, NotLeader};
pub use network::Network;
#[doc(hidden)]
pub use observer::Observer;
#[cfg(all(feature = "cluster-file", unix))]
#[doc(hidden)]
pub use quorum::file;
#[cfg(all(feature = "cluster-file", unix))]
pub use quorum::file::ClusterFileError;
#[cfg(all(feature = "tls", unix))]
pub use quorum::tls;
#[cfg(unix)]
pub use quorum::{
    ChangeError, Cluster, ClusterBuilder, ClusterError, HandOverError, Member, Node, PauseError,
    PeerReport, Primary, StartError, Starting, UnknownLeader,
};
#[cfg(unix)]
#[doc(hidden)]
pub use quorum::{MemberObserver, Saved};
pub use runtime::Runtime;
pub use shared::{Leader, Status};
#[cfg(feature = "mysql")]
pub use store::MySqlStore;
#[cfg(feature = "postgres")]
pub use store::PgStore;
#[cfg(feature = "sqlite")]
pub use store::SqliteStore;
pub use store::{
    Clock, InMemoryRegister, Notice, Notifications, Pause, Register, RegisterStore, Store,
    StoreError, StoreErrorCode,
};
#[cfg(all(feature = "etcd", unix))]
pub use store::{EtcdFence, EtcdRegister, EtcdVersion};
#[cfg(feature = "_sql")]
pub use store::{Fenced, OnConnection, SharedStatus, SharedStore, SqlStore, Uncommitted};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use store::{Protection, Route, Transport};
pub use watch::Watch;
pub use work::WorkError;

pub use election_core as core;

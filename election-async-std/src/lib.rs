#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod runtime;

pub use runtime::AsyncStd;

#[cfg(feature = "mysql")]
pub use election_driver::MySqlStore;
#[cfg(feature = "postgres")]
pub use election_driver::PgStore;
#[cfg(feature = "sqlite")]
pub use election_driver::SqliteStore;
#[cfg(feature = "tls")]
pub use election_driver::tls;
pub use election_driver::{
    BuildError, Changes, ClusterError, Deadline, Driver, HandOverError, Lagged, Leader, Lost,
    Network, NoStore, Node, NotLeader, Notice, Notifications, Pause, PauseError, PeerReport,
    Primary, Runtime, StartError, Starting, Status, Stopped, Store, StoreError, WorkError, core,
    default_node, log, metrics, now,
};
#[cfg(feature = "sql")]
pub use election_driver::{FenceError, Fenced, OnConnection, SqlStore, Uncommitted};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use election_driver::{Protection, Route, Transport};

/// An election on async-std; [`builder`](election_driver::Election::builder)
/// begins one.
pub type Election<S = NoStore> = election_driver::Election<AsyncStd, S>;
/// Collects what an [`Election`] needs.
pub type Builder<S> = election_driver::Builder<AsyncStd, S>;
/// A node of a cluster that elects its primary by votes;
/// [`builder`](election_driver::Cluster::builder) begins one.
pub type Cluster = election_driver::Cluster<AsyncStd>;
/// Collects what a [`Cluster`] needs.
pub type ClusterBuilder = election_driver::ClusterBuilder<AsyncStd>;
/// A running node of a cluster.
pub type Member = election_driver::Member<AsyncStd>;
/// A handle to a running elector.
pub type Handle = election_driver::Handle<AsyncStd>;
/// A guard for one leadership of this process.
pub type Lease = election_driver::Lease<AsyncStd>;
/// Sees the latest state of an election.
pub type Watch = election_driver::Watch<AsyncStd>;

//! The names of an adapter: written once, so that the same service runs on every runtime and
//! differs in one `use`.

/// Re-exports this crate's public names, with a runtime filled in where one is needed. An adapter
/// calls it in its root, or in the module of one of its runtimes; its features `sqlite`,
/// `postgres`, `mysql` and `tls` decide what is there.
#[macro_export]
macro_rules! adapter {
    ($runtime:ty, $name:literal) => {
        #[cfg(feature = "mysql")]
        pub use $crate::MySqlStore;
        #[cfg(feature = "postgres")]
        pub use $crate::PgStore;
        #[cfg(feature = "sqlite")]
        pub use $crate::SqliteStore;
        #[cfg(feature = "tls")]
        pub use $crate::tls;
        pub use $crate::{
            BuildError, Changes, ClusterError, Deadline, Driver, HandOverError, Lagged, Leader,
            Lost, Network, NoStore, Node, NotLeader, Notice, Notifications, Pause, PauseError,
            PeerReport, Primary, Runtime, StartError, Starting, Status, Stopped, Store, StoreError,
            WorkError, core, default_node, log, metrics, now,
        };
        #[cfg(feature = "sql")]
        pub use $crate::{FenceError, Fenced, OnConnection, SqlStore, Uncommitted};
        #[cfg(any(feature = "postgres", feature = "mysql"))]
        pub use $crate::{Protection, Route, Transport};

        #[doc = concat!("An election on ", $name, "; [`builder`](election_driver::Election::builder)")]
        /// begins one.
        pub type Election<S = $crate::NoStore> = $crate::Election<$runtime, S>;
        /// Collects what an [`Election`] needs.
        pub type Builder<S> = $crate::Builder<$runtime, S>;
        /// A node of a cluster that elects its primary by votes;
        /// [`builder`](election_driver::Cluster::builder) begins one.
        pub type Cluster = $crate::Cluster<$runtime>;
        /// Collects what a [`Cluster`] needs.
        pub type ClusterBuilder = $crate::ClusterBuilder<$runtime>;
        /// A running node of a cluster.
        pub type Member = $crate::Member<$runtime>;
        /// A handle to a running elector.
        pub type Handle = $crate::Handle<$runtime>;
        /// A guard for one leadership of this process.
        pub type Lease = $crate::Lease<$runtime>;
        /// Sees the latest state of an election.
        pub type Watch = $crate::Watch<$runtime>;
    };
}

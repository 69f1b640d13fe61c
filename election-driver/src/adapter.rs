//! The names of an adapter: written once, so that the same service runs on every runtime and
//! differs in one `use`.

/// Re-exports this crate's public names, with a runtime filled in where one is needed. An adapter
/// calls it in its root, or in the module of one of its runtimes; its features `sqlite`,
/// `postgres`, `mysql`, `etcd`, `tls` and `cluster-file` decide what is there.
#[macro_export]
macro_rules! adapter {
    ($runtime:ty, $name:literal) => {
        #[cfg(all(feature = "cluster-file", unix))]
        pub use $crate::ClusterFileError;
        #[cfg(feature = "mysql")]
        pub use $crate::MySqlStore;
        #[cfg(feature = "postgres")]
        pub use $crate::PgStore;
        #[cfg(feature = "sqlite")]
        pub use $crate::SqliteStore;
        #[cfg(all(feature = "tls", unix))]
        pub use $crate::tls;
        pub use $crate::{
            BuildError, Changes, Clock, Deadline, Driver, InMemoryRegister, Lagged, Leader, Lost,
            Network, NoStore, NotElected, NotLeader, Notice, Notifications, Pause, Register,
            RegisterStore, Runtime, Status, Stopped, Store, StoreError, StoreErrorCode, WorkError,
            core, default_node, guide, log, metrics, now,
        };
        #[cfg(unix)]
        pub use $crate::{
            ChangeError, ClusterError, HandOverError, Node, PauseError, PeerReport, Primary,
            StartError, Starting, UnknownLeader,
        };
        #[cfg(all(feature = "etcd", unix))]
        pub use $crate::{EtcdFence, EtcdVersion};
        #[cfg(feature = "sql")]
        pub use $crate::{
            FenceError, Fenced, OnConnection, SharedStatus, SharedStore, SqlStore, Uncommitted,
        };
        #[cfg(any(feature = "postgres", feature = "mysql"))]
        pub use $crate::{Protection, Route, Transport};

        #[doc = concat!("An election on ", $name, ", decided by a row in a database.")]
        ///
        /// [`Election::builder`](election_driver::Election::builder) begins one. It gets a
        /// [`store`](election_driver::Builder::store), is checked by
        /// [`build`](election_driver::Builder::build) and runs from
        /// [`start`](election_driver::Election::start) on, in a task of its own that needs the
        /// runtime's timer. Or
        /// [`run_while_leader`](election_driver::Election::run_while_leader) does all of it:
        ///
        /// ```no_run
        #[doc = concat!("use ", module_path!(), "::{Election, Lease, Store};")]
        /// use std::error::Error;
        ///
        /// async fn serve(store: impl Store) -> Result<(), Box<dyn Error>> {
        ///     let election = Election::builder("reports").store(store).build()?;
        ///     Ok(election.run_while_leader(report).await?)
        /// }
        ///
        /// async fn report(lease: Lease) -> Result<(), std::io::Error> {
        ///     println!("leading under epoch {}", lease.epoch());
        ///     Ok(()) // done: this process resigns, and `serve` returns
        /// }
        /// ```
        ///
        /// Everything it can do is at [`election_driver::Election`].
        pub type Election<S = $crate::NoStore> = $crate::Election<$runtime, S>;
        #[doc = concat!("Collects what an [`Election`] on ", $name, " needs: a name and a store.")]
        ///
        /// The ttl (15 s) says how soon a crashed leader is replaced; every other span follows from
        /// it. [`guide::timing`](election_driver::guide::timing) says what each of them costs.
        ///
        /// ```
        #[doc = concat!("use ", module_path!(), "::{BuildError, Election, Store};")]
        /// use std::time::Duration;
        ///
        /// fn reports(store: impl Store) -> Result<Election<impl Store>, BuildError> {
        ///     Election::builder("reports")
        ///         .label("10.0.0.7:8080") // where to find the leader
        ///         .ttl(Duration::from_secs(30))
        ///         .store(store)
        ///         .build()
        /// }
        /// ```
        ///
        /// All settings are at [`election_driver::Builder`].
        pub type Builder<S> = $crate::Builder<$runtime, S>;
        #[doc = concat!("A node of a cluster on ", $name, ", which elects its primary by votes.")]
        ///
        /// [`Cluster::builder`](election_driver::Cluster::builder) begins one. It gets the list of
        /// members, and [`start`](election_driver::Cluster::start) opens its ballot and its port; it
        /// needs the runtime's timer and its network. (With the feature `cluster-file`,
        /// `Cluster::from_file` takes the list from a TOML file.) What runs is a [`Member`]:
        ///
        /// ```no_run
        #[doc = concat!("use ", module_path!(), "::{Cluster, Member};")]
        /// use std::error::Error;
        ///
        /// async fn join(me: &str) -> Result<Member, Box<dyn Error>> {
        ///     let cluster = Cluster::builder("orders")
        ///         .member("n1", "127.0.0.1:7401")
        ///         .member("n2", "127.0.0.1:7402")
        ///         .member("n3", "127.0.0.1:7403")
        ///         .node(me)
        ///         .ballot(format!("/var/lib/orders/{me}.ballot"))
        ///         .without_data();
        ///     Ok(cluster.build()?.start().await?)
        /// }
        /// ```
        ///
        /// What it is and what it is not is at [`election_driver::Cluster`].
        #[cfg(unix)]
        pub type Cluster = $crate::Cluster<$runtime>;
        /// Collects what a [`Cluster`] needs: the members, which of them this node is, where its
        /// ballot lies, and how far its data have come.
        ///
        /// All members get the same list, the same name and the same `down_after`; members that
        /// differ do not vote. All settings are at [`election_driver::ClusterBuilder`].
        #[cfg(unix)]
        pub type ClusterBuilder = $crate::ClusterBuilder<$runtime>;
        #[doc = concat!("A register in etcd, on ", $name, "'s sockets.")]
        ///
        /// [`connect`](election_driver::EtcdRegister::connect) takes its URL, and a [`RegisterStore`]
        /// around it is a store of elections:
        ///
        /// ```no_run
        #[doc = concat!("use ", module_path!(), "::{Election, EtcdRegister, RegisterStore};")]
        /// use std::error::Error;
        ///
        /// fn reports() -> Result<(), Box<dyn Error>> {
        ///     let register = EtcdRegister::connect("etcd://n1,n2,n3/elections")?;
        ///     let store = RegisterStore::new(register);
        ///     let reports = Election::builder("reports").store(store).build()?.start();
        ///     println!("{}", reports.is_leader());
        ///     Ok(())
        /// }
        /// ```
        #[cfg(all(feature = "etcd", unix))]
        pub type EtcdRegister = $crate::EtcdRegister<$runtime>;
        /// A running node of a cluster. Its [`handle`](election_driver::Member::handle) is what
        /// leader work needs; it also reports positions, hands leadership over, pauses failover, and
        /// says what it knows of the others.
        ///
        /// Cheap to clone. Once the last clone and the last [`Handle`] are dropped it leaves in the
        /// background. All calls are at [`election_driver::Member`].
        #[cfg(unix)]
        pub type Member = $crate::Member<$runtime>;
        /// A handle to a running elector: asks whether this process leads, waits until it does, runs
        /// work while it does, and leaves.
        ///
        /// Cheap to clone, and the same for a lease and a quorum. Dropping the last one leaves the
        /// election in the background; [`shutdown`](election_driver::Handle::shutdown) waits for it.
        ///
        /// ```
        #[doc = concat!("use ", module_path!(), "::{Handle, NotLeader};")]
        ///
        /// fn refresh(leader: &Handle) -> Result<(), NotLeader> {
        ///     let lease = leader.require()?; // or an error that says who leads instead
        ///     println!("refreshing under epoch {}", lease.epoch());
        ///     Ok(()) // the guard is dropped only now, after the work
        /// }
        /// ```
        ///
        /// All calls are at [`election_driver::Handle`].
        pub type Handle = $crate::Handle<$runtime>;
        /// A guard for one leadership of this process: hold it while leader work runs.
        ///
        /// It says when leadership ends, carries the fencing token
        /// ([`epoch`](election_driver::Lease::epoch)), and keeps leadership from being released
        /// while work may still run. Cheap to clone.
        ///
        /// ```
        #[doc = concat!("use ", module_path!(), "::{Lease, Lost};")]
        ///
        /// fn print(pages: &[&str], lease: &Lease) -> Result<(), Lost> {
        ///     for page in pages {
        ///         lease.check()?; // before every act
        ///         println!("{page}, under epoch {}", lease.epoch());
        ///     }
        ///     Ok(())
        /// }
        /// ```
        ///
        /// All calls are at [`election_driver::Lease`].
        pub type Lease = $crate::Lease<$runtime>;
        /// Sees the latest state of an election, for readers who do not need the changes in between.
        ///
        /// Its first answer comes at once, the next with the next change. It is no [`Handle`]: it
        /// does not keep this process in the election.
        ///
        /// ```
        #[doc = concat!("use ", module_path!(), "::Handle;")]
        ///
        /// async fn follow(leader: &Handle) {
        ///     let mut watch = leader.watch();
        ///     loop {
        ///         let status = watch.changed().await;
        ///         if status.closed {
        ///             return; // the elector has ended
        ///         }
        ///         match status.leader {
        ///             Some(leader) => println!("{} leads", leader.term),
        ///             None => println!("nobody is known to lead"),
        ///         }
        ///     }
        /// }
        /// ```
        ///
        /// All calls are at [`election_driver::Watch`].
        pub type Watch = $crate::Watch<$runtime>;
    };
}

//! The entry point: from a name and a store to a running elector.

use crate::{
    Driver, Handle, Lease, Runtime, Store, WorkError, inbox::Inbox, log, observer::orders,
    setup::Setup, shared::Shared,
};
use election_core::{
    Candidate, Drift, Epoch, Incarnation, InvalidName, Label, Namespace, NodeId,
    lease::{Config, ConfigBuilder, ConfigError, Registration, Role, Warning},
};
use std::{fmt, sync::Arc, time::Duration};
use thiserror::Error;
use uuid::Uuid;

/// An election that this process can take part in: validated, not yet started.
///
/// `R` is the runtime; the adapters fill it in. Started, it is a [`Handle`] and a task that asks the
/// database.
///
/// ```no_run
/// # use election_driver::{BuildError, Election, Runtime, Store};
/// # async fn example<R: Runtime + Default>(store: impl Store) -> Result<(), BuildError> {
/// let election = Election::<R>::builder("reports").store(store).build()?;
/// for warning in election.warnings() {
///     eprintln!("{warning}"); // it works, but perhaps not as expected
/// }
/// let leader = election.start();
/// if let Ok(lease) = leader.elected().await {
///     println!("leading under epoch {}", lease.epoch());
/// }
/// leader.shutdown().await;
/// # Ok(())
/// # }
/// ```
pub struct Election<R, S = NoStore> {
    runtime: R,
    store: S,
    config: Config,
    registration: Registration,
}

/// The placeholder for a store that has not been given yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStore;

/// Collects what an [`Election`] needs: a name and a store. All else has a default.
///
/// ```no_run
/// # use election_driver::{BuildError, Election, Runtime, Store};
/// # use std::time::Duration;
/// # fn example<R: Runtime + Default>(store: impl Store) -> Result<(), BuildError> {
/// let election = Election::<R>::builder("reports")
///     .node("host-7") // else host name and process id
///     .label("10.0.0.7:8080") // where to find the leader
///     .ttl(Duration::from_secs(30))
///     .grace(Duration::from_secs(8)) // the work needs that long to stop
///     .config(|config| config.interval(Duration::from_secs(6)))
///     .store(store)
///     .build()?;
/// assert_eq!(election.config().interval(), Duration::from_secs(6));
/// # Ok(())
/// # }
/// ```
///
/// [`guide::timing`](crate::guide::timing) says what each span buys, and what it costs.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `build`"]
pub struct Builder<R, S> {
    runtime: R,
    store: S,
    name: String,
    node: Option<String>,
    label: Option<String>,
    config: ConfigBuilder,
}

/// Why an election cannot be built.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The timing does not add up.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A name cannot be used.
    #[error("{what}: {why}")]
    Name {
        /// Which name.
        what: &'static str,
        /// What is wrong with it.
        why: InvalidName,
    },
}

crate::log::shown!(BuildError);

impl<R: Runtime + Default> Election<R, NoStore> {
    /// Begins an election of this name. Every process that uses the same name on the same database
    /// takes part in it. There is no default: for the default election write `default`.
    pub fn builder(name: impl Into<String>) -> Builder<R, NoStore> {
        Self::builder_on(R::default(), name)
    }
}

#[cfg(feature = "_sql")]
impl<R: Runtime + Default> Election<R, NoStore> {
    /// One store for many elections of this process: each takes a clone, and all of them use one
    /// connection. Begins two tasks on the runtime, which end with the last clone.
    ///
    /// # Panics
    /// If called outside the runtime's context, where the runtime requires one (tokio).
    ///
    /// ```no_run
    /// # use election_driver::{Election, Runtime, SqlStore};
    /// # #[cfg(feature = "sqlite")]
    /// # fn example<R: Runtime + Default>() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Election::<R>::share(election_driver::SqliteStore::open("app.db")?);
    /// let mut tenants = Vec::new();
    /// for tenant in ["acme", "globex", "initech"] {
    ///     let election = Election::<R>::builder(tenant).store(store.clone()).build()?;
    ///     tenants.push(election.start());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn share<C: crate::store::Client>(store: crate::SqlStore<C>) -> crate::SharedStore {
        crate::SharedStore::start(&R::default(), store)
    }
}

impl<R: Runtime> Election<R, NoStore> {
    /// Like [`builder`](Self::builder), on the given runtime.
    pub fn builder_on(runtime: R, name: impl Into<String>) -> Builder<R, NoStore> {
        Builder {
            runtime,
            store: NoStore,
            name: name.into(),
            node: None,
            label: None,
            config: Config::builder(),
        }
    }
}

impl<R: Runtime, S> Builder<R, S> {
    /// Where the leader row lives.
    pub fn store<T: Store>(self, store: T) -> Builder<R, T> {
        let Self { runtime, store: _, name, node, label, config } = self;
        Builder { runtime, store, name, node, label, config }
    }

    /// The name of this process; host name and process id unless set. Two processes of the same
    /// name are still two candidates.
    #[doc(alias("candidate_id", "identity", "leader_id"))]
    pub fn node(mut self, id: impl Into<String>) -> Self {
        self.node = Some(id.into());
        self
    }

    /// What this process publishes about itself while it leads, usually its address.
    #[doc(alias("address", "announce"))]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The length of the lease; 15 s unless set. A crashed leader is replaced when its lease has
    /// run out. It should be thirty round trips to the database or more: with twenty no lease was
    /// lost in tests, with fifteen none was had.
    #[doc(alias("LeaseDuration", "lockAtMostFor"))]
    pub fn ttl(self, ttl: Duration) -> Self {
        self.config(|config| config.ttl(ttl))
    }

    /// How long leader work has to stop by itself; a sixth of the ttl unless set.
    pub fn grace(self, grace: Duration) -> Self {
        self.config(|config| config.grace(grace))
    }

    /// The bound on this machine's clock rate relative to the database's; 9 % unless set.
    pub fn drift(self, drift: Drift) -> Self {
        self.config(|config| config.drift(drift))
    }

    /// How long the lease lasts at least, by the database's clock and counted from the election,
    /// even if leader work ends at once or this process crashes; at most 24 hours, and not at all
    /// unless set.
    ///
    /// For work that a timer starts on many machines and that must run on one of them only: see
    /// [`ConfigBuilder::at_least_for`].
    #[doc(alias = "lockAtLeastFor")]
    pub fn at_least_for(self, span: Duration) -> Self {
        self.config(|config| config.at_least_for(span))
    }

    /// How far the database's clock may step forward while a lease runs, without two leaders; at most
    /// a year, and not at all unless set.
    ///
    /// For a database whose clock somebody may set, whose machine may be suspended, or whose servers'
    /// clocks differ: see [`ConfigBuilder::clock_step`].
    pub fn clock_step(self, step: Duration) -> Self {
        self.config(|config| config.clock_step(step))
    }

    /// This process wins no term with an epoch below this; no bound unless set.
    ///
    /// Epochs grow by themselves. Set this only if the database has lost epochs that no surviving
    /// process has seen, and set it in every process that may win.
    pub fn min_epoch(self, epoch: Epoch) -> Self {
        self.config(|config| config.min_epoch(epoch))
    }

    /// Follow only, never lead.
    pub fn observer(self) -> Self {
        self.config(|config| config.role(Role::Observer))
    }

    /// Any other timing settings.
    pub fn config(mut self, set: impl FnOnce(ConfigBuilder) -> ConfigBuilder) -> Self {
        self.config = set(self.config);
        self
    }
}

impl<R: Runtime, S: Store> Builder<R, S> {
    /// Checks everything. Nothing is connected yet.
    ///
    /// # Errors
    /// If the timing does not add up or a name cannot be used.
    pub fn build(self) -> Result<Election<R, S>, BuildError> {
        let named = |what| move |why| BuildError::Name { what, why };
        let config = self.config.build()?;
        let namespace = Namespace::new(&self.name).map_err(named("name of the election"))?;
        let node = self.node.unwrap_or_else(default_node);
        let id = NodeId::new(&node).map_err(named("node"))?;
        let registration = Registration {
            namespace,
            candidate: match self.runtime.observer() {
                Some(observer) => observer.candidate(),
                None => Candidate { id, incarnation: Incarnation::new(Uuid::new_v4()) },
            },
            label: match self.label {
                Some(label) => Some(Label::new(&label).map_err(named("label"))?),
                None => None,
            },
        };
        log::span(&registration).in_scope(|| {
            for warning in config.warnings() {
                tracing::warn!(event = "warning", "{warning}");
            }
        });
        Ok(Election { runtime: self.runtime, store: self.store, config, registration })
    }
}

impl<R: Runtime, S: Store> Election<R, S> {
    /// Settings that work, but perhaps not as expected.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> + use<R, S> {
        self.config.warnings()
    }

    /// The timing.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Starts the elector in a task of its own.
    pub fn start(self) -> Handle<R> {
        let runtime = self.runtime.clone();
        let (handle, driver) = self.into_parts();
        runtime.spawn(driver);
        handle
    }

    /// The handle, and the elector as a future for the caller's own executor.
    pub fn into_parts(self) -> (Handle<R>, Driver) {
        let (inbox, inputs) = Inbox::new();
        let Self { runtime, store, config, registration } = self;
        let statements = store.statements();
        let (ttl, grace, timer_slice) = (config.ttl(), config.grace(), config.timer_slice());
        let observer = runtime.observer();
        let named_metrics = store.names_metrics();
        let setup = Setup {
            runtime,
            registration,
            ttl,
            grace,
            timer_slice,
            statements,
            inbox,
            named_metrics,
        };
        let shared = Arc::new(Shared::new(Arc::new(setup)));
        if let Some(observer) = observer {
            observer.starts(&config, orders(&shared.setup));
        }
        let driver = Driver::new(config, store, shared.clone(), inputs);
        (Handle::new(shared), driver)
    }

    /// Starts the elector and runs `work` whenever this process leads, until the work is done; then
    /// leaves the election. [`Handle::run_while_leader`] says how work is run and stopped.
    ///
    /// # Errors
    /// If work fails while leading, the elector ends by itself, or the store
    /// [cannot be used](crate::NotElected::Unusable).
    pub async fn run_while_leader<F, E>(self, work: F) -> Result<(), WorkError<E>>
    where
        F: AsyncFn(Lease<R>) -> Result<(), E>,
        E: fmt::Display + fmt::Debug,
    {
        let handle = self.start();
        let outcome = handle.run_while_leader(work).await;
        handle.shutdown().await;
        outcome
    }
}

/// The name of a process that was given none: host name and process id. It is readable, and unique
/// among live processes of a host.
#[must_use]
pub fn default_node() -> String {
    #[cfg(unix)]
    let host = rustix::system::uname();
    #[cfg(unix)]
    let host = host.nodename().to_string_lossy();
    #[cfg(not(unix))]
    let host = std::env::var("COMPUTERNAME").unwrap_or_default();
    let host: String = host.chars().take(64).collect();
    format!("{}-{}", if host.is_empty() { "node" } else { &host }, std::process::id())
}

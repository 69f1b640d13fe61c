//! One run, as data.
//!
//! Seeds, text files, fuzz input and shrinking all *produce* a [`Schedule`]; the world only plays
//! it. Two equal schedules are the same run, to the nanosecond.

use crate::{
    cluster::Cluster,
    fault::{Contract, DiskFault, Fault, FaultKind},
};
use election_core::{
    Drift, NodeId,
    lease::{Config, Role},
    quorum,
};
use std::{collections::BTreeSet, time::Duration};

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Decides every draw that nothing below fixes.
    pub seed: u64,
    /// What the nodes have in place of a database, if they elect by quorum. Engine, commits, lock
    /// timeouts and the timing of the lease mean nothing then; its drift bound does.
    pub cluster: Option<Cluster>,
    /// How the database behaves where the engines differ.
    pub engine: Engine,
    /// The timing that all nodes share.
    pub timing: Timing,
    /// The nodes.
    pub nodes: Vec<Member>,
    /// How long a statement, an answer or a notification travels.
    pub latency: DurationRange,
    /// How long a write holds the row's lock before it is committed.
    pub commit: DurationRange,
    /// How long leader work takes to stop when told to (ended by force at the hard stop).
    pub stop: DurationRange,
    /// How long a write takes from the decision of a leader to the resource: the time in which a
    /// process can be stopped between "do I lead?" and the act.
    pub act: DurationRange,
    /// How long the database lets a statement wait for a lock; `None` for ever.
    pub lock_timeout: Option<Duration>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// The end of trouble, and what is demanded then.
    pub heal: Option<Heal>,
    /// When the run ends.
    pub horizon: Duration,
}

/// The database engines, as far as they behave differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The loser of a race is told the row as it was before the race; notifications.
    Postgres,
    /// The loser reads the row in a second statement; a fence blocks nobody but take-overs.
    MySql,
    /// Every write takes the one write lock; a fence blocks every write.
    Sqlite,
}

/// A span from which one value is drawn per use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationRange {
    /// The least.
    pub low: Duration,
    /// The most.
    pub high: Duration,
}

impl DurationRange {
    /// Always the same.
    #[must_use]
    pub const fn exactly(span: Duration) -> Self {
        Self { low: span, high: span }
    }

    /// From `low` to `high` milliseconds.
    #[must_use]
    pub const fn millis(low: u64, high: u64) -> Self {
        Self { low: Duration::from_millis(low), high: Duration::from_millis(high) }
    }
}

/// The settings of [`Config`]; what is `None` is derived from the ttl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// See [`Config::ttl`].
    pub ttl: Duration,
    /// See [`Config::interval`].
    pub interval: Option<Duration>,
    /// See [`Config::jitter`].
    pub jitter: Option<Duration>,
    /// See [`Config::wake_jitter`].
    pub wake_jitter: Option<Duration>,
    /// See [`Config::attempt_timeout`].
    pub attempt_timeout: Option<Duration>,
    /// See [`Config::grace`].
    pub grace: Option<Duration>,
    /// See [`Config::margin`].
    pub margin: Option<Duration>,
    /// See [`Config::drift`], in parts per million.
    pub drift_ppm: u32,
}

impl Timing {
    /// Everything derived from this ttl.
    #[must_use]
    pub const fn of(ttl: Duration) -> Self {
        Self {
            ttl,
            interval: None,
            jitter: None,
            wake_jitter: None,
            attempt_timeout: None,
            grace: None,
            margin: None,
            drift_ppm: Config::DEFAULT_DRIFT.ppm(),
        }
    }

    /// What a quorum needs of it: a length to measure the run in, and its own bound on the clocks.
    #[must_use]
    pub fn of_quorum(down_after: Duration) -> Self {
        let ttl = down_after.saturating_mul(3);
        Self { drift_ppm: quorum::Config::DEFAULT_DRIFT.ppm(), ..Self::of(ttl) }
    }

    /// The configuration of a node in this role.
    ///
    /// # Errors
    /// If the settings do not add up, with the core's own reason.
    pub fn config(&self, role: Role) -> Result<Config, ScheduleError> {
        let drift = Drift::from_ppm(self.drift_ppm).ok_or(ScheduleError::Drift(self.drift_ppm))?;
        let mut builder = Config::builder().ttl(self.ttl).drift(drift).role(role);
        if let Some(interval) = self.interval {
            builder = builder.interval(interval);
        }
        if let Some(jitter) = self.jitter {
            builder = builder.jitter(jitter);
        }
        if let Some(jitter) = self.wake_jitter {
            builder = builder.wake_jitter(jitter);
        }
        if let Some(timeout) = self.attempt_timeout {
            builder = builder.attempt_timeout(timeout);
        }
        if let Some(grace) = self.grace {
            builder = builder.grace(grace);
        }
        if let Some(margin) = self.margin {
            builder = builder.margin(margin);
        }
        Ok(builder.build()?)
    }
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its configured name. Two nodes may share one: a cloned configuration.
    pub name: String,
    /// What its clock reads at the start.
    pub offset: Duration,
    /// What its clock gains, in parts per million.
    pub ppm: i32,
    /// It follows and never leads.
    pub observer: bool,
    /// How far its data has come at the start: history and offset. For quorums only.
    pub data: (u64, u64),
}

impl Member {
    /// A candidate with a true clock.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            offset: Duration::from_secs(1),
            ppm: 0,
            observer: false,
            data: (0, 0),
        }
    }
}

/// From `at` on the database and the nodes of `core` are well; the rest stays as it is. Somebody
/// must lead no later than `within` after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heal {
    /// When.
    pub at: Duration,
    /// The nodes that are well from then on.
    pub core: Vec<usize>,
    /// How long an election may take.
    pub within: Duration,
}

/// A schedule that describes no possible world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// There has to be somebody.
    #[error("there are no nodes; give at least one")]
    NoNodes,
    /// More than the world is built for.
    #[error("{0} nodes are more than {most}", most = MOST_NODES)]
    TooManyNodes(usize),
    /// A name that the core refuses.
    #[error("node {name:?}: {why}")]
    Name {
        /// The name.
        name: String,
        /// Why it is refused.
        why: election_core::InvalidName,
    },
    /// A fault or a core names a node that is not there.
    #[error("there is no node with the number {0}")]
    NoSuchNode(usize),
    /// A drift bound that leaves a lease no meaning.
    #[error("a drift of {0} ppm is more than {max} ppm", max = Drift::MAX.ppm())]
    Drift(u32),
    /// A clock cannot run backwards.
    #[error("a clock that gains {0} ppm would run backwards or more than double")]
    Rate(i32),
    /// The timing does not add up.
    #[error(transparent)]
    Timing(#[from] election_core::lease::ConfigError),
    /// The members or the timing of a quorum do not add up.
    #[error(transparent)]
    Cluster(quorum::ConfigError),
    /// A quorum has no database and a lease no disks.
    #[error("fault {0} befalls what is not there: a quorum has no database, a lease no disks")]
    Elsewhere(usize),
    /// A span that ends before it begins.
    #[error("{0} ends before it begins")]
    Inverted(&'static str),
    /// A run that ends before it starts.
    #[error("the run has no length; give a horizon above zero")]
    NoHorizon,
    /// Longer than a century.
    #[error("a run of {0:?} is longer than a hundred years")]
    TooLong(Duration),
    /// After the heal nothing may befall what was healed.
    #[error("fault {0} begins after the heal, and befalls what was healed")]
    FaultAfterHeal(usize),
    /// Nobody in the core may lead.
    #[error("nobody in the healed core is a candidate")]
    NoCandidate,
}

/// As many nodes as a world can hold.
pub const MOST_NODES: usize = 10_000;
const CENTURY: Duration = Duration::from_secs(100 * 366 * 86_400);

impl Schedule {
    /// Calm weather: `nodes` candidates with true clocks, named `a`, `b`, …
    #[must_use]
    pub fn calm(nodes: usize, ttl: Duration) -> Self {
        Self {
            seed: 0,
            cluster: None,
            engine: Engine::Postgres,
            timing: Timing::of(ttl),
            nodes: (0..nodes).map(|n| Member::new(&name(n))).collect(),
            latency: DurationRange::millis(1, 5),
            commit: DurationRange::exactly(Duration::ZERO),
            stop: DurationRange::exactly(Duration::ZERO),
            act: DurationRange::millis(1, 5),
            lock_timeout: None,
            faults: Vec::new(),
            heal: None,
            horizon: ttl * 20,
        }
    }

    /// Calm weather for a quorum of `nodes` members.
    #[must_use]
    pub fn calm_quorum(nodes: usize, down_after: Duration) -> Self {
        let cluster = Some(Cluster::of(down_after));
        let timing = Timing::of_quorum(down_after);
        Self { cluster, timing, ..Self::calm(nodes, down_after * 3) }
    }

    /// Whether the promise of one leader at a time covers everything that happens in it.
    #[must_use]
    pub fn contract(&self) -> Contract {
        let any = |is: fn(&FaultKind) -> bool| self.faults.iter().any(|fault| is(&fault.kind));
        if any(FaultKind::forgets) && any(|what| matches!(what, FaultKind::Step(by) if *by < 0)) {
            return Contract::Void;
        }
        if self.forgets_votes() {
            return Contract::Void;
        }
        let drift = self.timing.drift_ppm;
        let clocks = self.nodes.iter().any(|node| node.ppm.unsigned_abs() > drift);
        let base = if clocks { Contract::Beyond } else { Contract::Within };
        self.faults.iter().map(|fault| fault.kind.contract(drift)).fold(base, Contract::max)
    }

    /// Whether more disks forget than a quorum survives: a node that has lost its ballot learns
    /// from the others what it may have promised, so no other may have forgotten.
    fn forgets_votes(&self) -> bool {
        let lost = |fault: &Fault| match fault.kind {
            FaultKind::Disk(node, DiskFault::Lost) => Some(node),
            _ => None,
        };
        let lost: BTreeSet<usize> = self.faults.iter().filter_map(lost).collect();
        lost.len() > 1 || (lost.len() == 1 && self.nodes.len() == 1)
    }

    /// Whether two processes run under one id.
    pub(crate) fn has_twins(&self) -> bool {
        let names: BTreeSet<_> = self.nodes.iter().map(|node| &node.name).collect();
        names.len() < self.nodes.len()
    }

    /// Checks that a world of this kind can exist.
    ///
    /// # Errors
    /// With the first thing that cannot be.
    pub fn check(&self) -> Result<(), ScheduleError> {
        self.check_nodes()?;
        if self.cluster.is_none() {
            self.timing.config(Role::Candidate)?;
        }
        let mut saves = DurationRange::exactly(Duration::ZERO);
        if let Some(cluster) = &self.cluster {
            saves = cluster.save;
            for node in 0..self.nodes.len() {
                cluster.config(&self.nodes, node, self.timing.drift_ppm)?;
            }
            if cluster.growth.is_zero() {
                return Err(ScheduleError::Inverted("the growth"));
            }
        }
        for (what, span) in [
            ("the save", saves),
            ("the latency", self.latency),
            ("the commit", self.commit),
            ("the stop", self.stop),
            ("the act", self.act),
        ] {
            if span.high < span.low {
                return Err(ScheduleError::Inverted(what));
            }
        }
        if self.horizon.is_zero() {
            return Err(ScheduleError::NoHorizon);
        }
        if self.horizon > CENTURY {
            return Err(ScheduleError::TooLong(self.horizon));
        }
        self.check_faults()?;
        self.check_heal()
    }

    fn check_nodes(&self) -> Result<(), ScheduleError> {
        if self.nodes.is_empty() {
            return Err(ScheduleError::NoNodes);
        }
        if self.nodes.len() > MOST_NODES {
            return Err(ScheduleError::TooManyNodes(self.nodes.len()));
        }
        for node in &self.nodes {
            NodeId::new(&node.name)
                .map_err(|why| ScheduleError::Name { name: node.name.clone(), why })?;
            check_rate(node.ppm)?;
        }
        Ok(())
    }

    fn check_faults(&self) -> Result<(), ScheduleError> {
        for (index, fault) in self.faults.iter().enumerate() {
            if fault.kind.is_of_quorum().is_some_and(|quorum| quorum != self.cluster.is_some()) {
                return Err(ScheduleError::Elsewhere(index));
            }
            let named = fault.kind.named();
            if let Some(node) = named.iter().find(|node| **node >= self.nodes.len()) {
                return Err(ScheduleError::NoSuchNode(*node));
            }
            if let FaultKind::Rate(_, ppm) = fault.kind {
                check_rate(ppm)?;
            }
        }
        Ok(())
    }

    fn check_heal(&self) -> Result<(), ScheduleError> {
        let Some(heal) = &self.heal else { return Ok(()) };
        let core: BTreeSet<usize> = heal.core.iter().copied().collect();
        if let Some(node) = core.iter().find(|node| **node >= self.nodes.len()) {
            return Err(ScheduleError::NoSuchNode(*node));
        }
        if !core.iter().any(|node| !self.nodes[*node].observer) {
            return Err(ScheduleError::NoCandidate);
        }
        let late = |fault: &Fault| fault.at >= heal.at && fault.kind.befalls(&heal.core);
        match self.faults.iter().position(late) {
            Some(index) => Err(ScheduleError::FaultAfterHeal(index)),
            None => Ok(()),
        }
    }
}

fn check_rate(ppm: i32) -> Result<(), ScheduleError> {
    if (-1_000_000..=1_000_000).contains(&ppm) { Ok(()) } else { Err(ScheduleError::Rate(ppm)) }
}

/// `a` to `z`, then `n26`, `n27`, …
pub(crate) fn name(node: usize) -> String {
    match u8::try_from(node) {
        Ok(n) if n < 26 => char::from(b'a' + n).to_string(),
        _ => format!("n{node}"),
    }
}

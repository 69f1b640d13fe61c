//! Everything that decides a run.

use super::{
    cluster::Cluster,
    member::{Member, Software},
    timing::Timing,
};
use crate::{
    fault::{Contract, DiskFault, Fault, FaultKind, SaveFault},
    span::DurationRange,
    text::node_name,
};
use std::{collections::BTreeSet, time::Duration};

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Decides every draw that nothing below fixes.
    pub seed: u64,
    /// What the nodes have in place of a database, if they elect by quorum. The engine, commits,
    /// lock timeouts and the timing of the lease mean nothing then; the drift bound still counts.
    pub cluster: Option<Cluster>,
    /// In how many elections the nodes take part. Of more than one they share a connection to the database.
    pub elections: usize,
    /// How the database behaves where engines differ.
    pub engine: Engine,
    /// The timing that all nodes share.
    pub timing: Timing,
    /// The nodes.
    pub nodes: Vec<Member>,
    /// How long a statement, an answer or a notification travels.
    pub latency: DurationRange,
    /// How long a write holds the row's lock before it is committed.
    pub commit: DurationRange,
    /// How long leader work takes to stop when told to. The hard stop ends it by force.
    pub stop: DurationRange,
    /// How long a write takes from the leader's decision to the resource. In this time a process
    /// can be stopped between "do I lead?" and the act.
    pub act: DurationRange,
    /// How long the database lets a statement wait for a lock; `None` means for ever.
    pub lock_timeout: Option<Duration>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// The end of trouble, and what must hold from then on.
    pub heal: Option<Heal>,
    /// When the run ends.
    pub horizon: Duration,
}

/// The database engines, as far as their behaviour differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The loser of a race is told the row as it was before the race; has notifications.
    Postgres,
    /// The loser reads the row in a second statement; a fence blocks only takeovers.
    MySql,
    /// Every write takes the single write lock; a fence blocks every write.
    Sqlite,
    /// No database: a register, which has no locks, no clock that counts, and notifies of every write.
    Register,
}

impl Engine {
    /// Whether it notifies of what is written.
    pub(crate) fn notifies(self) -> bool {
        matches!(self, Self::Postgres | Self::Register)
    }
}

/// From `at` on the database and the nodes of `core` are well; the rest of the world does not
/// change. Somebody must lead at most `within` later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heal {
    /// When the heal happens.
    pub at: Duration,
    /// The nodes that are well from then on.
    pub core: Vec<usize>,
    /// How long an election may take.
    pub within: Duration,
}

impl Schedule {
    /// The timing of a node's lease.
    #[must_use]
    pub fn timing_of(&self, node: usize) -> Timing {
        let own = self.nodes.get(node).and_then(|member| member.ttl);
        Timing { ttl: own.unwrap_or(self.timing.ttl), ..self.timing.clone() }
    }

    /// Calm weather: `nodes` candidates with true clocks, named `a`, `b`, …
    #[must_use]
    pub fn calm(nodes: usize, ttl: Duration) -> Self {
        Self {
            seed: 0,
            cluster: None,
            elections: 1,
            engine: Engine::Postgres,
            timing: Timing::of(ttl),
            nodes: (0..nodes).map(|n| Member::new(&node_name(n))).collect(),
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

    /// Whether the promise of one leader at a time covers everything that happens in the run. It
    /// does not cover members that run kevy-elect.
    #[must_use]
    pub fn contract(&self) -> Contract {
        let own = self.contract_of_faults();
        if self.has_legacy() { own.max(Contract::Beyond) } else { own }
    }

    /// The same, by the faults alone: what members that run kevy-elect leave of it is written at
    /// each invariant.
    pub(crate) fn contract_of_faults(&self) -> Contract {
        let any = |is: fn(&FaultKind) -> bool| self.faults.iter().any(|fault| is(&fault.kind));
        if any(FaultKind::forgets) && any(|what| matches!(what, FaultKind::Step(by) if *by < 0)) {
            return Contract::Void;
        }
        if self.forgets_votes() || self.legacy_forgets() {
            return Contract::Void;
        }
        let drift = self.timing.drift_ppm;
        let clocks = self.nodes.iter().any(|node| node.ppm.unsigned_abs() > drift);
        let base = if clocks { Contract::Beyond } else { Contract::Within };
        let foreseen = self.foresees_steps();
        let counts = |fault: &&Fault| !(foreseen && matches!(fault.kind, FaultKind::Step(_)));
        let faults = self.faults.iter().filter(counts);
        faults.map(|fault| fault.kind.contract(drift)).fold(base, Contract::max)
    }

    /// Whether the leases allow for all steps of the database's clock together.
    fn foresees_steps(&self) -> bool {
        let by = |fault: &Fault| match fault.kind {
            FaultKind::Step(by) => u128::from(by.unsigned_abs()),
            _ => 0,
        };
        let all: u128 = self.faults.iter().map(by).sum();
        all <= self.timing.clock_step.unwrap_or_default().as_millis()
    }

    /// Whether more disks forget than a quorum survives. A node that has lost its ballot learns
    /// from the others what it may have promised, so no other node may have forgotten.
    fn forgets_votes(&self) -> bool {
        let lost = |fault: &Fault| match fault.kind {
            FaultKind::Disk(node, DiskFault::Lost) => Some(node),
            _ => None,
        };
        let lost: BTreeSet<usize> = self.faults.iter().filter_map(lost).collect();
        lost.len() > 1 || (lost.len() == 1 && self.may_depend_on_one_disk())
    }

    /// Whether there may ever be one member only, or one that starts anew because it is added again.
    fn may_depend_on_one_disk(&self) -> bool {
        let kinds = || self.faults.iter().map(|fault| &fault.kind);
        let removed = kinds().filter_map(|kind| match kind {
            FaultKind::RemoveMember(node) => Some(*node),
            _ => None,
        });
        let removed: BTreeSet<_> = removed.collect();
        let was_member = |node: usize| removed.contains(&node) || !self.nodes[node].spare;
        let again =
            |kind: &FaultKind| matches!(kind, FaultKind::AddMember(node) if was_member(*node));
        let first = self.nodes.iter().filter(|node| !node.spare).count();
        first.saturating_sub(removed.len()) <= 1 || kinds().any(again)
    }

    /// Whether a member that runs kevy-elect forgets its votes: its disk fails it, or another
    /// protocol with a ballot of its own takes its place. Nothing protects the others from that.
    fn legacy_forgets(&self) -> bool {
        let changes =
            |node: &Member| matches!(node.software, Software::Downgraded | Software::Upgraded);
        let is_legacy =
            |node: usize| self.nodes.get(node).is_some_and(|node| node.software != Software::Own);
        let forgets = |fault: &Fault| match &fault.kind {
            FaultKind::Disk(node, _) | FaultKind::Saves(node, SaveFault::Lying) => is_legacy(*node),
            FaultKind::Clone(..) => self.has_legacy(),
            _ => false,
        };
        self.nodes.iter().any(changes) || self.faults.iter().any(forgets)
    }

    /// Whether a member runs kevy-elect, at least for a time.
    #[must_use]
    pub fn has_legacy(&self) -> bool {
        self.nodes.iter().any(|node| node.software != Software::Own)
    }

    /// Whether the list of members may change.
    pub(crate) fn changes_lists(&self) -> bool {
        let changes = |fault: &Fault| {
            matches!(fault.kind, FaultKind::AddMember(_) | FaultKind::RemoveMember(_))
        };
        self.nodes.iter().any(|node| node.spare) || self.faults.iter().any(changes)
    }

    /// Whether two processes run under one id.
    pub(crate) fn has_twins(&self) -> bool {
        let names: BTreeSet<_> = self.nodes.iter().map(|node| &node.name).collect();
        names.len() < self.nodes.len()
    }
}

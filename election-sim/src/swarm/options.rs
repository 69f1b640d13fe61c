//! The settings from which schedules are drawn.

use super::shared;
use crate::{
    fault::Contract,
    schedule::{Engine, Schedule, Timing},
};
use std::time::Duration;

/// How schedules are drawn from seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swarm {
    /// The worst contract that a fault may have.
    pub contract: Contract,
    /// The number of nodes; drawn from one to five (to seven for a quorum) if `None`.
    pub nodes: Option<usize>,
    /// The nodes elect by quorum, without a database.
    pub quorum: bool,
    /// When a peer of a quorum counts as down; drawn if `None`.
    pub down_after: Option<Duration>,
    /// The timing; drawn if `None`.
    pub timing: Option<Timing>,
    /// The engine; drawn if `None`.
    pub engine: Option<Engine>,
    /// The length of a run, in ttls (or in `down_after` for a quorum).
    pub length: u32,
    /// Whether the network between the nodes fails, too: for apps that talk to each other.
    pub network: bool,
    /// The nodes take part in up to fifty elections of leases, over shared connections.
    pub shared: bool,
    /// In a share of the runs of a quorum, some members run kevy-elect ([`Software`]). Little is
    /// promised there: [`Schedule::contract`] is then beyond.
    ///
    /// [`Software`]: crate::Software
    pub legacy: bool,
    /// The members of a quorum change: there are spare nodes, and operators who add and remove some.
    pub lists: bool,
}

impl Swarm {
    /// Draws every fault that the promise covers.
    #[must_use]
    pub const fn within_contract() -> Self {
        Self {
            contract: Contract::Within,
            nodes: None,
            quorum: false,
            down_after: None,
            timing: None,
            engine: None,
            length: 30,
            network: false,
            shared: false,
            legacy: false,
            lists: false,
        }
    }

    /// Also draws faults from which only fencing protects.
    #[must_use]
    pub const fn beyond_contract() -> Self {
        Self { contract: Contract::Beyond, ..Self::within_contract() }
    }

    /// The same for nodes that elect by quorum.
    #[must_use]
    pub const fn of_quorum(self) -> Self {
        Self { quorum: true, ..self }
    }

    /// The same for nodes that take part in many elections over shared connections.
    #[must_use]
    pub const fn sharing(self) -> Self {
        Self { shared: true, ..self }
    }

    /// The same, with members that run kevy-elect in a share of the runs.
    #[must_use]
    pub const fn with_legacy(self) -> Self {
        Self { legacy: true, ..self }
    }

    /// The same, with members that come and go.
    #[must_use]
    pub const fn with_lists(self) -> Self {
        Self { lists: true, ..self }
    }

    /// The schedule of this seed.
    #[must_use]
    pub fn schedule(&self, seed: u64) -> Schedule {
        match (self.quorum, self.shared) {
            (true, _) => self.quorum_schedule(seed),
            (false, false) => self.lease_schedule(seed),
            (false, true) => shared::shared(self.lease_schedule(seed)),
        }
    }
}

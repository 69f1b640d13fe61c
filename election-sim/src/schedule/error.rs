//! Why a schedule describes no possible world.

use election_core::{Drift, quorum};
use std::time::Duration;

/// A schedule that describes no possible world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The schedule has no nodes.
    #[error("there are no nodes; give at least one")]
    NoNodes,
    /// The schedule has more nodes than a world can hold.
    #[error("{0} nodes are more than {most}", most = MOST_NODES)]
    TooManyNodes(usize),
    /// The schedule has no election, more than a world can hold, or several where there is no database.
    #[error("{0} elections: a lease has between one and {most}, a quorum one", most = MOST_ELECTIONS)]
    Elections(usize),
    /// Elections share the connection of a database.
    #[error("elections do not share a register's connection: leave `sharing` out")]
    SharedRegister,
    /// A user's own code runs in one election.
    #[error("an app or a service is simulated in one election: leave `sharing` out")]
    CodeInManyElections,
    /// The core refuses a name.
    #[error("node {name:?}: {why}")]
    Name {
        /// The name.
        name: String,
        /// Why the core refuses it.
        why: election_core::InvalidName,
    },
    /// A fault or a core names a node that does not exist.
    #[error("there is no node with the number {0}")]
    NoSuchNode(usize),
    /// A drift bound that makes a lease meaningless.
    #[error("a drift of {0} ppm is more than {max} ppm", max = Drift::MAX.ppm())]
    Drift(u32),
    /// A clock cannot run backwards.
    #[error("a clock that gains {0} ppm would run backwards or more than double")]
    Rate(i32),
    /// The settings of the lease contradict each other.
    #[error(transparent)]
    Timing(#[from] election_core::lease::ConfigError),
    /// The members or the timing of a quorum contradict each other.
    #[error(transparent)]
    Cluster(quorum::ConfigError),
    /// The members run a service, and some of them kevy-elect.
    #[error(
        "members that run kevy-elect cannot be simulated beside a service: leave `with_legacy` out"
    )]
    ServiceBesideLegacy,
    /// The members run a service, whose driver keeps its members.
    #[error("the members of a service do not change: leave `with_lists` out")]
    ServiceWithChanges,
    /// A quorum has no database, and a lease has no disks.
    #[error("fault {0} befalls what is not there: a quorum has no database, a lease no disks")]
    Elsewhere(usize),
    /// A range whose end lies before its start.
    #[error("{0} ends before it begins")]
    Inverted(&'static str),
    /// The run ends before it starts.
    #[error("the run has no length; give a horizon above zero")]
    NoHorizon,
    /// The schedule is longer than a century.
    #[error("a run of {0:?} is longer than a hundred years")]
    TooLong(Duration),
    /// A fault hits the healed part of the world after the heal.
    #[error("fault {0} begins after the heal, and befalls what was healed")]
    FaultAfterHeal(usize),
    /// No node of the core may lead.
    #[error("nobody in the healed core is a candidate")]
    NoCandidate,
}

/// The largest number of elections that a world can hold.
pub(super) const MOST_ELECTIONS: usize = 1_000;

/// The largest number of nodes that a world can hold.
pub const MOST_NODES: usize = 10_000;

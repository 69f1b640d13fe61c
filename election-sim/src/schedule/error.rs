//! Why a schedule describes no possible world.

use election_core::{Drift, quorum};
use std::time::Duration;

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

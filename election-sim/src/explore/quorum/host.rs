//! What a node has without a process, and what all processes find around them.
//!
//! Everything is told relative to *now*, which every process takes for the same instant of its
//! clock ([`NOW`]).

use election_core::{
    Incarnation, Timestamp,
    quorum::{Ballot, Config, Surroundings},
};

/// What every clock reads. An hour leaves room for the past.
pub(super) const NOW: Timestamp = Timestamp::from_nanos(3_600_000_000_000);

/// What outlives the processes of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Host {
    pub(super) place: u8,
    /// Which life of the node this is, or was the last.
    pub(super) life: u8,
    /// What a crash would leave.
    pub(super) disk: Option<Ballot>,
    pub(super) offset: u64,
}

/// What the world of a scope gives to every process.
#[derive(Debug)]
pub(super) struct World {
    pub(super) configs: Vec<Config>,
    pub(super) around: Surroundings,
    /// The data of each node.
    pub(super) offsets: Vec<u64>,
}

pub(super) fn incarnation(node: u8, life: u8) -> Incarnation {
    Incarnation::new(uuid::Uuid::from_u128(u128::from(node) << 8 | u128::from(life)))
}

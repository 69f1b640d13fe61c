//! What a node has without a process, and the world around all processes.
//!
//! All times are relative to *now*, the same instant of every process's clock
//! ([`NOW`](crate::explore::books::NOW)).

use election_core::{
    Incarnation,
    quorum::{Ballot, Config, Surroundings},
};

/// What outlives the processes of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Host {
    pub(super) place: u8,
    /// The number of the node's present or last life.
    pub(super) life: u8,
    /// What a crash would leave.
    pub(super) disk: Option<Ballot>,
    pub(super) offset: u64,
}

impl Host {
    /// How far a witness has recorded that its primaries have come.
    pub(super) fn recorded(&self) -> u64 {
        self.disk.as_ref().map_or(0, |ballot| ballot.floor.offset)
    }
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

//! The result of one run.

use crate::simulator::Violation;
use std::time::Duration;

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The first violation, if there is one.
    pub violation: Option<Violation>,
    /// A hash of everything that happened. Equal schedules have equal hashes.
    pub hash: u64,
    /// The number of events.
    pub events: u64,
    /// The true time that passed.
    pub length: Duration,
    /// The number of elections.
    pub elections: u64,
    /// For each `sometimes` condition of the workload, whether it came true.
    pub reached: Vec<bool>,
    /// Invariants that a run beyond the contract broke; they need not hold in such a run.
    pub broken: Vec<&'static str>,
}

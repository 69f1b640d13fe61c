//! What came of one run.

use crate::simulator::Violation;
use std::time::Duration;

/// What came of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The first thing that must not happen and did.
    pub violation: Option<Violation>,
    /// A hash of everything that happened. Equal schedules have equal hashes.
    pub hash: u64,
    /// How many events there were.
    pub events: u64,
    /// How much true time passed.
    pub length: Duration,
    /// How often somebody was elected.
    pub elections: u64,
    /// Which of the workload's `sometimes` came true.
    pub reached: Vec<bool>,
    /// Invariants that did not hold in a run beyond the contract, in which they need not.
    pub broken: Vec<&'static str>,
}

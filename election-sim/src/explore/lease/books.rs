//! The checkers' books about a process.

use crate::explore::model::Broken;
use election_core::{Epoch, Timestamp, lease::Query};
use std::time::Duration;

/// The present reading of every clock. An hour leaves room for the past.
pub(super) const NOW: Timestamp = Timestamp::from_nanos(3_600_000_000_000);

/// Leader work: what must never run twice at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) epoch: Epoch,
    /// The time of the hard stop.
    pub(super) stop_by: Timestamp,
    /// The work has been told to stop.
    pub(super) told: bool,
}

/// The newest change that the subscribers were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Told {
    Nothing,
    Leads(Epoch),
    Lost(Option<Epoch>),
    Follows(Epoch),
    Vacant,
}

/// Whether the process stays out of the race after it resigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Out {
    No,
    Unconfirmed,
    Until(Timestamp),
}

/// The result of a step, apart from the process's new state.
#[derive(Clone, Debug)]
pub(super) struct Stepped {
    pub(super) query: Option<Query>,
    pub(super) elected: Option<Epoch>,
    /// The process waits for an answer.
    pub(super) awaits: bool,
}

pub(super) type Verdict<T> = Result<T, Broken>;

pub(super) fn broken<T>(check: &'static str, what: String) -> Verdict<T> {
    Err(Broken { check, what })
}

pub(super) fn moved(at: Timestamp, by: Duration, span: Duration) -> Timestamp {
    (at - by).max(NOW - span)
}

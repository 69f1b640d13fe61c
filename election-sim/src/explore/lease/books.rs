//! What the checkers write down about a process.

use crate::explore::model::Broken;
use election_core::{Epoch, Timestamp, lease::Query};
use std::time::Duration;

/// What every clock reads. An hour leaves room for the past.
pub(super) const NOW: Timestamp = Timestamp::from_nanos(3_600_000_000_000);

/// Leader work: what must never run twice at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) epoch: Epoch,
    /// When it is ended by force.
    pub(super) stop_by: Timestamp,
    /// It has been told to stop.
    pub(super) told: bool,
}

/// What the subscribers were told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Told {
    Nothing,
    Leads(Epoch),
    Lost(Option<Epoch>),
    Follows(Epoch),
    Vacant,
}

/// Whether it keeps out of the race, having resigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Out {
    No,
    Unconfirmed,
    Until(Timestamp),
}

/// What a step led to, beside the process's new state.
#[derive(Clone, Debug)]
pub(super) struct Stepped {
    pub(super) query: Option<Query>,
    pub(super) elected: Option<Epoch>,
    /// It waits for the answer to a question.
    pub(super) awaits: bool,
}

pub(super) type Verdict<T> = Result<T, Broken>;

pub(super) fn broken<T>(check: &'static str, what: String) -> Verdict<T> {
    Err(Broken { check, what })
}

pub(super) fn moved(at: Timestamp, by: Duration, span: Duration) -> Timestamp {
    (at - by).max(NOW - span)
}

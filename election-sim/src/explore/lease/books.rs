//! The checkers' books about a process.

use crate::explore::books::NOW;
use election_core::{Epoch, Timestamp, lease::Query};
use std::time::Duration;

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

pub(super) fn moved(at: Timestamp, by: Duration, span: Duration) -> Timestamp {
    (at - by).max(NOW - span)
}

//! One statement under way, and its effect on the row.

use super::client::{Operation, Version};
use crate::{fault::StatementFault, table::Leader};
use election_core::{
    Candidate, Timestamp,
    lease::{Answer, Failure, Query, Row, Ticket},
    register::Reply,
};

/// One statement, from the question to the last of its answers.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) node: usize,
    pub(crate) life: u32,
    pub(crate) nth: u64,
    pub(crate) who: Candidate,
    pub(crate) ticket: Ticket,
    pub(crate) query: Query,
    pub(crate) asked: Timestamp,
    pub(crate) deadline: Timestamp,
    pub(crate) fault: Option<StatementFault>,
    /// When it was sent and when it reached the database, in true time.
    pub(crate) sent: u64,
    pub(crate) began: u64,
    /// What the database's clock read when the statement began.
    pub(crate) clock_ms: i64,
    /// How often the database had crashed when the statement began.
    pub(crate) crashes: u64,
    /// The row when the statement began, for an engine that answers from it.
    pub(crate) snapshot: Option<Box<Row>>,
    pub(crate) answer: Result<Answer, Failure>,
    /// The number of answers still to come.
    pub(crate) replies: u8,
    /// The statement of a shared connection that it is a part of.
    pub(crate) part: Option<Part>,
    /// What it does to a register, and what that has said.
    pub(crate) operation: Option<Operation>,
    pub(crate) reply: Option<Reply<Version>>,
}

/// The place of a question in a statement for many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) statement: u64,
    pub(crate) place: usize,
    /// It goes without an answer if it would have to wait for a lock.
    pub(crate) skips: bool,
    pub(crate) skipped: bool,
}

/// A statement that has decided, as the checkers judge it.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) slot: usize,
    pub(crate) before: Stand,
    pub(crate) after: Stand,
}

/// The part of the row that checkers need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) term: u64,
    pub(crate) held: bool,
    /// The sender of the statement holds the row.
    pub(crate) own: bool,
    pub(crate) expires_ms: i64,
    pub(crate) renewals: u64,
}

impl Stand {
    /// The state of the row, seen by `who`.
    pub(crate) fn of(leader: &Leader, who: &Candidate) -> Self {
        Self::with(leader, leader.holder.as_ref().is_some_and(|holder| holder.candidate == *who))
    }

    /// The state of the row for a process of which it is known whether it holds the row.
    pub(crate) fn with(leader: &Leader, own: bool) -> Self {
        Self {
            term: leader.term,
            held: leader.holder.is_some(),
            own,
            expires_ms: leader.expires_ms,
            renewals: leader.renewals,
        }
    }
}

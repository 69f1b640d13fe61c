//! One statement on its way, and what it did to the row.

use crate::{fault::StatementFault, table::Leader};
use election_core::{
    Candidate, Timestamp,
    lease::{Answer, Failure, Query, Row, Ticket},
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
    /// How often the database had crashed by then.
    pub(crate) crashes: u64,
    /// The row as it was then, for an engine that answers from it.
    pub(crate) snapshot: Option<Box<Row>>,
    pub(crate) answer: Result<Answer, Failure>,
    /// Answers still to come.
    pub(crate) replies: u8,
}

/// A statement that has taken its decision: what the checkers judge.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) slot: usize,
    pub(crate) before: Stand,
    pub(crate) after: Stand,
}

/// As much of the row as a checker needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) term: u64,
    pub(crate) held: bool,
    /// Held by whoever sent the statement.
    pub(crate) own: bool,
    pub(crate) expires_ms: i64,
    pub(crate) renewals: u64,
}

impl Stand {
    /// Where the row stands, for `who`.
    pub(crate) fn of(leader: &Leader, who: &Candidate) -> Self {
        Self::with(leader, leader.holder.as_ref().is_some_and(|holder| holder.candidate == *who))
    }

    /// Where the row stands for somebody of whom it is known whether the row is theirs.
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

//! The fence: proof, inside a transaction, that a term is in force until that transaction ends.
//!
//! No check before a write protects that write: between the two, the process can be stopped for as
//! long as another candidate needs to become leader. A fence protects it, because it locks what a
//! new term has to change. It is sound under every isolation level, since a locking read sees the
//! newest row or fails. A plain read under REPEATABLE READ would let a leader pass whose term ended
//! long ago (Tr3kkR/Yuzu#4015). The fence checks what it relies on in the caller's session, and
//! refuses a session that is not fit.

use super::{
    exchange::Progress,
    statements::{Call, Columns, RowError, Statements, bind, candidate_value},
    value::{Outcome, Value},
};
use crate::{Candidate, Epoch, Namespace};
use core::time::Duration;

/// The exchange that fences a transaction; [`Statements::fence`] begins one.
///
/// Run it like an [`Exchange`](super::Exchange), but inside the transaction to be fenced and before
/// its writes. It yields what is left of the lease. If it yields `None`, the term is over and the
/// transaction has to be rolled back. If one of its statements fails, the fence has failed.
///
/// On SQLite, begin with `BEGIN IMMEDIATE`: a transaction that reads before it writes may be refused
/// the lock, however long it waits.
#[derive(Debug)]
pub struct Fence<'a> {
    statements: &'a Statements,
    namespace: &'a Namespace,
    candidate: &'a Candidate,
    epoch: Epoch,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Lock,
    /// The row to lock is missing: make it.
    Seed,
    /// The row was made, or is locked under another term.
    LockAgain,
}

impl Statements {
    /// Begins to fence a transaction for a term of this candidate.
    #[must_use]
    pub fn fence<'a>(
        &'a self,
        namespace: &'a Namespace,
        candidate: &'a Candidate,
        epoch: Epoch,
    ) -> Fence<'a> {
        Fence { statements: self, namespace, candidate, epoch, stage: Stage::Lock }
    }
}

impl<'a> Fence<'a> {
    /// The statement to run now.
    #[must_use]
    pub fn call(&self) -> Call<'a> {
        let all = self.statements;
        let rendered = match (self.stage, &all.seed_fence) {
            (Stage::Seed, Some(seed)) => seed,
            _ => &all.fence,
        };
        let (namespace, candidate, epoch) = (self.namespace, self.candidate, self.epoch);
        bind(rendered, |param| candidate_value(namespace, candidate, epoch, param))
    }

    /// Takes the outcome of that statement.
    ///
    /// # Errors
    /// If a row cannot be understood, or the session cannot hold a fence.
    pub fn advance(&mut self, outcome: &Outcome) -> Result<Progress<Option<Duration>>, RowError> {
        if self.stage == Stage::Seed {
            self.stage = Stage::LockAgain;
            return Ok(Progress::More);
        }
        if let Some([_, Value::Integer(0)]) = outcome.row.as_deref() {
            return Err(RowError::ForeignKeysOff);
        }
        match &outcome.row {
            Some(row) if matches!(row.first(), Some(Value::Null)) => Ok(Progress::Done(None)),
            Some(row) => Columns(row).span(0).map(|left| Progress::Done(Some(left))),
            None if self.stage == Stage::Lock && self.statements.seed_fence.is_some() => {
                self.stage = Stage::Seed;
                Ok(Progress::More)
            }
            None => Ok(Progress::Done(None)),
        }
    }
}

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
    rows::{Columns, RowError},
    statements::{Call, Statements, bind, candidate_value},
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
    /// Remove the row, if it is this term's.
    Remove,
    /// It was there: make it anew.
    Make,
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
    /// The same fence, which also writes what it locks. For clusters of servers that know of each
    /// other's writes but not of each other's locks: MariaDB Galera, where the user needs the right
    /// to `DELETE` from the table of fences. It takes two statements more, and two such transactions
    /// of one leader wait for each other, or one of them is refused. In the dialects of SQLite and
    /// PostgreSQL nothing changes.
    ///
    /// Call it before the first statement is run.
    #[must_use]
    pub fn writing(self) -> Self {
        if self.statements.all.rewrite_fence.is_none() {
            return self;
        }
        Self { stage: Stage::Remove, ..self }
    }

    /// The statement to run now.
    #[must_use]
    pub fn call(&self) -> Call<'a> {
        let all = &self.statements.all;
        let rendered = match (self.stage, &all.rewrite_fence, &all.seed_fence) {
            (Stage::Remove, Some([remove, _]), _) => remove,
            (Stage::Make, Some([_, make]), _) => make,
            (Stage::Seed, _, Some(seed)) => seed,
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
        let next = match self.stage {
            Stage::Remove if outcome.affected > 0 => Some(Stage::Make),
            Stage::Remove => Some(Stage::Seed),
            Stage::Make | Stage::Seed => Some(Stage::LockAgain),
            Stage::Lock | Stage::LockAgain => None,
        };
        if let Some(next) = next {
            self.stage = next;
            return Ok(Progress::More);
        }
        if let Some([_, Value::Integer(0)]) = outcome.row.as_deref() {
            return Err(RowError::ForeignKeysOff);
        }
        match &outcome.row {
            Some(row) if matches!(row.first(), Some(Value::Null)) => Ok(Progress::Done(None)),
            Some(row) => Columns(row).span(0).map(|left| Progress::Done(Some(left))),
            None if self.stage == Stage::Lock && self.statements.all.seed_fence.is_some() => {
                self.stage = Stage::Seed;
                Ok(Progress::More)
            }
            None => Ok(Progress::Done(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Incarnation, NodeId,
        sql::{Dialect, Tables},
    };
    use alloc::{string::String, vec, vec::Vec};
    use uuid::Uuid;

    /// The first words of what a fence runs, if its statements change so many rows.
    fn runs(dialect: Dialect, writing: bool, changed: &[u64]) -> Vec<String> {
        let statements = Statements::new(dialect, &Tables::default());
        let namespace = Namespace::default();
        let incarnation = Incarnation::new(Uuid::nil());
        let candidate = Candidate { id: NodeId::new("a").unwrap(), incarnation };
        let fence = statements.fence(&namespace, &candidate, Epoch::new(7));
        let mut fence = if writing { fence.writing() } else { fence };
        let mut ran = Vec::new();
        let left = vec![Value::Integer(900), Value::Integer(1)];
        loop {
            let call = fence.call();
            ran.push(call.sql.split(' ').take(2).collect::<Vec<_>>().join(" "));
            let row = call.returns_rows.then(|| left.clone());
            let affected = changed.get(ran.len() - 1).copied().unwrap_or(0);
            match fence.advance(&Outcome { row, affected, last_insert_id: 0 }).unwrap() {
                Progress::More => {}
                Progress::Done(left) => {
                    assert_eq!(left, Some(Duration::from_millis(900)));
                    return ran;
                }
            }
        }
    }

    #[test]
    fn a_fence_that_writes_makes_its_row_anew() {
        let mysql = Dialect::MySql;
        assert_eq!(runs(mysql, true, &[1, 1]), ["DELETE FROM", "INSERT INTO", "SELECT (SELECT"]);
        let missing = ["DELETE FROM", "INSERT IGNORE", "SELECT (SELECT"];
        assert_eq!(runs(mysql, true, &[0, 1]), missing, "it was never made");
        assert_eq!(runs(mysql, false, &[]), ["SELECT (SELECT"]);
        for dialect in [Dialect::Sqlite, Dialect::Postgres] {
            assert_eq!(runs(dialect, true, &[1]), runs(dialect, false, &[1]), "{dialect}");
        }
    }

    /// A statement that reads the leader row in order to write locks it, and renewals would wait.
    #[test]
    fn a_fence_that_writes_leaves_the_leader_row_free() {
        let statements = Statements::new(Dialect::MySql, &Tables::default());
        for rendered in statements.all.rewrite_fence.as_ref().unwrap() {
            assert!(!rendered.text.contains("leader"), "{}", rendered.text);
        }
    }
}

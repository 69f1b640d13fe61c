//! The exchange behind one query: which statement comes next, and what the last one returned.
//!
//! Most queries are one statement. Where a dialect cannot tell a loser in that statement who holds
//! the lease, a second statement does. The first attempt in a namespace also makes the row.
//!
//! On MySQL, what a statement has written travels in the insert id of the OK packet. A trigger on the
//! table that runs statements of its own empties that id. Then the row is read: nobody else can have
//! changed it in a way that matters, since this process holds it.
//!
//! On SQLite and PostgreSQL, a trigger or a rule can drop a write. So a leader's renewal that changes
//! nothing, or a release, also reads the row: if it still stands as the statement demanded, the term is
//! not over, and whoever set the trigger has to know.

use super::{
    common::SWEPT,
    dialect::Dialect,
    rows::{Columns, RowError, decode_row},
    statements::{Call, Statements, bind, query_value},
    value::Outcome,
};
use crate::lease::{Answer, Query, Registration, Row};
use core::time::Duration;

/// One query, from its first statement to its answer.
#[derive(Debug)]
pub struct Exchange<'a> {
    statements: &'a Statements,
    registration: &'a Registration,
    query: &'a Query,
    stage: Stage,
    /// This exchange has made the namespace's row, and must not make it again.
    seeded: bool,
    /// The same for the row of the server's history.
    seeded_server: bool,
    /// The query's own statement has changed the row, and its outcome does not say how.
    untold: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The query's own statement.
    Act,
    /// Read who holds the row.
    Read,
    /// There is no row: make it.
    Seed,
    /// Make the row of the fence table.
    SeedFence,
    /// Record since when the server's history is known.
    SeedServer,
    /// Remove candidates that left long ago.
    Sweep,
}

/// The state of an exchange after an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress<T = Answer> {
    /// Run the next call.
    More,
    /// This is the answer.
    Done(T),
}

impl Statements {
    /// Begins the exchange for one query of the lease machine.
    #[must_use]
    pub fn begin<'a>(&'a self, registration: &'a Registration, query: &'a Query) -> Exchange<'a> {
        let stage = if *query == Query::Observe { Stage::Read } else { Stage::Act };
        Exchange {
            statements: self,
            registration,
            query,
            stage,
            seeded: false,
            seeded_server: false,
            untold: false,
        }
    }
}

impl<'a> Exchange<'a> {
    /// The statement to run now.
    #[must_use]
    pub fn call(&self) -> Call<'a> {
        let all = &self.statements.all;
        let rendered = match (self.stage, self.query) {
            (Stage::Read, _) | (_, Query::Observe) => &all.read,
            (Stage::Seed, _) => all.seed.as_ref().unwrap_or(&all.read),
            (Stage::SeedFence, _) => all.seed_fence.as_ref().unwrap_or(&all.read),
            (Stage::SeedServer, _) => all.seed_server.as_ref().unwrap_or(&all.read),
            (Stage::Sweep, _) => &all.sweep,
            (Stage::Act, Query::Attempt { .. }) => &all.attempt,
            (Stage::Act, Query::TakeOver { .. }) => &all.take_over,
            (Stage::Act, Query::Renew { .. }) => &all.renew,
            (Stage::Act, Query::Resign { .. }) => &all.resign,
            (Stage::Act, Query::Register { .. }) => &all.register,
            (Stage::Act, Query::Unregister) => &all.unregister,
            (Stage::Act, Query::Others) => &all.others,
        };
        let (registration, query) = (self.registration, self.query);
        bind(rendered, |param| query_value(registration, query, param))
    }

    /// Takes the outcome of that statement.
    ///
    /// # Errors
    /// If a row cannot be understood: a [`Failure::Fatal`](crate::lease::Failure::Fatal).
    pub fn advance(&mut self, outcome: &Outcome) -> Result<Progress, RowError> {
        match (self.stage, self.query) {
            (Stage::Read, _) | (_, Query::Observe) => self.read(outcome),
            (Stage::Seed, _) if self.statements.all.seed_fence.is_some() => {
                self.stage = Stage::SeedFence;
                Ok(Progress::More)
            }
            (Stage::Seed | Stage::SeedFence | Stage::SeedServer, _) => {
                self.stage = Stage::Act;
                Ok(Progress::More)
            }
            (Stage::Sweep, _) if outcome.affected >= SWEPT => Ok(Progress::Done(Answer::Unswept)),
            (Stage::Sweep, _) => Ok(Progress::Done(Answer::Listed)),
            (Stage::Act, Query::Attempt { ttl, .. } | Query::TakeOver { ttl, .. }) => {
                self.attempted(outcome, *ttl)
            }
            (Stage::Act, Query::Renew { ttl, leads, .. }) => self.renewed(outcome, *ttl, *leads),
            (Stage::Act, Query::Resign { .. })
                if outcome.affected == 0 && self.may_be_dropped() =>
            {
                Ok(self.look())
            }
            (Stage::Act, Query::Resign { .. }) => Ok(Progress::Done(Answer::Released)),
            (Stage::Act, Query::Others) => {
                Ok(Progress::Done(Answer::Others(outcome.row.is_some())))
            }
            (Stage::Act, Query::Register { sweep: true, .. }) => {
                self.stage = Stage::Sweep;
                Ok(Progress::More)
            }
            (Stage::Act, Query::Register { .. } | Query::Unregister) => {
                Ok(Progress::Done(Answer::Listed))
            }
        }
    }

    fn attempted(&mut self, outcome: &Outcome, ttl: Duration) -> Result<Progress, RowError> {
        if let Some(row) = &outcome.row {
            let columns = Columns(row);
            let epoch = columns.epoch(0)?;
            return match row.len() {
                2 => Ok(Progress::Done(Answer::Won { epoch, remaining: columns.span(1)? })),
                _ if columns.integer(9)? == 1 => {
                    Ok(Progress::Done(Answer::Won { epoch, remaining: columns.span(4)? }))
                }
                _ => decode_row(row).map(|row| self.lost(row)),
            };
        }
        if outcome.affected == 1 && outcome.last_insert_id > 0 {
            let epoch = crate::Epoch::new(outcome.last_insert_id);
            return Ok(Progress::Done(Answer::Won { epoch, remaining: ttl }));
        }
        self.untold = outcome.affected == 1;
        Ok(self.look())
    }

    /// Where the dialect returns a row, the row tells; MySQL counts the row and says in the insert id
    /// whether a resignation was requested (1) or not (2).
    fn renewed(
        &mut self,
        outcome: &Outcome,
        ttl: Duration,
        leads: bool,
    ) -> Result<Progress, RowError> {
        if let Some(row) = &outcome.row {
            let columns = Columns(row);
            let (remaining, requested) = (columns.span(0)?, columns.integer(1)? == 1);
            return Ok(Progress::Done(Answer::Renewed { remaining, resign_requested: requested }));
        }
        Ok(match (outcome.affected, outcome.last_insert_id) {
            // Whoever does not lead may be kept from it by what else the statement demands.
            (0, _) if leads && self.may_be_dropped() => self.look(),
            (0, _) => Progress::Done(Answer::Gone),
            (_, 0) => {
                self.untold = true;
                self.look()
            }
            (_, told) => {
                Progress::Done(Answer::Renewed { remaining: ttl, resign_requested: told == 1 })
            }
        })
    }

    /// Nobody has attempted behind this history of the server yet, so no attempt could win: record
    /// it, and look once more.
    fn lost(&mut self, row: Row) -> Progress {
        let records = self.statements.all.seed_server.is_some() && !self.seeded_server;
        if row.server.is_unknown() && records {
            self.seeded_server = true;
            self.stage = Stage::SeedServer;
            return Progress::More;
        }
        Progress::Done(Answer::Seen(row))
    }

    fn may_be_dropped(&self) -> bool {
        self.statements.dialect != Dialect::MySql
    }

    fn look(&mut self) -> Progress {
        self.stage = Stage::Read;
        Progress::More
    }

    fn read(&mut self, outcome: &Outcome) -> Result<Progress, RowError> {
        if let Some(row) = &outcome.row {
            return self.written(decode_row(row)?).map(Progress::Done);
        }
        let takes = matches!(self.query, Query::Attempt { .. });
        if takes && self.statements.all.seed.is_some() && !self.seeded {
            self.seeded = true;
            self.stage = Stage::Seed;
            return Ok(Progress::More);
        }
        self.written(Row::vacant()).map(Progress::Done)
    }

    /// What the row says of the query's own statement, if nothing else does. A statement that had to
    /// change the row, as it stands, and changed none was kept from it.
    fn written(&self, row: Row) -> Result<Answer, RowError> {
        let own =
            row.live_holder().is_some_and(|holder| holder.candidate == self.registration.candidate);
        let (epoch, remaining, resign_requested) = (row.epoch, row.remaining, row.resign_requested);
        Ok(match self.query {
            Query::Resign { epoch: left } if own && epoch == *left => {
                return Err(RowError::Unwritten);
            }
            Query::Resign { .. } => Answer::Released,
            Query::Renew { epoch: renewed, .. } if !own || epoch != *renewed => Answer::Gone,
            Query::Renew { .. } if self.untold => Answer::Renewed { remaining, resign_requested },
            Query::Renew { ordinal, .. } if row.renewals < *ordinal => {
                return Err(RowError::Unwritten);
            }
            Query::Renew { .. } => Answer::Gone,
            _ if self.untold && own => Answer::Won { epoch, remaining },
            _ => Answer::Seen(row),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Candidate, Epoch, Incarnation, Namespace, NodeId,
        sql::{Dialect, Tables, Value},
    };
    use alloc::vec;
    use uuid::Uuid;

    const TTL: Duration = Duration::from_secs(15);
    const EPOCH: Epoch = Epoch::new(7);
    const UNTOLD: Outcome = Outcome { row: None, affected: 1, last_insert_id: 0 };

    fn me() -> Registration {
        let (id, incarnation) = (NodeId::new("me").unwrap(), Incarnation::new(Uuid::nil()));
        let candidate = Candidate { id, incarnation };
        Registration { namespace: Namespace::default(), candidate, label: None }
    }

    /// The row with 14 s left and a request to resign.
    fn row(holder: &str, epoch: i64, renewals: i64) -> Outcome {
        let incarnation = Value::Text("00000000-0000-0000-0000-000000000000".into());
        let holder = Value::Text(alloc::string::String::from(holder).into());
        let numbers = [14_000, 15_000, renewals, 1, 0].map(Value::Integer);
        let mut row = vec![Value::Integer(epoch), holder, incarnation, Value::Null];
        row.extend(numbers);
        Outcome { row: Some(row), ..Outcome::default() }
    }

    /// What a query on MySQL yields whose statement changes the row behind a trigger, if the row then
    /// names this holder and epoch, with 14 s left and a request to resign.
    fn behind_a_trigger(query: &Query, holder: &str, epoch: i64) -> Answer {
        let statements = Statements::new(Dialect::MySql, &Tables::default());
        let me = me();
        let mut exchange = statements.begin(&me, query);
        assert_eq!(exchange.advance(&UNTOLD).unwrap(), Progress::More);
        assert!(exchange.call().sql.starts_with("SELECT"), "{:?}", exchange.call());
        match exchange.advance(&row(holder, epoch, 0)).unwrap() {
            Progress::Done(answer) => answer,
            Progress::More => panic!("the row says it"),
        }
    }

    #[test]
    fn what_a_trigger_hides_is_read() {
        let left = Duration::from_secs(14);
        let attempt = Query::Attempt { seen: Epoch::NONE, ttl: TTL, clock_step: Duration::ZERO };
        let won = Answer::Won { epoch: EPOCH, remaining: left };
        assert_eq!(behind_a_trigger(&attempt, "me", 7), won);
        assert!(matches!(behind_a_trigger(&attempt, "another", 7), Answer::Seen(_)));
        let clock_step = Duration::ZERO;
        let renew = Query::Renew { epoch: EPOCH, ordinal: 1, ttl: TTL, clock_step, leads: true };
        let renewed = Answer::Renewed { remaining: left, resign_requested: true };
        assert_eq!(behind_a_trigger(&renew, "me", 7), renewed);
        assert_eq!(behind_a_trigger(&renew, "me", 8), Answer::Gone);
        assert_eq!(behind_a_trigger(&renew, "another", 7), Answer::Gone);
    }

    /// What a query yields whose statement has changed no row, if the row then stands like this.
    fn unchanged(
        query: &Query,
        holder: &str,
        epoch: i64,
        renewals: i64,
    ) -> Result<Progress, RowError> {
        let statements = Statements::new(Dialect::Sqlite, &Tables::default());
        let me = me();
        let mut exchange = statements.begin(&me, query);
        assert_eq!(exchange.advance(&Outcome::default()).unwrap(), Progress::More);
        exchange.advance(&row(holder, epoch, renewals))
    }

    #[test]
    fn a_row_that_keeps_this_term_was_kept_from_being_written() {
        let clock_step = Duration::ZERO;
        let renew = Query::Renew { epoch: EPOCH, ordinal: 5, ttl: TTL, clock_step, leads: true };
        let resign = Query::Resign { epoch: EPOCH };
        let (gone, released) = (Progress::Done(Answer::Gone), Progress::Done(Answer::Released));
        for (query, over) in [(&renew, gone), (&resign, released)] {
            assert_eq!(unchanged(query, "me", 7, 4), Err(RowError::Unwritten), "{query:?}");
            assert_eq!(unchanged(query, "me", 8, 4), Ok(over.clone()), "{query:?}");
            assert_eq!(unchanged(query, "another", 7, 4), Ok(over), "{query:?}");
        }
        // Another process that bears this one's name and incarnation has renewed.
        assert_eq!(unchanged(&renew, "me", 7, 5), Ok(Progress::Done(Answer::Gone)));
    }

    #[test]
    fn a_write_that_nothing_drops_is_not_looked_at() {
        let clock_step = Duration::ZERO;
        let renew = |leads| Query::Renew { epoch: EPOCH, ordinal: 5, ttl: TTL, clock_step, leads };
        let (gone, released) = (Progress::Done(Answer::Gone), Progress::Done(Answer::Released));
        for (dialect, query, over) in [
            (Dialect::MySql, renew(true), gone.clone()),
            (Dialect::MySql, Query::Resign { epoch: EPOCH }, released),
            (Dialect::Postgres, renew(false), gone),
        ] {
            let statements = Statements::new(dialect, &Tables::default());
            let me = me();
            let answer = statements.begin(&me, &query).advance(&Outcome::default()).unwrap();
            assert_eq!(answer, over, "{query:?}");
        }
    }

    #[test]
    fn a_missing_row_holds_no_term() {
        let statements = Statements::new(Dialect::Sqlite, &Tables::default());
        let (me, resign) = (me(), Query::Resign { epoch: EPOCH });
        let mut exchange = statements.begin(&me, &resign);
        assert_eq!(exchange.advance(&Outcome::default()).unwrap(), Progress::More);
        let answer = exchange.advance(&Outcome::default()).unwrap();
        assert_eq!(answer, Progress::Done(Answer::Released));
    }
}

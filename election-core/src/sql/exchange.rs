//! The exchange behind one query: which statement comes next, and what the last one returned.
//!
//! Most queries are one statement. Where a dialect cannot tell a loser in that statement who holds
//! the lease, a second statement does. The first attempt in a namespace also makes the row.

use super::{
    statements::{Call, Columns, RowError, Statements, bind, decode_row, query_value},
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
        }
    }
}

impl<'a> Exchange<'a> {
    /// The statement to run now.
    #[must_use]
    pub fn call(&self) -> Call<'a> {
        let all = self.statements;
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
            (Stage::Seed, _) if self.statements.seed_fence.is_some() => {
                self.stage = Stage::SeedFence;
                Ok(Progress::More)
            }
            (Stage::Seed | Stage::SeedFence | Stage::SeedServer, _) => {
                self.stage = Stage::Act;
                Ok(Progress::More)
            }
            (Stage::Sweep, _) => Ok(Progress::Done(Answer::Listed)),
            (Stage::Act, Query::Attempt { ttl, .. } | Query::TakeOver { ttl, .. }) => {
                self.attempted(outcome, *ttl)
            }
            (Stage::Act, Query::Renew { ttl, .. }) => renewed(outcome, *ttl).map(Progress::Done),
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
        self.stage = Stage::Read;
        Ok(Progress::More)
    }

    /// Nobody has attempted behind this history of the server yet, so no attempt could win: record
    /// it, and look once more.
    fn lost(&mut self, row: Row) -> Progress {
        let records = self.statements.seed_server.is_some() && !self.seeded_server;
        if row.server.is_unknown() && records {
            self.seeded_server = true;
            self.stage = Stage::SeedServer;
            return Progress::More;
        }
        Progress::Done(Answer::Seen(row))
    }

    fn read(&mut self, outcome: &Outcome) -> Result<Progress, RowError> {
        if let Some(row) = &outcome.row {
            return Ok(Progress::Done(Answer::Seen(decode_row(row)?)));
        }
        let takes = matches!(self.query, Query::Attempt { .. });
        if takes && self.statements.seed.is_some() && !self.seeded {
            self.seeded = true;
            self.stage = Stage::Seed;
            return Ok(Progress::More);
        }
        Ok(Progress::Done(Answer::Seen(Row::vacant())))
    }
}

/// Decodes a renewal. Where the dialect returns a row, the row tells; MySQL counts the row and says
/// in the insert id whether a resignation was requested (1) or not (2).
fn renewed(outcome: &Outcome, ttl: Duration) -> Result<Answer, RowError> {
    if let Some(row) = &outcome.row {
        let columns = Columns(row);
        let remaining = columns.span(0)?;
        return Ok(Answer::Renewed { remaining, resign_requested: columns.integer(1)? == 1 });
    }
    Ok(match outcome.affected {
        0 => Answer::Gone,
        _ => Answer::Renewed { remaining: ttl, resign_requested: outcome.last_insert_id == 1 },
    })
}

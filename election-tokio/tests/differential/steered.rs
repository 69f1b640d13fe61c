//! The statements on one connection whose database reads a clock that a test sets.
//!
//! They run as in production, text and decoding included; only the clock differs:
//!
//! * MariaDB: `SET timestamp`, which `UTC_TIMESTAMP` follows.
//! * PostgreSQL: the time functions are found in a schema before `pg_catalog`; [`clock`] makes that
//!   schema, and the connection needs its search path.
//! * SQLite: sqlx can neither replace a function nor the VFS, so the reading stands in the text
//!   where `julianday('now')` stood. The rounding around it is the statement's own.
//!
//! A [`Plant`] changes a statement on its way, so a test can show that it would notice.

use election_core::{
    Candidate, Epoch, Namespace,
    lease::{Answer, Failure, Query, Registration},
    sql::{Call, CandidateRow, Dialect, Outcome, Progress, RowError, Statements, Value},
};
use election_driver::{
    SqlStore, Store as _, StoreError,
    conformance::inside::{self, Client},
};
use std::{future::Future, sync::Arc, time::Duration};
use uuid::Uuid;

/// The set-up of a PostgreSQL database and of a connection to it.
pub(crate) mod clock {
    /// Creates the schema that holds the clock.
    pub(crate) const SCHEMA: &str = "CREATE SCHEMA clock; GRANT USAGE ON SCHEMA clock TO public; \
         CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS \
         $$ SELECT to_timestamp(current_setting('election.now')::float8/1000000) $$; \
         CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS \
         $$ SELECT to_timestamp(current_setting('election.now')::float8/1000000) $$";
    /// The `search_path` under which the clock is found.
    pub(crate) const SEARCH_PATH: &str = "clock,pg_catalog,public";
}

/// The operations on a connection with a clock of its own; each fails if its statement does.
pub(crate) trait Steered {
    /// The dialect of its statements.
    fn dialect(&self) -> Dialect;

    /// Whether it asks about one election as about many.
    fn merges(&self) -> bool;

    /// Sets the clock, in unix milliseconds. The clock then stands still.
    fn set(&mut self, now_ms: i64) -> impl Future<Output = Result<(), StoreError>>;

    /// Empties the tables.
    fn clear(&mut self) -> impl Future<Output = Result<(), StoreError>>;

    /// Removes the record of the server's history, where there is one.
    fn forget(&mut self) -> impl Future<Output = Result<(), StoreError>>;

    /// Answers one query of a candidate.
    fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> impl Future<Output = Result<Answer, StoreError>>;

    /// The candidates on the list.
    fn list(
        &mut self,
        namespace: &Namespace,
    ) -> impl Future<Output = Result<Vec<CandidateRow>, StoreError>>;

    /// Asks for the resignation of a term, and says whether a holder was asked.
    fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> impl Future<Output = Result<bool, StoreError>>;

    /// Fences a transaction of this one statement, and returns what is left of the lease; `None` if
    /// the term is over.
    fn fence(
        &mut self,
        registration: &Registration,
        epoch: Epoch,
    ) -> impl Future<Output = Result<Option<Duration>, StoreError>>;

    /// Everything in the tables, in no order: see [`LEADER`] and [`CANDIDATE`].
    fn rows(&mut self) -> impl Future<Output = Result<Vec<Vec<Value<'static>>>, StoreError>>;

    /// Replaces the planted bug, and counts from zero how many sent statements it has changed.
    fn plant(&mut self, plant: Option<Plant>);

    /// How many statements the planted bug has changed.
    fn planted(&self) -> usize;
}

/// A bug for one statement.
#[derive(Clone, Debug)]
pub(crate) struct Plant {
    /// Words that identify the statement; one of them is enough.
    pub(crate) within: &'static [&'static str],
    /// Words to remove wherever they occur, the first of these that the statement has: one dialect
    /// qualifies a column, another does not.
    pub(crate) from: &'static [&'static str],
    /// The replacement.
    pub(crate) to: &'static str,
}

/// The statements of a store, over a connection to the kind of database that it is for; with `merges`
/// those for many elections, where there are such.
pub(crate) fn steered<C: Client>(
    store: &SqlStore<C>,
    connection: C::Connection,
    merges: bool,
) -> impl Steered {
    let statements = store.statements().expect("a store of SQL");
    Line::<C> { connection, statements, merges, now_ms: 0, plant: None, planted: 0 }
}

struct Line<C: Client> {
    connection: C::Connection,
    statements: Arc<Statements>,
    merges: bool,
    now_ms: i64,
    plant: Option<Plant>,
    planted: usize,
}

impl<C: Client> Steered for Line<C> {
    fn dialect(&self) -> Dialect {
        C::DIALECT
    }

    fn merges(&self) -> bool {
        self.merges
    }

    async fn set(&mut self, now_ms: i64) -> Result<(), StoreError> {
        self.now_ms = now_ms;
        // Within the millisecond, clear of every rounding and of the last bit of a double.
        let micros = vec![Value::Integer(now_ms * 1_000 + 250)];
        let (sql, returns_rows) = match C::DIALECT {
            Dialect::Sqlite => return Ok(()),
            Dialect::Postgres => {
                ("SELECT set_config('election.now', $1::bigint::text, false)", true)
            }
            Dialect::MySql => ("SET timestamp = ?/1000000", false),
        };
        self.run(&Call { sql, params: micros, returns_rows }).await.map(|_| ())
    }

    async fn clear(&mut self) -> Result<(), StoreError> {
        if C::DIALECT == Dialect::MySql {
            self.plain("DELETE FROM election_fence").await?; // it refers to the next
        }
        self.forget().await?;
        self.plain("DELETE FROM election_leader").await?;
        self.plain("DELETE FROM election_candidate").await
    }

    async fn forget(&mut self) -> Result<(), StoreError> {
        if C::DIALECT != Dialect::Postgres {
            return Ok(());
        }
        self.plain("DELETE FROM election_server").await
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        let statements = self.statements.clone();
        let left_out = self.merges;
        if left_out {
            if let Some(answer) = self.answer_among_many(registration, query).await? {
                return Ok(answer);
            }
        }
        let mut exchange = statements.begin(registration, query);
        // What follows a renewal tells of another term, and nobody records a promotion for many.
        let attempts = matches!(query, Query::Attempt { .. });
        let (mut counts, mut told) = (left_out, false);
        loop {
            let outcome = self.run(&exchange.call()).await?;
            told |= counts && (outcome.row.is_some() || outcome.affected > 0);
            if let Progress::Done(answer) = exchange.advance(&outcome).map_err(misread)? {
                let free = matches!(&answer, Answer::Seen(row) if row.live_holder().is_none());
                // The statement for many left it out without need: no answer to anything.
                return Ok(if told && !(attempts && free) { Answer::Unswept } else { answer });
            }
            counts &=
                attempts && !exchange.call().sql.contains("INSERT INTO \"public\".election_server");
            told &= counts;
        }
    }

    async fn list(&mut self, namespace: &Namespace) -> Result<Vec<CandidateRow>, StoreError> {
        let statements = self.statements.clone();
        let rows = self.fetch(statements.list_candidates(namespace)).await?;
        rows.iter().map(|columns| CandidateRow::decode(columns).map_err(misread)).collect()
    }

    async fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> Result<bool, StoreError> {
        let statements = self.statements.clone();
        let call = statements.request_resign(namespace, epoch);
        let sql = self.text(call.sql);
        let (affected, _) = C::execute(&mut self.connection, &Call { sql: &sql, ..call }).await?;
        Ok(affected > 0)
    }

    async fn fence(
        &mut self,
        registration: &Registration,
        epoch: Epoch,
    ) -> Result<Option<Duration>, StoreError> {
        let statements = self.statements.clone();
        let Registration { namespace, candidate, .. } = registration;
        let mut fence = statements.fence(namespace, candidate, epoch);
        loop {
            let outcome = self.run(&fence.call()).await?;
            match fence.advance(&outcome).map_err(misread)? {
                Progress::More => {}
                Progress::Done(left) => return Ok(left),
            }
        }
    }

    async fn rows(&mut self) -> Result<Vec<Vec<Value<'static>>>, StoreError> {
        let call = Call { sql: ALL_ROWS, params: Vec::new(), returns_rows: true };
        C::fetch(&mut self.connection, &call).await
    }

    fn plant(&mut self, plant: Option<Plant>) {
        (self.plant, self.planted) = (plant, 0);
    }

    fn planted(&self) -> usize {
        self.planted
    }
}

/// The first column of a leader's row. The others: namespace, epoch, id, incarnation, label, when
/// it was elected, when it expires, ttl, renewals, and the epoch that was asked to resign.
pub(crate) const LEADER: i64 = 0;
/// The first column of a candidate's row. The others: namespace, when it registered, id,
/// incarnation, label, when it expires, and nothing.
pub(crate) const CANDIDATE: i64 = 1;

const ALL_ROWS: &str = "SELECT 0, ns, epoch, leader_id, incarnation, label, elected_ms, \
     expires_ms, ttl_ms, renewals, resign_requested_epoch FROM election_leader UNION ALL \
     SELECT 1, ns, last_heartbeat_ms, candidate_id, incarnation, label, expires_ms, \
     NULL, NULL, NULL, NULL FROM election_candidate";

impl<C: Client> Line<C> {
    /// Asks together with a stranger, who leads and holds nothing.
    async fn answer_among_many(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Option<Answer>, StoreError> {
        let statements = self.statements.clone();
        let candidate = Candidate::from(Uuid::from_u128(7));
        let namespace = Namespace::new("another").unwrap();
        let stranger = Registration { namespace, candidate, label: None };
        let mut questions = vec![(&stranger, query), (registration, query)];
        if matches!(query, Query::Register { .. } | Query::Attempt { .. }) {
            questions.remove(0); // it would be listed, or lead
        }
        let mut merged = statements.merge(&questions).expect("they are alike");
        loop {
            let call = merged.call();
            let (rows, affected) = if call.params.is_empty() {
                C::send(&mut self.connection, call.sql).await?;
                (Vec::new(), 0)
            } else if call.returns_rows {
                (self.fetch(call).await?, 0)
            } else {
                (Vec::new(), self.run(&call).await?.affected)
            };
            if let Progress::Done(mut answers) = merged.advance(&rows, affected).map_err(misread)? {
                return Ok(answers.pop().flatten());
            }
        }
    }

    async fn run(&mut self, call: &Call<'_>) -> Result<Outcome, StoreError> {
        let sql = self.text(call.sql);
        let statements = &*self.statements;
        let call = Call { sql: &sql, ..call.clone() };
        inside::run::<C>(&mut self.connection, statements, &call).await
    }

    async fn fetch(&mut self, call: Call<'_>) -> Result<Vec<Vec<Value<'static>>>, StoreError> {
        let sql = self.text(call.sql);
        C::fetch(&mut self.connection, &Call { sql: &sql, ..call }).await
    }

    /// A statement's text as it is sent.
    fn text(&mut self, sql: &str) -> String {
        let mut sql = sql.to_owned();
        if let Some(plant) = &self.plant {
            let known = plant.within.iter().any(|words| sql.contains(words));
            let there = plant.from.iter().find(|from| sql.contains(**from));
            if let Some(from) = there.filter(|_| known) {
                sql = sql.replace(from, plant.to);
                self.planted += 1;
            }
        }
        if C::DIALECT != Dialect::Sqlite {
            return sql;
        }
        // As SQLite computes it: its clock counts the milliseconds of Julian days.
        #[allow(clippy::cast_precision_loss)]
        let day = (self.now_ms + 210_866_760_000_000) as f64 / 86_400_000.0;
        sql.replace("julianday('now')", &format!("{day:?}"))
    }

    async fn plain(&mut self, sql: &str) -> Result<(), StoreError> {
        let call = Call { sql, params: Vec::new(), returns_rows: false };
        C::execute(&mut self.connection, &call).await.map(|_| ())
    }
}

fn misread(error: RowError) -> StoreError {
    StoreError::new(Failure::Fatal, error.to_string())
}

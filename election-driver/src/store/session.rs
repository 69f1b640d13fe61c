//! The operations on one connection: the store's own, or one that the caller supplies.

use super::client::{Client, Reach};
use crate::{StoreError, StoreErrorCode, log::promoted};
use election_core::{
    Epoch, Namespace,
    lease::{Answer, Candidacy, Failure, Query, Registration, Round, Row},
    sql::{
        Call, CandidateRow, ElectionRow, Outcome, Progress, Question, RowError, Schema, Statements,
        Value,
    },
};

/// How often a statement that lost a deadlock is repeated. Once is enough, unless the winners are
/// undone in their turn.
const REPEATS: u32 = 3;

/// Ends a transaction of several statements that failed.
const UNDO: &str = "ROLLBACK AND NO CHAIN NO RELEASE";

/// One connection and the statements to run on it.
pub(crate) struct Session<'c, C: Client> {
    pub(crate) connection: &'c mut C::Connection,
    pub(crate) statements: &'c Statements,
    /// Whether each statement is a transaction of its own, so an error undoes only that statement.
    pub(crate) alone: bool,
    /// What goes before each statement for one election.
    pub(crate) bound: Option<String>,
}

impl<C: Client> Session<'_, C> {
    pub(super) async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        let mut exchange = self.statements.begin(registration, query);
        let mut repeats = 0;
        loop {
            let outcome = match self.run(&exchange.call()).await {
                Err(error) if self.alone && repeats < REPEATS && C::lost_a_deadlock(&error) => {
                    repeats += 1;
                    continue;
                }
                outcome => outcome?,
            };
            match exchange.advance(&outcome).map_err(not_ours)? {
                Progress::More => {}
                Progress::Done(answer) => return Ok(answer),
            }
        }
    }

    /// Answers questions that [merge](Statements::merge); `None` for one that has to be asked by itself.
    pub(super) async fn answer_many(
        &mut self,
        questions: &[Question<'_>],
    ) -> Result<Vec<Option<Answer>>, StoreError> {
        let mut repeats = 0;
        loop {
            match self.ask_many(questions).await {
                Err(error) if repeats < REPEATS && C::lost_a_deadlock(&error) => repeats += 1,
                answers => return answers,
            }
        }
    }

    async fn ask_many(
        &mut self,
        questions: &[Question<'_>],
    ) -> Result<Vec<Option<Answer>>, StoreError> {
        let Some(mut merged) = self.statements.merge(questions) else {
            return Ok(vec![None; questions.len()]);
        };
        let error = loop {
            let progress = match self.run_all(&merged.call()).await {
                Ok((rows, affected, _)) => merged.advance(&rows, affected).map_err(not_ours),
                Err(error) => Err(error),
            };
            match progress {
                Ok(Progress::More) => {}
                Ok(Progress::Done(answers)) => return Ok(answers),
                Err(error) => break error,
            }
        };
        if merged.is_transaction() {
            let undone = C::send(self.connection, UNDO).await;
            undone.map_err(|_| StoreError::new(Failure::Ambiguous, error.told()))?;
        }
        Err(StoreError { kind: merged.failed(error.kind), ..error })
    }

    /// All rows, how many were changed, and the last id that was inserted.
    async fn run_all(
        &mut self,
        call: &Call<'_>,
    ) -> Result<(Vec<Vec<Value<'static>>>, u64, u64), StoreError> {
        if call.returns_rows {
            return C::fetch(self.connection, call).await.map(|rows| (rows, 0, 0));
        }
        if call.params.is_empty() {
            return C::send(self.connection, call.sql).await.map(|()| (Vec::new(), 0, 0));
        }
        let (affected, last_insert_id) = C::execute(self.connection, call).await?;
        Ok((Vec::new(), affected, last_insert_id))
    }

    pub(super) async fn unregister(&mut self, who: &mut Candidacy) -> Result<Row, StoreError> {
        let registration = who.registration().clone();
        self.round(&registration, who.unregister()).await
    }

    /// Asks the questions of a round one after another.
    async fn round(
        &mut self,
        registration: &Registration,
        mut round: Round<'_>,
    ) -> Result<Row, StoreError> {
        loop {
            let query = round.query().clone();
            // Otherwise the future of a whole round would be too large to move about.
            let answer = Box::pin(self.answer(registration, &query)).await?;
            if let Some(row) = round.advance(answer) {
                return Ok(row);
            }
        }
    }

    pub(super) async fn elect(&mut self, who: &mut Candidacy) -> Result<Row, StoreError> {
        let registration = who.registration().clone();
        let row = self.round(&registration, who.elect()).await?;
        if row.live_holder().is_none() {
            let proof_in = who.proof_in(&row);
            if !proof_in.is_zero() {
                let context =
                    format!("nobody can be elected yet: {}; try again then", promoted(proof_in));
                return Err(StoreError::new(Failure::Conflict, context));
            }
            let context = "the leader is changing too fast to be determined, or the transaction \
                           sees an old snapshot; try again in a new transaction";
            return Err(StoreError::new(Failure::Conflict, context));
        }
        Ok(row)
    }

    pub(super) async fn leader(&mut self, namespace: &Namespace) -> Result<Row, StoreError> {
        let rows = C::fetch(self.connection, &self.statements.read(namespace)).await?;
        match rows.first() {
            Some(columns) => self.statements.decode_row(columns).map_err(not_ours),
            None => Ok(Row::vacant()),
        }
    }

    pub(super) async fn is_replica(&mut self) -> Result<bool, StoreError> {
        let Some(sql) = C::REPLICA else { return Ok(false) };
        let call = Call { sql, params: Vec::new(), returns_rows: true };
        let rows = C::fetch(self.connection, &call).await?;
        Ok(matches!(rows.first().and_then(|row| row.first()), Some(Value::Integer(1))))
    }

    pub(super) async fn list_candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Vec<CandidateRow>, StoreError> {
        let rows = C::fetch(self.connection, &self.statements.list_candidates(namespace)).await?;
        rows.iter().map(|columns| CandidateRow::decode(columns).map_err(not_ours)).collect()
    }

    pub(super) async fn list_elections(&mut self) -> Result<Vec<ElectionRow>, StoreError> {
        let rows = C::fetch(self.connection, &self.statements.list_elections()).await?;
        rows.iter().map(|columns| ElectionRow::decode(columns).map_err(not_ours)).collect()
    }

    pub(super) async fn election(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<ElectionRow>, StoreError> {
        let rows = C::fetch(self.connection, &self.statements.election(namespace)).await?;
        rows.first().map(|columns| ElectionRow::decode(columns).map_err(not_ours)).transpose()
    }

    pub(super) async fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> Result<bool, StoreError> {
        let call = self.statements.request_resign(namespace, epoch);
        let (affected, _) = C::execute(self.connection, &call).await?;
        Ok(affected > 0)
    }

    pub(super) async fn ask_leader(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<Epoch>, StoreError> {
        let outcome = self.run(&self.statements.ask_leader(namespace)).await?;
        let asked = self.statements.decode_asked(&outcome).map_err(not_ours)?;
        if asked != Some(Epoch::NONE) {
            return Ok(asked);
        }
        let row = self.leader(namespace).await?;
        if row.resign_requested {
            return Ok(Some(row.epoch));
        }
        let context = "the leader was asked to resign, but another already leads; ask again if \
                       that one should resign too";
        Err(StoreError::new(Failure::Conflict, context))
    }

    /// Whether the open transaction on this connection is fenced for this term now.
    pub(super) async fn fence(
        &mut self,
        registration: &Registration,
        epoch: Epoch,
        reach: Reach,
    ) -> Result<bool, StoreError> {
        let Registration { namespace, candidate, .. } = registration;
        let fence = self.statements.fence(namespace, candidate, epoch);
        let mut fence = match reach {
            Reach::All => fence,
            Reach::OneServer => fence.writing(),
        };
        loop {
            let outcome = self.run(&fence.call()).await?;
            match fence.advance(&outcome).map_err(not_ours)? {
                Progress::More => {}
                Progress::Done(left) => return Ok(left.is_some()),
            }
        }
    }

    pub(crate) async fn run(&mut self, call: &Call<'_>) -> Result<Outcome, StoreError> {
        let bounded = self.bound.as_ref().map(|bound| format!("{bound}{}", call.sql));
        let (rows, affected, last_insert_id) = match &bounded {
            Some(sql) => self.run_all(&Call { sql, ..call.clone() }).await?,
            None => self.run_all(call).await?,
        };
        Ok(Outcome { row: rows.into_iter().next(), affected, last_insert_id })
    }
}

/// Brings the tables to the version of this library at least, and says which they are at. After an
/// error the connection must not be used again: its end releases any lock or transaction it holds.
pub(super) async fn migrate<C: Client>(
    client: &C,
    connection: &mut C::Connection,
    schema: &Schema,
) -> Result<i64, StoreError> {
    // Most starts find everything in place, and need no right to create tables.
    client.pin(connection).await?;
    let current = version::<C>(connection, schema).await;
    client.unpin(connection, current.is_ok()).await?;
    match current {
        Ok(version) if schema.suits(version) => return Ok(version),
        // A user without the right to look is here to take part, not to create anything.
        Err(error) if C::lacks_right(&error) => return Err(error),
        _ => {}
    }
    let version = make(client, connection, schema).await;
    version.map_err(|error| if C::lacks_right(&error) { client.may_not_make(error) } else { error })
}

async fn make<C: Client>(
    client: &C,
    connection: &mut C::Connection,
    schema: &Schema,
) -> Result<i64, StoreError> {
    client.pin(connection).await?;
    client.begin_migration(connection).await?;
    client.may_make_tables(connection).await?;
    plain::<C>(connection, schema.create_version_table().sql).await?;
    let version = version::<C>(connection, schema).await?;
    if version > Schema::NEWEST_USABLE {
        let usable = Schema::NEWEST_USABLE;
        let context = format!(
            "the tables are at version {version}, but this program supports at most {usable}: \
             update the program"
        );
        return Err(StoreError::new(Failure::Fatal, context));
    }
    for migration in schema.pending(version) {
        for statement in &migration.statements {
            plain::<C>(connection, statement).await?;
        }
        record::<C>(connection, &schema.record_version(migration.version)).await?;
    }
    plain::<C>(connection, C::END_MIGRATION).await?;
    Ok(version.max(Schema::VERSION))
}

/// Another server of a cluster may record the same version at the same time.
async fn record<C: Client>(
    connection: &mut C::Connection,
    call: &Call<'_>,
) -> Result<(), StoreError> {
    for _ in 0..REPEATS {
        match C::execute(connection, call).await {
            Err(error) if C::lost_a_deadlock(&error) => {}
            recorded => return recorded.map(|_| ()),
        }
    }
    C::execute(connection, call).await.map(|_| ())
}

async fn version<C: Client>(
    connection: &mut C::Connection,
    schema: &Schema,
) -> Result<i64, StoreError> {
    let rows = C::fetch(connection, &schema.read_version()).await?;
    match rows.first().and_then(|columns| columns.first()) {
        Some(Value::Integer(version)) => Ok(*version),
        other => {
            let context = format!("the table of schema versions says {other:?}");
            Err(StoreError::new(Failure::Fatal, context))
        }
    }
}

pub(super) async fn plain<C: Client>(
    connection: &mut C::Connection,
    sql: &str,
) -> Result<(), StoreError> {
    let call = Call { sql, params: Vec::new(), returns_rows: false };
    C::execute(connection, &call).await.map(|_| ())
}

fn not_ours(error: RowError) -> StoreError {
    StoreError::new(Failure::Fatal, error.to_string()).coded(Some(StoreErrorCode::Row))
}

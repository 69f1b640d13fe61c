//! Running the core's statements over sqlx: what is the same for every database.
//!
//! The elector has a connection of its own, so that nothing an application does with its pool can
//! starve it. The connection is taken out while a statement runs and put back only if the
//! conversation ended in good order: a future that was dropped in the middle leaves none behind,
//! and the next question opens a new one instead of reading the answer to an old one.

use crate::StoreError;
use election_core::{
    Epoch, Namespace,
    lease::{Answer, Failure, Query, Registration, Row},
    sql::{Call, CandidateRow, Dialect, Outcome, Progress, Schema, Statements, Tables, Value},
};
use std::future::Future;

/// What differs between the databases.
pub(super) trait Client: Clone + Send + Sync + 'static {
    type Connection: Send;

    const DIALECT: Dialect;
    /// Opens a transaction in which two migrations cannot meet.
    const BEGIN: &'static str;

    /// Opens a connection; `create` also makes the database if there is none.
    fn connect(
        &self,
        create: bool,
    ) -> impl Future<Output = Result<Self::Connection, StoreError>> + Send;

    /// Whether a connection that was kept still leads to the right database.
    fn is_current(&self, connection: &Self::Connection) -> bool;

    /// Tells those who wait for this database that leadership has moved, where the database does
    /// not do that itself.
    fn announce(&self);

    /// Fetches all rows.
    fn fetch(
        connection: &mut Self::Connection,
        call: &Call<'_>,
    ) -> impl Future<Output = Result<Vec<Vec<Value<'static>>>, StoreError>> + Send;

    /// Counts changed rows, and the last insert id where there is one.
    fn execute(
        connection: &mut Self::Connection,
        call: &Call<'_>,
    ) -> impl Future<Output = Result<(u64, u64), StoreError>> + Send;
}

/// A lease store over one database client.
pub(super) struct SqlStore<C: Client> {
    pub(super) client: C,
    connection: Option<C::Connection>,
    statements: Statements,
    schema: Schema,
}

/// Settings are copied, connections are not.
impl<C: Client> Clone for SqlStore<C> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            connection: None,
            statements: self.statements.clone(),
            schema: self.schema.clone(),
        }
    }
}

impl<C: Client> SqlStore<C> {
    pub(super) fn new(client: C, tables: &Tables) -> Self {
        Self {
            client,
            connection: None,
            statements: Statements::new(C::DIALECT, tables),
            schema: Schema::new(C::DIALECT, tables),
        }
    }

    pub(super) async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        let mut connection = self.take_connection(false).await?;
        let mut exchange = self.statements.begin(registration, query);
        let answer = loop {
            let call = exchange.call();
            let outcome = match run::<C>(&mut connection, &call).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    if error.kind == Failure::Conflict {
                        self.connection = Some(connection);
                    }
                    return Err(error);
                }
            };
            match exchange.advance(&outcome).map_err(not_ours)? {
                Progress::More => {}
                Progress::Done(answer) => break answer,
            }
        };
        self.connection = Some(connection);
        if matches!(answer, Answer::Won { .. } | Answer::Released) {
            self.client.announce();
        }
        Ok(answer)
    }

    pub(super) async fn ensure_schema(&mut self) -> Result<(), StoreError> {
        let mut connection = self.take_connection(true).await?;
        plain::<C>(&mut connection, C::BEGIN).await?;
        let migrated = migrate::<C>(&mut connection, &self.schema).await;
        match &migrated {
            Ok(()) => plain::<C>(&mut connection, "COMMIT").await?,
            Err(_) => plain::<C>(&mut connection, "ROLLBACK").await?,
        }
        self.connection = Some(connection);
        migrated
    }

    pub(super) async fn row(&mut self, namespace: &Namespace) -> Result<Row, StoreError> {
        let mut connection = self.take_connection(false).await?;
        let call = self.statements.read(namespace);
        let rows = C::fetch(&mut connection, &call).await?;
        self.connection = Some(connection);
        match rows.first() {
            Some(columns) => self.statements.decode_row(columns).map_err(not_ours),
            None => Ok(Row::vacant()),
        }
    }

    pub(super) async fn candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Vec<CandidateRow>, StoreError> {
        let mut connection = self.take_connection(false).await?;
        let call = self.statements.list_candidates(namespace);
        let rows = C::fetch(&mut connection, &call).await?;
        self.connection = Some(connection);
        rows.iter().map(|columns| CandidateRow::decode(columns).map_err(not_ours)).collect()
    }

    pub(super) async fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> Result<bool, StoreError> {
        let mut connection = self.take_connection(false).await?;
        let call = self.statements.request_resign(namespace, epoch);
        let (affected, _) = C::execute(&mut connection, &call).await?;
        self.connection = Some(connection);
        if affected > 0 {
            self.client.announce();
        }
        Ok(affected > 0)
    }

    async fn take_connection(&mut self, create: bool) -> Result<C::Connection, StoreError> {
        match self.connection.take() {
            Some(connection) if self.client.is_current(&connection) => Ok(connection),
            _ => self.client.connect(create).await,
        }
    }
}

async fn run<C: Client>(
    connection: &mut C::Connection,
    call: &Call<'_>,
) -> Result<Outcome, StoreError> {
    if call.returns_rows {
        let mut rows = C::fetch(connection, call).await?;
        let row = if rows.is_empty() { None } else { Some(rows.swap_remove(0)) };
        Ok(Outcome { row, ..Outcome::default() })
    } else {
        let (affected, last_insert_id) = C::execute(connection, call).await?;
        Ok(Outcome { row: None, affected, last_insert_id })
    }
}

async fn plain<C: Client>(connection: &mut C::Connection, sql: &str) -> Result<(), StoreError> {
    let call = Call { sql, params: Vec::new(), returns_rows: false };
    C::execute(connection, &call).await.map(|_| ())
}

async fn migrate<C: Client>(
    connection: &mut C::Connection,
    schema: &Schema,
) -> Result<(), StoreError> {
    C::execute(connection, &schema.create_version_table()).await?;
    let rows = C::fetch(connection, &schema.read_version()).await?;
    let version = match rows.first().and_then(|columns| columns.first()) {
        Some(Value::Integer(version)) => *version,
        other => {
            let context = format!("the table of schema versions says {other:?}");
            return Err(StoreError::new(Failure::Fatal, context));
        }
    };
    if version > Schema::VERSION {
        let known = Schema::VERSION;
        let context = format!(
            "the tables are at version {version}, this program knows {known}: update the program"
        );
        return Err(StoreError::new(Failure::Fatal, context));
    }
    for migration in schema.pending(version) {
        for statement in &migration.statements {
            plain::<C>(connection, statement).await?;
        }
        C::execute(connection, &schema.record_version(migration.version)).await?;
    }
    Ok(())
}

fn not_ours(error: election_core::sql::RowError) -> StoreError {
    StoreError::new(Failure::Fatal, error.to_string())
}

//! SQLite: the embedded default.

use super::{
    files::{self, FileId},
    sql::{Client, SqlStore},
};
use crate::{Notifications, Store, StoreError};
use election_core::{
    Epoch, Namespace,
    lease::{Answer, Config, Failure, Query, Registration, Row},
    sql::{Call, CandidateRow, Dialect, Tables, Value},
};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Row as _, SqliteConnection, TypeInfo as _, ValueRef as _,
    query::Query as SqlxQuery,
    sqlite::{
        Sqlite, SqliteArguments, SqliteConnectOptions, SqlitePool, SqliteRow, SqliteSynchronous,
    },
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// The leader row in a SQLite file, for processes on one machine.
///
/// It uses a connection of its own and waits for locks no longer than half of the elector's
/// attempt timeout. Other processes' writes wake it up at once (by watching the file), so that a
/// graceful hand-over does not wait for a poll.
///
/// What to know: the file must not be on a network file system (refused where it can be seen). A
/// process that is stopped inside a write transaction blocks every election until it goes on or
/// dies. A transaction that fences its writes blocks its own elector's renewals too: keep it
/// short.
#[derive(Clone)]
pub struct SqliteStore(SqlStore<File>);

#[derive(Clone)]
struct File {
    path: PathBuf,
    busy_timeout: Duration,
}

struct Opened {
    connection: SqliteConnection,
    file: Option<FileId>,
    path: PathBuf,
}

impl SqliteStore {
    /// The default tables in the database at `path`. Nothing is opened or created yet.
    ///
    /// # Errors
    /// If `path` cannot be a database that several processes share: empty, in memory, a
    /// directory, on a network file system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_tables(path, &Tables::default())
    }

    /// Like [`open`](Self::open), with tables of other names.
    ///
    /// # Errors
    /// As there.
    pub fn open_tables(path: impl AsRef<Path>, tables: &Tables) -> Result<Self, StoreError> {
        let path = files::checked(path.as_ref())?;
        files::refuse_network(&path)?;
        Ok(Self(SqlStore::new(File { path, busy_timeout: Duration::from_secs(5) }, tables)))
    }

    /// The database that a pool of the application uses. The elector still opens a connection of
    /// its own: an exhausted pool must not cost the lease.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_pool(pool: &SqlitePool) -> Result<Self, StoreError> {
        let options = pool.connect_options();
        // There is no accessor. What such a pool calls its file is an arbitrary name, and a file
        // of that name would be another database.
        if format!("{options:?}").contains("in_memory: true") {
            return Err(files::in_memory());
        }
        Self::open(options.get_filename())
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.client.path
    }

    /// Makes the database file and the tables where they are missing, and brings older tables up
    /// to date. Safe to call from every process at every start.
    ///
    /// # Errors
    /// If the file cannot be made or written, or its tables are newer than this program.
    pub async fn ensure_schema(&mut self) -> Result<(), StoreError> {
        self.0.ensure_schema().await
    }

    /// Reads who leads in a namespace.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn leader(&mut self, namespace: &Namespace) -> Result<Row, StoreError> {
        self.0.row(namespace).await
    }

    /// The candidates of a namespace whose registration has not run out, by name.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn list_candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Vec<CandidateRow>, StoreError> {
        self.0.candidates(namespace).await
    }

    /// Asks the holder of one term to resign, whichever process it is. Returns whether that term
    /// is held; it then learns of the request by its next look at the row.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> Result<bool, StoreError> {
        self.0.request_resign(namespace, epoch).await
    }
}

impl Store for SqliteStore {
    fn prepare(&mut self, config: &Config) {
        self.0.client.busy_timeout = config.attempt_timeout() / 2;
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        self.0.answer(registration, query).await
    }

    fn notifications(&mut self, _: &Registration) -> Notifications {
        files::writes(self.path())
    }
}

impl Client for File {
    type Connection = Opened;

    const DIALECT: Dialect = Dialect::Sqlite;
    const BEGIN: &'static str = "BEGIN IMMEDIATE";

    async fn connect(&self, create: bool) -> Result<Opened, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .create_if_missing(create)
            .busy_timeout(self.busy_timeout)
            // An acknowledged renewal must survive a power failure.
            .synchronous(SqliteSynchronous::Full)
            .optimize_on_close(false, None)
            .disable_statement_logging();
        let mut connection = options
            .connect()
            .await
            .map_err(|error| explain(&self.path, error, Failure::Transient))?;
        let file = FileId::of(&self.path);
        if create {
            self.prepare_new(&mut connection).await?;
        }
        Ok(Opened { connection, file, path: self.path.clone() })
    }

    fn is_current(&self, opened: &Opened) -> bool {
        opened.file.is_some() && opened.file == FileId::of(&self.path)
    }

    fn announce(&self) {
        files::touch(&self.path);
    }

    async fn fetch(
        opened: &mut Opened,
        call: &Call<'_>,
    ) -> Result<Vec<Vec<Value<'static>>>, StoreError> {
        let rows = bound(call)
            .fetch_all(&mut opened.connection)
            .await
            .map_err(|error| explain(&opened.path, error, Failure::Ambiguous))?;
        let fail = |error| explain(&opened.path, error, Failure::Fatal);
        rows.iter()
            .map(|row| (0..row.len()).map(|at| column(row, at).map_err(fail)).collect())
            .collect()
    }

    async fn execute(opened: &mut Opened, call: &Call<'_>) -> Result<(u64, u64), StoreError> {
        let done = bound(call)
            .execute(&mut opened.connection)
            .await
            .map_err(|error| explain(&opened.path, error, Failure::Ambiguous))?;
        Ok((done.rows_affected(), 0))
    }
}

impl File {
    /// A database that was just made gets a write-ahead log, so that reading never waits for
    /// writing. One that an application made keeps the mode it has.
    async fn prepare_new(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let fail = |error| explain(&self.path, error, Failure::Ambiguous);
        let tables = sqlx::query("SELECT count(*) FROM sqlite_schema")
            .fetch_one(&mut *connection)
            .await
            .map_err(fail)?;
        if tables.try_get::<i64, _>(0).map_err(fail)? > 0 {
            return Ok(());
        }
        match sqlx::query("PRAGMA journal_mode = WAL").execute(connection).await {
            Ok(_) => Ok(()),
            Err(error) => match fail(error) {
                // Somebody else is making it at this very moment.
                error if error.kind == Failure::Conflict => Ok(()),
                error => Err(error),
            },
        }
    }
}

fn bound<'q>(call: &Call<'q>) -> SqlxQuery<'q, Sqlite, SqliteArguments> {
    let query = sqlx::query(AssertSqlSafe(call.sql));
    call.params.iter().fold(query, |query, value| match value {
        Value::Null => query.bind(None::<i64>),
        Value::Integer(number) => query.bind(*number),
        Value::Text(text) => query.bind(text.clone().into_owned()),
    })
}

fn column(row: &SqliteRow, at: usize) -> sqlx::Result<Value<'static>> {
    let raw = row.try_get_raw(at)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let kind = raw.type_info();
    match kind.name() {
        "INTEGER" | "BOOLEAN" => row.try_get_unchecked::<i64, _>(at).map(Value::Integer),
        _ => row.try_get_unchecked::<String, _>(at).map(|text| Value::Text(text.into())),
    }
}

/// What SQLite's result codes mean for an election, and what to do about them.
fn explain(path: &Path, error: sqlx::Error, otherwise: Failure) -> StoreError {
    let code = match &error {
        sqlx::Error::Database(database) => {
            database.code().and_then(|code| code.parse::<i32>().ok()).map(|code| code & 0xff)
        }
        _ => None,
    };
    let (kind, hint) = match code {
        Some(5 | 6) => (Failure::Conflict, "another process is writing"),
        Some(8 | 3) => (
            Failure::Fatal,
            "the file or its directory cannot be written; grant this user write access to both \
             (SQLite keeps its log beside the file)",
        ),
        Some(13) => (Failure::Fatal, "the disk is full; free some space"),
        Some(14) => (
            Failure::Fatal,
            "the database cannot be opened; check that its directory exists and is writable, and \
             that its tables were made (`ensure_schema`, or `election schema --apply`)",
        ),
        Some(11 | 26) => {
            (Failure::Fatal, "this is not a SQLite database, or it is damaged; restore it")
        }
        Some(1) if error.to_string().contains("no such table") => (
            Failure::Fatal,
            "the tables are missing; make them with `ensure_schema` or `election schema --apply`",
        ),
        Some(1) => (Failure::Fatal, "the tables are not those of this program"),
        Some(10) => (Failure::Ambiguous, "the disk failed to read or write"),
        _ => (otherwise, "the database did not answer"),
    };
    StoreError::new(kind, format!("{}: {hint}", path.display())).with_source(error)
}

//! MySQL and MariaDB.

use super::{
    Pause,
    calls::{explained, sqlx_calls},
    client::Client,
    sql::SqlStore,
    transport::{self, Transport},
};
use crate::{Notifications, StoreError};
use election_core::{
    lease::{Config, Failure, Registration},
    sql::{Call, Dialect, Tables, Value},
};
use sqlx::{
    ConnectOptions as _, Executor as _, MySqlConnection, MySqlPool, Row as _, TypeInfo as _,
    ValueRef as _,
    mysql::{MySqlConnectOptions, MySqlQueryResult, MySqlRow},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const DEADLOCK: u16 = 1213;

/// The leader row in MySQL 8 or MariaDB 10.4, or later.
///
/// There are no notifications here: a graceful hand-over waits for the next poll, a third of the
/// ttl unless set otherwise.
///
/// A server with `innodb_flush_log_at_trx_commit` other than 1 may take back what it has
/// acknowledged when it crashes: a renewal, or the win of a term that then is won once more. With
/// 2 that takes a crash of the machine, with 0 one of the server. The store says so in a warning
/// once it has connected.
///
/// # Least privilege
///
/// A user that takes part, here `app` on the default tables in the database at hand, needs no more
/// than this:
///
/// ```sql
#[doc = include_str!("mysql.grants.sql")]
/// ```
///
/// Who makes the tables ([`ensure_schema`](SqlStore::ensure_schema)) needs `CREATE`, `SELECT` and
/// `INSERT` on the database, and on MySQL, its manual says, `REFERENCES`. Where they are in place, `ensure_schema` only reads.
pub type MySqlStore = SqlStore<MySqlServer>;

/// A MySQL or MariaDB server, as [`MySqlStore`]'s client.
#[derive(Clone)]
pub struct MySqlServer {
    options: MySqlConnectOptions,
    lock_wait: Duration,
    /// What there was to warn of has been said.
    warned: Arc<AtomicBool>,
}

impl MySqlStore {
    /// The default tables in the database of a `mysql://` (or `mariadb://`) URL. Nothing is
    /// connected yet.
    ///
    /// A server that is not on this machine (`localhost`, 127.0.0.0/8, `::1`, a unix socket) is
    /// spoken to over TLS, and only if an authority that this machine knows vouches for its host
    /// name (`ssl-mode=VERIFY_IDENTITY`). So is one whose authority the URL names: `ssl-ca`. An
    /// `ssl-mode` in the URL wins.
    ///
    /// # Errors
    /// If the URL cannot be understood, or asks for encryption without the feature `tls`.
    pub fn connect(url: &str) -> Result<Self, StoreError> {
        Ok(Self::with_options(transport::mysql(url)?, &Tables::default()))
    }

    /// Like [`connect`](Self::connect), from options, which are used as they are, and with tables
    /// of other names.
    #[must_use]
    pub fn with_options(options: MySqlConnectOptions, tables: &Tables) -> Self {
        // Nothing here depends on the session's time zone, mode or character set.
        let options = options
            .timezone(None)
            .set_names(false)
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .disable_statement_logging();
        let lock_wait = Duration::from_secs(5);
        Self::with_client(MySqlServer { options, lock_wait, warned: Arc::default() }, tables)
    }

    /// The database that a pool of the application uses. The elector still opens a connection of
    /// its own: an exhausted pool must not cost the lease.
    #[must_use]
    pub fn from_pool(pool: &MySqlPool) -> Self {
        Self::with_options(pool.connect_options().as_ref().clone(), &Tables::default())
    }

    /// Where the server is, and how what is said to it is protected on its way.
    #[must_use]
    pub fn transport(&self) -> Transport {
        transport::of_mysql(&self.client.options)
    }
}

impl Client for MySqlServer {
    type Connection = MySqlConnection;
    type Identity = ();

    const DIALECT: Dialect = Dialect::MySql;
    /// Making a table commits by itself here, so a lock of its own keeps migrations apart.
    const BEGIN_MIGRATION: &'static [&'static str] = &["DO GET_LOCK('election_schema', 30)"];
    const END_MIGRATION: &'static [&'static str] = &["DO RELEASE_LOCK('election_schema')"];

    /// Usual where sixteen contenders make one row at the same time.
    fn lost_a_deadlock(error: &StoreError) -> bool {
        let source = error.source.as_ref().and_then(|source| source.downcast_ref());
        source.and_then(number) == Some(DEADLOCK)
    }

    async fn connect(&self, _: bool) -> Result<MySqlConnection, StoreError> {
        let fail = |error| explain(error, Failure::Transient);
        let mut connection = self.options.connect().await.map_err(fail)?;
        // The server's own default is fifty seconds. Whole seconds are all it takes.
        let wait = self.lock_wait.as_secs().max(1);
        let bound = format!("SET SESSION innodb_lock_wait_timeout = {wait}");
        connection.execute(sqlx::AssertSqlSafe(bound)).await.map_err(fail)?;
        // MariaDB can be told more exactly, and ends a statement that its client has given up.
        // What MySQL calls alike bounds only SELECT, so there a short lease waits a whole second.
        let bound = format!("SET SESSION max_statement_time = {}", self.lock_wait.as_secs_f64());
        if let Err(error) = connection.execute(sqlx::AssertSqlSafe(bound)).await {
            tracing::debug!(%error, "statements are not bounded by the server");
        }
        self.warn(&mut connection).await;
        Ok(connection)
    }

    fn place(&self) -> String {
        transport::of_mysql(&self.options).server
    }

    fn identity(&self) -> Option<()> {
        Some(())
    }

    fn bound_waits(&mut self, config: &Config) {
        self.lock_wait = config.attempt_timeout() / 2;
    }

    /// There is nothing to listen to; polling does it.
    fn notifications(&self, _: &Registration, _: Pause) -> Notifications {
        Box::pin(futures_lite::stream::pending())
    }

    sqlx_calls!(
        MySqlConnection,
        text: |text: &std::borrow::Cow<'_, str>| text.as_bytes().to_vec(),
        column: column,
        explain: explain,
        id: MySqlQueryResult::last_insert_id,
        prepared: |_: &MySqlConnection| true
    );
}

impl MySqlServer {
    /// Warns of a server that forgets; once, since it concerns the server and not a connection.
    async fn warn(&self, connection: &mut MySqlConnection) {
        if self.warned.swap(true, Ordering::Relaxed) {
            return;
        }
        let asked = "SELECT CAST(@@GLOBAL.innodb_flush_log_at_trx_commit AS SIGNED)";
        match sqlx::query_scalar::<_, i64>(asked).fetch_one(connection).await {
            Ok(1) => {}
            Ok(setting) => tracing::warn!(
                server = %self.place(),
                "innodb_flush_log_at_trx_commit is {setting}: a crash can take back an \
                 acknowledged renewal or win, and two leaders may be the consequence; set it to 1"
            ),
            Err(error) => tracing::debug!(%error, "cannot tell whether commits are durable"),
        }
    }
}

fn column(row: &MySqlRow, at: usize) -> Result<Value<'static>, StoreError> {
    let fail = |error| explain(error, Failure::Fatal);
    let raw = row.try_get_raw(at).map_err(fail)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let kind = raw.type_info();
    if kind.name().contains("INT") {
        return row.try_get_unchecked::<i64, _>(at).map(Value::Integer).map_err(fail);
    }
    let bytes = row.try_get_unchecked::<Vec<u8>, _>(at).map_err(fail)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        StoreError::new(Failure::Fatal, "a name in the tables is not UTF-8").with_source(error)
    })?;
    Ok(Value::Text(text.into()))
}

/// The server's code of an error.
fn number(error: &sqlx::Error) -> Option<u16> {
    let database = error.as_database_error()?;
    let mysql = database.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>()?;
    Some(mysql.number())
}

/// What the servers' codes mean for an election, and what to do about them.
fn explain(error: sqlx::Error, otherwise: Failure) -> StoreError {
    let number = number(&error);
    explained(error, otherwise, |_, _| {
        Some(match number? {
            1205 => (Failure::Conflict, "another transaction holds the leader row"),
            DEADLOCK => (Failure::Conflict, "the statement lost a deadlock and was undone"),
            1969 | 3024 => (Failure::Conflict, "the statement waited too long and was undone"),
            1317 => (Failure::Transient, "the statement was cancelled"),
            1040 | 1203 | 1226 => (Failure::Transient, "the server has no connection left"),
            1053 => (Failure::Transient, "the server is shutting down"),
            1146 | 1054 => (
                Failure::Fatal,
                "the tables are missing or of an older version; make them with `ensure_schema` or \
                 `election schema --apply`",
            ),
            1142 | 1143 | 1044 => (
                Failure::Fatal,
                "this database user lacks a right; grant SELECT, INSERT, UPDATE and DELETE on the \
                 election's tables",
            ),
            1290 | 1836 => {
                (Failure::Fatal, "this server only reads (a replica?); connect to the primary")
            }
            1045 => (Failure::Fatal, "the server refused user or password"),
            1049 => (Failure::Fatal, "there is no database of this name on the server"),
            _ => return None,
        })
    })
}

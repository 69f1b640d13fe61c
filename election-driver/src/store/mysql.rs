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
    ConnectOptions as _, Connection as _, Executor as _, MySqlConnection, MySqlPool, Row as _,
    TypeInfo as _, ValueRef as _,
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
/// # Settings
///
/// On its own connection the store sets what its statements rely on and asks the server whether it
/// is so, whatever the server's defaults or its `init_connect` say: `autocommit` and
/// `foreign_key_checks` on, `completion_type` `NO_CHAIN`, and a few more. A connection of the
/// caller's is only asked: [`on`](SqlStore::on) and a fence refuse one whose settings would make
/// them empty words. `tx_read_only` (`transaction_read_only`) is respected: where it is on, nobody
/// leads, and errors say so.
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
/// `INSERT` on the database, and on MySQL, its manual says, `REFERENCES`. Where they are in place,
/// `ensure_schema` only reads.
///
/// # What rights mean
///
/// Who may `SELECT` from `election_leader` can lock its rows, and while a row is locked nobody can
/// renew: `Lock wait timeout exceeded; try restarting transaction`, and the lease runs out. `SELECT …
/// LOCK IN SHARE MODE` (`FOR SHARE`) does it, and so does a plain `SELECT` in a transaction of
/// isolation `SERIALIZABLE`, for as long as that transaction stays open: a forgotten console, a
/// dashboard, a backup tool. Nobody else leads meanwhile, so exclusion holds; availability does not.
/// There is no right on these servers to read without being able to lock. Therefore
///
/// * grant `SELECT` on the tables only to users that take part, not to people or dashboards, and
///   none of them `LOCK TABLES`; show leaders with `election status` or
///   [`leader`](SqlStore::leader), which read outside of any transaction,
/// * let others read a replica,
/// * bound transactions that sit idle: MariaDB's `idle_transaction_timeout`. MySQL has no such
///   setting.
///
/// Who may `UPDATE` or `DELETE` the rows decides who leads.
pub type MySqlStore = SqlStore<MySqlServer>;

/// A MySQL or MariaDB server, as [`MySqlStore`]'s client.
#[derive(Clone)]
pub struct MySqlServer {
    options: MySqlConnectOptions,
    /// The database that holds the tables, if it is not the connection's.
    schema: Option<String>,
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
        // What the session has to be is set, and asked for, once it is there.
        let options = options
            .timezone(None)
            .set_names(false)
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .disable_statement_logging();
        let lock_wait = Duration::from_secs(5);
        let schema = tables.named_schema().map(str::to_owned);
        Self::with_client(
            MySqlServer { options, schema, lock_wait, warned: Arc::default() },
            tables,
        )
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
        connection.execute(SESSION).await.map_err(fail)?;
        connection.execute(ISOLATION).await.map_err(fail)?;
        // `init_connect` may have changed it, for some users and not for others.
        if let Some(database) = self.options.get_database() {
            let stay = format!("USE `{}`", database.replace('`', "``"));
            connection.execute(sqlx::AssertSqlSafe(stay)).await.map_err(fail)?;
        }
        // The server's own defaults are fifty seconds and a day. Whole seconds are all it takes.
        let wait = self.lock_wait.as_secs().max(1);
        let bound =
            format!("SET SESSION innodb_lock_wait_timeout = {wait}, lock_wait_timeout = {wait}");
        connection.execute(sqlx::AssertSqlSafe(bound)).await.map_err(fail)?;
        // MariaDB can be told more exactly, and ends a statement that its client has given up.
        // What MySQL calls alike bounds only SELECT, so there a short lease waits a whole second.
        let bound = format!("SET SESSION max_statement_time = {}", self.lock_wait.as_secs_f64());
        if let Err(error) = connection.execute(sqlx::AssertSqlSafe(bound)).await {
            tracing::debug!(%error, "statements are not bounded by the server");
        }
        Settings::of(&mut connection).await?.refuse_unless(Settings::fit_for_statements)?;
        self.warn(&mut connection).await;
        Ok(connection)
    }

    fn use_tables(&mut self, tables: &Tables) -> Result<(), StoreError> {
        self.schema = tables.named_schema().map(str::to_owned);
        Ok(())
    }

    async fn check(connection: &mut MySqlConnection) -> Result<(), StoreError> {
        let fit = if connection.is_in_transaction() {
            Settings::fit_for_transactions
        } else {
            Settings::fit_for_statements
        };
        Settings::of(connection).await?.refuse_unless(fit)
    }

    fn place(&self) -> String {
        let server = transport::of_mysql(&self.options).server;
        match self.schema.as_deref().or(self.options.get_database()) {
            Some(database) => format!("{server}, database {database}"),
            None => server,
        }
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

/// What every statement of the elector's own relies on, whatever the server's defaults or its
/// `init_connect` say: that it is committed by itself, holds to foreign keys, and neither loses rows
/// nor bends values on its way.
const SESSION: &str = "SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', \
     foreign_key_checks = 1, unique_checks = 1, sql_safe_updates = 0, \
     sql_select_limit = 18446744073709551615, \
     sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', timestamp = DEFAULT";

/// Nothing that is not committed yet is ever read. Whether it may write is left to the server.
const ISOLATION: &str = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";

/// What a session says it is set to.
struct Settings {
    autocommit: bool,
    no_chain: bool,
    foreign_keys: bool,
}

impl Settings {
    async fn of(connection: &mut MySqlConnection) -> Result<Self, StoreError> {
        let asked = "SELECT @@SESSION.autocommit = 1, @@SESSION.completion_type = 'NO_CHAIN', \
                     @@SESSION.foreign_key_checks = 1";
        let told = sqlx::query(asked).fetch_one(connection).await;
        let row = told.map_err(|error| explain(error, Failure::Transient))?;
        let on = |at| Ok::<_, StoreError>(column(&row, at)? == Value::Integer(1));
        Ok(Self { autocommit: on(0)?, no_chain: on(1)?, foreign_keys: on(2)? })
    }

    /// In a transaction that the caller ends.
    fn fit_for_transactions(&self) -> Result<(), &'static str> {
        if self.foreign_keys {
            return Ok(());
        }
        Err("foreign_key_checks is off in this session, so that no fence would be waited for; run \
             SET SESSION foreign_key_checks = 1")
    }

    /// Where every statement has to be a transaction of its own.
    fn fit_for_statements(&self) -> Result<(), &'static str> {
        if !self.autocommit {
            return Err(
                "autocommit is off in this session and no transaction is open, so that nothing \
                 would ever be committed; begin a transaction, or run SET SESSION autocommit = 1",
            );
        }
        if !self.no_chain {
            return Err(
                "completion_type is not NO_CHAIN in this session, so that a commit may have opened \
                 another transaction; begin one, or run SET SESSION completion_type = NO_CHAIN",
            );
        }
        self.fit_for_transactions()
    }

    fn refuse_unless(
        &self,
        fit: impl Fn(&Self) -> Result<(), &'static str>,
    ) -> Result<(), StoreError> {
        fit(self).map_err(|why| StoreError::new(Failure::Fatal, why))
    }
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
    explained(error, otherwise, |code, _| {
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
            1290 | 1836 | 1792 => (
                Failure::Fatal,
                "this server only reads (a replica?), or this session does; connect to the \
                 primary, or switch tx_read_only (transaction_read_only) off",
            ),
            1045 => (Failure::Fatal, "the server refused user or password"),
            1049 => (Failure::Fatal, "there is no database of this name on the server"),
            1046 => (Failure::Fatal, "the URL names no database; add one, or name a schema"),
            1021 | 1114 => (Failure::Fatal, "the server's disk is full; free some space"),
            _ => return class(code),
        })
    })
}

/// What a SQLSTATE means whose number is not worth words of its own. Whatever the server has refused
/// outright it has not executed, and will refuse again.
fn class(code: &str) -> Option<(Failure, &'static str)> {
    matches!(code.get(..2)?, "0A" | "21" | "22" | "23" | "25" | "42").then_some((
        Failure::Fatal,
        "the server refuses the statement; check that the tables are this program's, unchanged, and \
         that the server is MySQL 8 or MariaDB 10.4, or later",
    ))
}

//! PostgreSQL.

use super::{
    Pause,
    calls::{explained, sqlx_calls},
    client::Client,
    listen::{Room, listen},
    sql::SqlStore,
    transport::{self, Transport},
};
use crate::{Notifications, StoreError};
use election_core::{
    lease::{Config, Failure, Registration},
    sql::{Call, Dialect, Tables, Value},
};
use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, PgConnection, PgPool, Row as _,
    TypeInfo as _, ValueRef as _,
    postgres::{PgConnectOptions, PgRow},
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The leader row in PostgreSQL 12 or later.
///
/// Followers are woken by a notification when a leader resigns, over a second connection. A
/// notification makes an elector look at the row and nothing else: whoever can connect to the
/// database can send one, and can thereby neither depose a leader nor make one. Where the server
/// has no connection left for both, the second gives way.
///
/// # The schema
///
/// The tables are in the schema `public` unless another is named
/// ([`with_tables`](SqlStore::with_tables)), whatever the `search_path` of user or database says:
/// two users with two search paths would otherwise lead two elections of one name. A schema is not
/// made; make it (`CREATE SCHEMA`) before its tables. Each has notifications of its own.
///
/// Several schemas may have such tables, and then hold elections that know nothing of each other.
/// Where none is named, the store warns of the others, and
/// [`ensure_schema`](SqlStore::ensure_schema) refuses to add tables in `public` to those.
///
/// # Settings
///
/// The statements depend on nothing that a role, a database or a session can set
/// (`default_transaction_isolation`, `session_replication_role`, `synchronous_commit`, …), and set
/// nothing that outlives them. `default_transaction_read_only` is respected: where it is on, nobody
/// leads, and errors say so.
///
/// # Behind a pooler
///
/// A pooler that hands out a connection for each transaction (pgbouncer's `pool_mode =
/// transaction`) may give every statement another session. Session state is not used here, but
/// sqlx prepares statements in one session and runs them in the next. Say that there is such a
/// pooler in sqlx's own words, a statement cache of capacity zero, in the URL
/// (`?statement-cache-capacity=0`) or in the options of the connection or pool. Then
///
/// * every conversation is a transaction of its own: three round trips more for each,
/// * nobody listens, since LISTEN would stay behind in a session of somebody else: a graceful
///   hand-over waits for the next poll, a third of the ttl unless set otherwise.
///
/// pgbouncer 1.21 and later with `max_prepared_statements` above zero also works without it; but
/// there, too, no notification arrives.
///
/// # Least privilege
///
/// A user that takes part, here `app` on the default tables, needs no more than this:
///
/// ```sql
#[doc = include_str!("postgres.grants.sql")]
/// ```
///
/// Who makes the tables ([`ensure_schema`](SqlStore::ensure_schema)) needs `USAGE` and `CREATE` on
/// the schema, owns them then, and needs nothing else. Where they are in place, `ensure_schema`
/// only reads.
///
/// Who may only `SELECT` can watch and hold up nobody, in any isolation. Who may `UPDATE` or `DELETE`
/// the rows decides who leads, and can hold up an election by a lock.
pub type PgStore = SqlStore<PgServer>;

/// A PostgreSQL server, as [`PgStore`]'s client.
#[derive(Clone)]
pub struct PgServer {
    options: PgConnectOptions,
    tables: Tables,
    /// Each transaction may have another session.
    pooled: bool,
    room: Room,
    /// What there was to warn of has been said.
    warned: Arc<AtomicBool>,
}

impl PgStore {
    /// The default tables in the database of a `postgres://` URL. Nothing is connected yet.
    ///
    /// A server that is not on this machine (`localhost`, 127.0.0.0/8, `::1`, a unix socket) is
    /// spoken to over TLS, and only if an authority that this machine knows vouches for its host
    /// name (`sslmode=verify-full`). So is one whose authority the URL names: `sslrootcert`. An
    /// `sslmode` in the URL, or `PGSSLMODE` in the environment, wins.
    ///
    /// # Errors
    /// If the URL cannot be understood, or asks for encryption without the feature `tls`.
    pub fn connect(url: &str) -> Result<Self, StoreError> {
        Ok(Self::with_options(transport::postgres(url)?, &Tables::default()))
    }

    /// Like [`connect`](Self::connect), from options, which are used as they are, and with tables
    /// of other names.
    #[must_use]
    pub fn with_options(options: PgConnectOptions, tables: &Tables) -> Self {
        // There is no accessor.
        let pooled = format!("{options:?}").contains("statement_cache_capacity: 0,");
        let mut options = options.application_name("election").disable_statement_logging();
        // Nothing that others may have put on the path stands in for a function or an operator.
        // A pooler knows neither of these; there, each transaction says the path itself.
        options = match pooled {
            true => options.extra_float_digits(None),
            false => options.options([("search_path", "pg_catalog,pg_temp")]),
        };
        let (tables, warned) = (tables.clone(), Arc::default());
        let server = PgServer { options, tables, pooled, room: Room::default(), warned };
        let tables = server.tables.clone();
        Self::with_client(server, &tables)
    }

    /// The database that a pool of the application uses. The elector still opens a connection of
    /// its own: an exhausted pool must not cost the lease.
    #[must_use]
    pub fn from_pool(pool: &PgPool) -> Self {
        Self::with_options(pool.connect_options().as_ref().clone(), &Tables::default())
    }

    /// Where the server is, and how what is said to it is protected on its way.
    #[must_use]
    pub fn transport(&self) -> Transport {
        transport::of_postgres(&self.client.options)
    }
}

impl Client for PgServer {
    type Connection = PgConnection;
    type Identity = ();

    const DIALECT: Dialect = Dialect::Postgres;
    const BEGIN_MIGRATION: &'static [&'static str] =
        // Whoever can connect can hold that lock, but nobody is to wait for him without a word.
        &[
            "BEGIN",
            "SET LOCAL lock_timeout = '5s'",
            "SELECT pg_catalog.pg_advisory_xact_lock(7308332248371554861)",
        ];
    const END_MIGRATION: &'static [&'static str] = &["COMMIT"];

    /// Every write bounds its wait for locks until its transaction ends.
    async fn keep_settings(connection: &mut PgConnection) -> Result<Option<String>, StoreError> {
        let setting = sqlx::query_scalar("SELECT current_setting('lock_timeout')");
        let prepared = Self::keeps_statements(connection);
        let kept = setting.persistent(prepared).fetch_one(connection).await;
        kept.map(Some).map_err(|error| explain(error, Failure::Transient))
    }

    async fn restore_settings(
        connection: &mut PgConnection,
        kept: Option<String>,
    ) -> Result<(), StoreError> {
        let restore = sqlx::query("SELECT set_config('lock_timeout', $1, true)").bind(kept);
        let prepared = Self::keeps_statements(connection);
        let restored = restore.persistent(prepared).execute(connection).await;
        restored.map(|_| ()).map_err(|error| explain(error, Failure::Ambiguous))
    }

    async fn connect(&self, _: bool) -> Result<PgConnection, StoreError> {
        let fail = |error| explain(error, Failure::Transient);
        let connected = self.options.connect().await;
        let refused = connected.as_ref().err().and_then(sqlx::Error::as_database_error);
        self.room.set_scarce(refused.is_some_and(|error| error.code() == Some(FULL.into())));
        let mut connection = connected.map_err(fail)?;
        if !self.pooled {
            // From here on this connection shows that it keeps statements.
            connection.execute(sqlx::query("SELECT 1")).await.map_err(fail)?;
        }
        self.warn(&mut connection).await?;
        Ok(connection)
    }

    fn use_tables(&mut self, tables: &Tables) -> Result<(), StoreError> {
        self.tables = tables.clone();
        self.warned = Arc::default();
        Ok(())
    }

    async fn may_make_tables(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        if self.tables.named_schema().is_some() {
            return Ok(());
        }
        let there = self.schemas_with_tables(connection).await?;
        match there.first() {
            Some(other) if !there.iter().any(|name| name == self.schema()) => {
                let (all, schema) = (there.join("\", \""), self.schema());
                let context = format!(
                    "the tables are there already, in schema \"{all}\", and others in \
                     \"{schema}\" would be another election; name the schema that is meant: \
                     {other} (`--schema {other}`, ELECTION_SCHEMA, `Tables::new`), or {schema} to \
                     make a second set"
                );
                Err(StoreError::new(Failure::Fatal, context))
            }
            _ => Ok(()),
        }
    }

    async fn pin(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        // In one statement each, what others wrote is seen as it is now.
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED; \
                     SET LOCAL search_path = pg_catalog, pg_temp";
        self.unprepared(connection, begin).await
    }

    async fn unpin(&self, connection: &mut PgConnection, keep: bool) -> Result<(), StoreError> {
        self.unprepared(connection, if keep { "COMMIT" } else { "ROLLBACK" }).await
    }

    fn place(&self) -> String {
        let server = transport::of_postgres(&self.options).server;
        let database = self.options.get_database().unwrap_or_else(|| self.options.get_username());
        format!("{server}, database {database}, schema {}", self.schema())
    }

    fn identity(&self) -> Option<()> {
        Some(())
    }

    /// Every statement bounds its own wait for locks; the server needs no further setting.
    fn bound_waits(&mut self, _: &Config) {}

    fn notifications(&self, registration: &Registration, pause: Pause) -> Notifications {
        if self.pooled {
            return Box::pin(futures_lite::stream::pending());
        }
        let (options, room) = (self.options.clone(), self.room.clone());
        listen(options, self.tables.channel(), room, registration.clone(), pause)
    }

    sqlx_calls!(
        PgConnection,
        text: |text: &std::borrow::Cow<'_, str>| text.clone().into_owned(),
        column: column,
        explain: explain,
        id: |_| 0,
        prepared: Self::keeps_statements
    );
}

/// No connection is left, of the server's or of this user's.
const FULL: &str = "53300";

impl PgServer {
    fn schema(&self) -> &str {
        self.tables.schema(Dialect::Postgres).unwrap_or_default()
    }

    /// The schemas that have a table of leaders of this name, whoever may use it.
    async fn schemas_with_tables(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT n.nspname::text FROM pg_catalog.pg_class c \
                   JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                   WHERE c.relname = $1 AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' \
                   ORDER BY 1";
        let params = vec![Value::Text(self.tables.leader().into())];
        let rows = Self::fetch(connection, &Call { sql, params, returns_rows: true }).await?;
        let name = |row: Vec<Value<'static>>| match row.into_iter().next() {
            Some(Value::Text(name)) => Some(name.into_owned()),
            _ => None,
        };
        Ok(rows.into_iter().filter_map(name).collect())
    }

    /// Warns of tables of this name in schemas that nobody has named; once, since it concerns the
    /// database and not a connection.
    async fn warn(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        let named = self.tables.named_schema().is_some();
        if named || self.warned.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.pin(connection).await?;
        let there = self.schemas_with_tables(connection).await;
        self.unpin(connection, there.is_ok()).await?;
        let others: Vec<_> = there?.into_iter().filter(|name| name != self.schema()).collect();
        if !others.is_empty() {
            tracing::warn!(
                place = %self.place(),
                "there are tables of the same name in schema {others:?}; who uses those takes part \
                 in other elections; name the schema that is meant, and this is not said again"
            );
        }
        Ok(())
    }

    /// Where nothing is ever kept, a pooler may be in between.
    fn keeps_statements(connection: &PgConnection) -> bool {
        connection.cached_statements_size() > 0
    }

    /// A statement that a pooler sees as one message; nothing where there is none.
    async fn unprepared(
        &self,
        connection: &mut PgConnection,
        sql: &'static str,
    ) -> Result<(), StoreError> {
        if self.pooled {
            let done = connection.execute(sql).await;
            done.map_err(|error| explain(error, Failure::Ambiguous))?;
        }
        Ok(())
    }
}

fn column(row: &PgRow, at: usize) -> Result<Value<'static>, StoreError> {
    let fail = |error| explain(error, Failure::Fatal);
    let raw = row.try_get_raw(at).map_err(fail)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    match raw.type_info().name() {
        "INT8" => row.try_get::<i64, _>(at).map(Value::Integer).map_err(fail),
        "INT4" => {
            row.try_get::<i32, _>(at).map(|number| Value::Integer(number.into())).map_err(fail)
        }
        "VOID" => Ok(Value::Null),
        _ => row.try_get::<String, _>(at).map(|text| Value::Text(text.into())).map_err(fail),
    }
}

/// What PostgreSQL's codes mean for an election, and what to do about them.
fn explain(error: sqlx::Error, otherwise: Failure) -> StoreError {
    explained(error, otherwise, |code, _| {
        Some(match code {
            "55P03" => (Failure::Conflict, "another transaction holds the leader row"),
            "40001" | "40P01" => (Failure::Conflict, "the statement lost a race and was undone"),
            "57014" => (Failure::Transient, "the statement was cancelled"),
            "57P03" => (Failure::Transient, "the server is starting up or shutting down"),
            FULL => (Failure::Transient, "the server has no connection left"),
            "42P01" | "42703" => (
                Failure::Fatal,
                "the tables are missing or of an older version; make them with `ensure_schema` or \
                 `election schema --apply`",
            ),
            "42P07" => (
                Failure::Fatal,
                "a table of this name is there already, but not the table of versions that belongs \
                 to it; use another prefix or schema, or restore it",
            ),
            "42P05" | "26000" | "08P01" => (
                Failure::Fatal,
                "a pooler between here and the server changes sessions; connect directly, or add \
                 `?statement-cache-capacity=0` to the URL",
            ),
            "3F000" => (
                Failure::Fatal,
                "the schema does not exist; make it (CREATE SCHEMA), or name another (`--schema`)",
            ),
            "42501" => (
                Failure::Fatal,
                "this database user lacks a right; grant USAGE on the schema, and SELECT, INSERT, \
                 UPDATE and DELETE on the election's tables",
            ),
            "25006" => (
                Failure::Fatal,
                "this server only reads (a replica?), or this session does; connect to the \
                 primary, or switch default_transaction_read_only off for this user and database",
            ),
            "28P01" | "28000" => (Failure::Fatal, "the server refused user or password"),
            "3D000" => (Failure::Fatal, "there is no database of this name on the server"),
            "25P02" => {
                (Failure::Fatal, "an earlier statement of this transaction failed; roll it back")
            }
            "53100" => (Failure::Fatal, "the server's disk is full; free some space"),
            "53200" => (Failure::Transient, "the server is out of memory"),
            "40003" => return None,
            _ => return class(code),
        })
    })
}

/// What a code means that is not worth words of its own. Whatever the server has refused outright it
/// has not executed, and will refuse again.
fn class(code: &str) -> Option<(Failure, &'static str)> {
    Some(match code.get(..2)? {
        "40" => (Failure::Conflict, "the statement lost a race and was undone"),
        "0A" | "22" | "23" | "25" | "42" | "54" => (
            Failure::Fatal,
            "the server refuses the statement; check that the tables are this program's, unchanged, \
             and that the server is PostgreSQL 12 or later",
        ),
        _ => return None,
    })
}

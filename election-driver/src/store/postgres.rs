//! PostgreSQL.

use super::{
    Pause,
    calls::{explained, sqlx_calls},
    client::Client,
    listen::listen,
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

/// The leader row in PostgreSQL 12 or later.
///
/// Followers are woken by a notification when a leader resigns, over a second connection.
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
pub type PgStore = SqlStore<PgServer>;

/// A PostgreSQL server, as [`PgStore`]'s client.
#[derive(Clone)]
pub struct PgServer {
    options: PgConnectOptions,
    channel: String,
    /// Each transaction may have another session.
    pooled: bool,
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
        if pooled {
            options = options.extra_float_digits(None); // pgbouncer does not know it
        }
        Self::with_client(PgServer { options, channel: tables.channel(), pooled }, tables)
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
        &["BEGIN", "SELECT pg_advisory_xact_lock(7308332248371554861)"];
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
        let mut connection = self.options.connect().await.map_err(fail)?;
        if !self.pooled {
            // From here on this connection shows that it keeps statements.
            connection.execute(sqlx::query("SELECT 1")).await.map_err(fail)?;
        }
        Ok(connection)
    }

    async fn pin(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        self.unprepared(connection, "BEGIN").await
    }

    async fn unpin(&self, connection: &mut PgConnection, keep: bool) -> Result<(), StoreError> {
        self.unprepared(connection, if keep { "COMMIT" } else { "ROLLBACK" }).await
    }

    fn place(&self) -> String {
        transport::of_postgres(&self.options).server
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
        listen(self.options.clone(), self.channel.clone(), registration.clone(), pause)
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

impl PgServer {
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
            "53300" => (Failure::Transient, "the server has no connection left"),
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
                "the schema does not exist, or this database user has no USAGE on it; grant it",
            ),
            "42501" => (
                Failure::Fatal,
                "this database user lacks a right; grant SELECT, INSERT, UPDATE and DELETE on the \
                 election's tables",
            ),
            "25006" => {
                (Failure::Fatal, "this server only reads (a replica?); connect to the primary")
            }
            "28P01" | "28000" => (Failure::Fatal, "the server refused user or password"),
            "3D000" => (Failure::Fatal, "there is no database of this name on the server"),
            _ => return None,
        })
    })
}

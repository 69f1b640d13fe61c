//! The store's own session on PostgreSQL: its settings, its identity, and how another session ends
//! it.

use super::errors::explain;
use crate::{
    StoreError,
    store::{client::Client, timeouts::Timeouts},
};
use election_core::{
    lease::Failure,
    sql::{Call, Tables, Value},
};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _, postgres::PgConnectOptions};
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

/// TCP keep-alives: after this many seconds of silence the server probes its client, at this
/// interval, this often. A link that swallows everything then costs the server a session for half a
/// minute, not for the usual two hours.
const KEEPALIVE: [(&str, u32); 4] = [
    ("tcp_keepalives_idle", 10),
    ("tcp_keepalives_interval", 5),
    ("tcp_keepalives_count", 3),
    ("tcp_user_timeout", 25_000),
];

/// The limits of a session, in milliseconds.
type Limits = [(&'static str, u128); 3];

fn limits(lock: Duration, statement: Duration) -> Limits {
    let statement = statement.as_millis().max(1);
    [
        ("lock_timeout", lock.as_millis().max(1)),
        ("statement_timeout", statement),
        // A client that stands still in the middle of a transaction holds its locks.
        ("idle_in_transaction_session_timeout", statement),
    ]
}

fn lasting(timeouts: Timeouts) -> Limits {
    limits(timeouts.lock(), timeouts.statement())
}

/// Ends a session whose client says nothing more; PostgreSQL 14 and later have it.
pub(super) const IDLE: &str = "idle_session_timeout";

/// The options with which a store's own session begins. A pooler refuses them, or drops them if it is
/// configured to: they cannot stay behind in a session that others will use. Only a session that
/// began with them says its [`name`](Name), and is the store's own.
///
/// Until [`open`] has raised the limits, the server soon ends the session by itself. As part of the
/// login they hold even if the client never learns that it was let in.
pub(super) fn options(
    options: &PgConnectOptions,
    timeouts: Timeouts,
    idles: Idles,
    name: &Name,
) -> PgConnectOptions {
    // No object that others may have put on the path stands in for a function or an operator, and
    // rows that this user may not see are no missing rows, but an error.
    let options = options.clone().options([("search_path", SEARCH_PATH), ("row_security", "off")]);
    let options = options.options(KEEPALIVE);
    let options = options.options([(NAME, &*name.0)]);
    let Idles::For(idle) = idles else { return options.options(lasting(timeouts)) };
    let opening = limits(timeouts.lock().min(idle), timeouts.statement().min(idle));
    options.options(opening).options([(IDLE, idle.as_millis())])
}

/// Whether the server ends a session that stays idle for so long.
#[derive(Clone, Copy)]
pub(super) enum Idles {
    Forever,
    For(Duration),
}

/// Sets the limits that hold from now on: between two calls the session may be idle for this long,
/// and while a statement waits, the server checks whether the client is still there. A server that
/// cannot check ends an abandoned statement by the other limits, only later.
pub(super) async fn open(
    connection: &mut PgConnection,
    timeouts: Timeouts,
    idle: Option<Duration>,
    name: &Name,
) -> Result<(), sqlx::Error> {
    let lasting = idle.map(|idle| lasting(timeouts).into_iter().chain([(IDLE, idle.as_millis())]));
    let lasting: Vec<_> = lasting.into_iter().flatten().collect();
    let check = ("client_connection_check_interval", (timeouts.lock() / 4).as_millis().max(1));
    let checks = connection.server_version_num().is_some_and(|version| version >= 140_000);
    if checks {
        let all: Vec<_> = lasting.iter().copied().chain([check]).collect();
        match set(connection, &all, name).await {
            Err(error) if error.as_database_error().is_some() => {
                tracing::debug!(%error, "the server cannot tell whether its client is still \
                                         connected");
            }
            done => return done,
        }
    }
    if lasting.is_empty() { Ok(()) } else { set(connection, &lasting, name).await }
}

/// Not where a pooler has dropped the options: the settings would stay there.
async fn set(
    connection: &mut PgConnection,
    settings: &[(&str, u128)],
    name: &Name,
) -> Result<(), sqlx::Error> {
    let set = |(name, value): &(&str, u128)| format!("set_config('{name}', '{value}', false)");
    let set: Vec<_> = settings.iter().map(set).collect();
    let sql = AssertSqlSafe(format!("SELECT {} WHERE {}", set.join(", "), name.proof()));
    connection.execute(sqlx::raw_sql(sql)).await.map(|_| ())
}

const SEARCH_PATH: &str = "pg_catalog,pg_temp";

/// The setting that names a session.
const NAME: &str = "election.session";

/// By which a store knows the sessions that it has begun itself from those of a pool.
#[derive(Clone)]
pub(super) struct Name(Arc<str>);

impl Name {
    pub(super) fn new() -> Self {
        Self(Uuid::new_v4().to_string().into())
    }

    /// True in a session that is the store's own.
    fn proof(&self) -> String {
        format!(
            "coalesce(pg_catalog.current_setting('{NAME}', true), '')::text = '{}'::text",
            self.0
        )
    }
}

/// The same for one transaction, where a pooler may give each another session.
pub(super) fn begin(timeouts: Timeouts) -> String {
    // With one statement each, what others wrote is seen as it is now.
    let begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = pg_catalog, pg_temp; \
                 SET LOCAL row_security = off";
    lasting(timeouts)
        .iter()
        .fold(begin.to_owned(), |text, (name, value)| format!("{text}; SET LOCAL {name} = {value}"))
}

/// A session on the server: its process id, and when it began, since ids are reused.
///
/// Here each statement is one message. Between the messages of a prepared statement the server waits
/// for the next without any limit; before a whole one, for as long as a session may be idle.
pub struct Backend {
    process: i32,
    began: String,
}

impl Backend {
    /// Also what the server says that it is. None if the session is not the store's own but a
    /// pool's: it may be another client's by now.
    pub(super) async fn of(
        connection: &mut PgConnection,
        name: &Name,
    ) -> Result<(String, Option<Self>), sqlx::Error> {
        let asked = AssertSqlSafe(format!(
            "SELECT pg_catalog.version(), pid, backend_start::text, {} \
             FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid())",
            name.proof()
        ));
        let row = connection.fetch_one(sqlx::raw_sql(asked)).await?;
        let backend = Self { process: row.try_get(1)?, began: row.try_get(2)? };
        Ok((row.try_get(0)?, row.try_get::<bool, _>(3)?.then_some(backend)))
    }

    /// Ends the session, with whatever it waits for, unless the server refuses. Returns what that was,
    /// in the server's word.
    ///
    /// # Errors
    /// If the server has not answered, or had no time for it: the session may still be there.
    pub(super) async fn end(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Option<String>, StoreError> {
        let Self { process, began } = self;
        // Both are the server's own words.
        let end = AssertSqlSafe(format!(
            "SELECT wait_event, pg_terminate_backend(pid) FROM pg_stat_get_activity({process}) \
             WHERE backend_start = '{began}'::timestamptz"
        ));
        let ended = connection.fetch_optional(sqlx::raw_sql(end)).await;
        match ended.map_err(|error| explain(error, Failure::Transient)) {
            Err(error) if error.kind == Failure::Fatal => {
                tracing::debug!(%error, "an abandoned session is left to end by itself");
                Ok(None)
            }
            Err(error) => Err(error),
            // Not every server tells what a session waits for.
            Ok(row) => Ok(row.and_then(|row| row.try_get(0).ok().flatten())),
        }
    }
}

/// What the server says that it is.
pub(super) async fn version(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
    connection.fetch_one(sqlx::raw_sql("SELECT version()")).await?.try_get(0)
}

/// Whether the server does not know what was asked for.
pub(super) fn lacks_function(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "42883" | "0A000" | "42P01" | "42703"))
}

/// The session that holds a lock on the tables and itself waits for nobody: the one to talk to.
const HOLDER: &str = "\
    SELECT l.pid::bigint, a.usename::text, a.application_name, \
    extract(epoch FROM clock_timestamp() - a.xact_start)::bigint \
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
    JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_stat_activity a ON a.pid = l.pid \
    WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND n.nspname = $1 AND c.relname IN ($2, $3) AND l.granted AND l.mode <> 'AccessShareLock' \
    AND l.pid IS DISTINCT FROM pg_backend_pid() \
    AND NOT EXISTS (SELECT 1 FROM pg_locks w WHERE w.pid = l.pid AND NOT w.granted) \
    ORDER BY a.application_name IN ('election', 'election listener'), a.xact_start NULLS LAST \
    LIMIT 1";

/// The session that holds the lock under which tables are created.
const MAKER: &str = "\
    SELECT l.pid::bigint, a.usename::text, a.application_name, \
    extract(epoch FROM clock_timestamp() - a.xact_start)::bigint \
    FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid \
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND (l.classid::bigint << 32) | l.objid::bigint = $1 LIMIT 1";

/// The lock itself.
pub(super) const MAKING: i64 = 7_308_332_248_371_554_861;

/// The session that holds a lock on these tables, in words; nothing if that cannot be determined.
pub(super) async fn holder<C: Client<Connection = PgConnection>>(
    connection: &mut PgConnection,
    tables: &Tables,
    schema: &str,
) -> Option<String> {
    let names = [schema.to_owned(), tables.leader(), tables.candidate()];
    let params = names.into_iter().map(|name| Value::Text(name.into())).collect();
    told::<C>(connection, Call { sql: HOLDER, params, returns_rows: true }).await
}

/// The session that creates tables.
pub(super) async fn maker<C: Client<Connection = PgConnection>>(
    connection: &mut PgConnection,
) -> Option<String> {
    let params = vec![Value::Integer(MAKING)];
    told::<C>(connection, Call { sql: MAKER, params, returns_rows: true }).await
}

async fn told<C: Client<Connection = PgConnection>>(
    connection: &mut PgConnection,
    call: Call<'_>,
) -> Option<String> {
    let rows = C::fetch(connection, &call).await.ok()?;
    let [process, user, application, seconds] = &rows.first()?[..] else { return None };
    let Value::Integer(process) = process else {
        return Some("a prepared transaction does (pg_prepared_xacts)".to_owned());
    };
    let of = match user {
        Value::Text(user) => format!(" of user {user:?}"),
        _ => String::new(),
    };
    let application = match application {
        Value::Text(name) if !name.is_empty() => format!(", application {name:?}"),
        _ => String::new(),
    };
    let since = match seconds {
        Value::Integer(seconds) => format!(", in a transaction of {seconds} s"),
        _ => String::new(),
    };
    Some(format!(
        "process {process}{of}{application}{since} does; if it should not, end it (SELECT \
         pg_terminate_backend({process}))"
    ))
}

//! The store's own session on PostgreSQL: its settings, its identity, and how another session ends
//! it.

use crate::store::{client::Client, timeouts::Timeouts};
use election_core::sql::{Call, Tables, Value};
use sqlx::{Executor as _, PgConnection, Row as _, postgres::PgConnectOptions};

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
fn settings(timeouts: Timeouts) -> [(&'static str, u128); 3] {
    let statement = timeouts.statement().as_millis().max(1);
    [
        ("lock_timeout", timeouts.lock().as_millis().max(1)),
        ("statement_timeout", statement),
        // A client that stands still in the middle of a transaction holds its locks.
        ("idle_in_transaction_session_timeout", statement),
    ]
}

/// The options with which a store's own session begins. A pooler refuses them unless it is
/// configured otherwise, so they cannot stay behind in a session that others will use.
pub(super) fn options(options: &PgConnectOptions, timeouts: Timeouts) -> PgConnectOptions {
    // No object that others may have put on the path stands in for a function or an operator.
    let options = options.clone().options([("search_path", SEARCH_PATH)]);
    options.options(settings(timeouts)).options(KEEPALIVE)
}

const SEARCH_PATH: &str = "pg_catalog,pg_temp";

/// The same for one transaction, where a pooler may give each another session.
pub(super) fn begin(timeouts: Timeouts) -> String {
    // With one statement each, what others wrote is seen as it is now.
    let begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = pg_catalog, pg_temp";
    settings(timeouts)
        .iter()
        .fold(begin.to_owned(), |text, (name, value)| format!("{text}; SET LOCAL {name} = {value}"))
}

/// A session on the server: its process id, and when it began, since ids are reused.
pub struct Backend {
    process: i32,
    began: String,
}

impl Backend {
    pub(super) async fn of(connection: &mut PgConnection) -> Result<Self, sqlx::Error> {
        let asked = "SELECT pid, backend_start::text FROM pg_stat_get_activity(pg_backend_pid())";
        let row = connection.fetch_one(sqlx::query(asked)).await?;
        Ok(Self { process: row.try_get(0)?, began: row.try_get(1)? })
    }

    /// Ends the session, with whatever it waits for. Returns whether the server has answered.
    pub(super) async fn end(&self, connection: &mut PgConnection) -> bool {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_get_activity($1) \
                   WHERE backend_start = $2::timestamptz";
        let end = sqlx::query(end).bind(self.process).bind(&self.began);
        let ended = end.execute(connection).await;
        if let Err(error) = &ended {
            tracing::debug!(%error, "a session that was given up is left to end by itself");
        }
        !matches!(ended, Err(error) if error.as_database_error().is_none())
    }
}

/// Makes the server check, while a statement waits, whether the client is still there. Without that
/// setting, the other limits end an abandoned statement, only later.
pub(super) async fn watch_client(connection: &mut PgConnection, timeouts: Timeouts) {
    // Not behind a pooler that has ignored the options: the setting would stay there.
    let watch = "SELECT set_config('client_connection_check_interval', $1, false) \
                 WHERE current_setting('search_path') = $2";
    let interval = (timeouts.lock() / 4).as_millis().max(1).to_string();
    let watch = sqlx::query(watch).bind(interval).bind(SEARCH_PATH);
    if connection.server_version_num().is_some_and(|version| version >= 140_000) {
        if let Err(error) = watch.execute(connection).await {
            tracing::debug!(%error, "the server cannot tell whether its client is there");
        }
    }
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

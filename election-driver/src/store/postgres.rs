//! PostgreSQL.

mod connect;
mod errors;
mod grants;
mod listen;
mod options;
mod origin;
mod primary;
mod room;
mod schemas;
mod session;
mod standbys;

use super::{
    Pause,
    calls::{Cause, sqlx_calls},
    choice::Choice,
    client::Client,
    hosts::{self, Target},
    news::NewsStream,
    progress::Progress,
    session::plain,
    sql::SqlStore,
    timeouts::{Timeouts, within},
};
use crate::StoreError;
use election_core::{
    lease::Failure,
    sql::{Call, Dialect, Statements, Tables, Value},
};
use errors::{DENIED, LOCKED, MISSING, NO_COLUMN, READS, explain};
use listen::listen;
use options::OwnIdle;
use room::Room;
use session::{Backend, Idles, MAKING, Name};
use sqlx::{
    Connection as _, Executor as _, PgConnection, Row as _, SqlSafeStr as _, TypeInfo as _,
    ValueRef as _,
    postgres::{PgConnectOptions, PgRow},
};
use standbys::Standbys;
use std::{
    borrow::Cow,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

/// The leader row in PostgreSQL 12 or later.
///
/// When a leader resigns, a notification over a second connection wakes the followers. A
/// notification only makes an elector look at the row: any user who can connect to the database can
/// send one, but can neither depose a leader nor make one with it. The listener opens the second
/// connection only if yet another one stays free, of this user's, the database's and the server's
/// limit. Otherwise a handover waits for the next poll; a warning and
/// [`Status::listening`](crate::Status::listening) say so.
///
/// # While the server is ill
///
/// Calls end in bounded time ([`SqlStore`]), and an error about a lock names the process that holds
/// it. A statement that was given up ends on the server as well: the sessions begin with
/// `lock_timeout`, `statement_timeout`, `idle_in_transaction_session_timeout`, TCP keep-alives and,
/// from PostgreSQL 14 on, `idle_session_timeout`, and then set `client_connection_check_interval`.
/// An elector that is stopped for longer than four ttl (a minute at least) has to connect anew; if
/// the URL's own `options` set a shorter `idle_session_timeout`, after that.
///
/// One elector holds at most three sessions: its own (`election` in
/// `pg_stat_activity`), the listener's (`election listener`), and one that is being given up. That
/// holds whatever the link to the server does, also where something on it answers the server's
/// keep-alives and yet carries nothing more. If the network has forgotten a session, the next one
/// ends it. Until it has done so, the server ends the next one by itself after a third of the ttl of
/// silence (whole seconds, five at most), and the elector opens another after twice that time. So a
/// link that lets clients in and then carries nothing more costs ten seconds at most once it is
/// whole again, at a ttl of a second two.
///
/// Only the server can bound some sessions: a login that hangs before the password was checked
/// (`authentication_timeout`, a minute by default); before PostgreSQL 14, and of a
/// [`PgStore`] without an elector, a session whose client is gone where a proxy answers the
/// keep-alives for it. An elector waits for a login about a ttl, ten seconds at most, and then ever
/// longer, half a minute at most; for a session that it was let in to and that nothing bounds half a
/// minute, and then ever longer, an hour at most.
///
/// # The schema
///
/// The tables are in the schema `public` unless another is named
/// ([`with_tables`](SqlStore::with_tables)), whatever the `search_path` of user or database says:
/// otherwise two users with two search paths would lead two elections of one name. The store does
/// not create a schema; create it (`CREATE SCHEMA`) before its tables. Each schema has
/// notifications of its own.
///
/// Several schemas may have such tables. They then hold elections that know nothing of each other.
/// If no schema is named, the store warns of the others, and
/// [`ensure_schema`](SqlStore::ensure_schema) refuses to create another set of tables in `public`.
///
/// # Settings
///
/// The statements depend on nothing that a role, a database or a session can set
/// (`default_transaction_isolation`, `session_replication_role`, `synchronous_commit`, …), and
/// change no setting beyond their own transaction. `default_transaction_read_only` is respected:
/// where it is on, nobody leads, and errors say so.
///
/// # Behind a pooler
///
/// A pooler that hands out a connection for each transaction (pgbouncer's `pool_mode =
/// transaction`) may give every statement another session. The store uses no session state, but
/// sqlx prepares statements in one session and runs them in the next. Declare such a pooler with
/// sqlx's own setting, a statement cache of capacity zero, in the URL
/// (`?statement-cache-capacity=0`) or in the options of the connection or pool. Then
///
/// * every conversation is a transaction of its own, which costs three more round trips,
/// * nobody listens, since LISTEN would stay behind in another client's session: a graceful
///   handover waits for the next poll, a third of the ttl unless set otherwise.
///
/// A pooler that was not declared, and that is told to drop the options of a session
/// (`ignore_startup_parameters = extra_float_digits, options`), works if it gives each client a
/// session (`pool_mode = session`), or keeps prepared statements (pgbouncer 1.21 and later with
/// `max_prepared_statements` above zero). The store sees that such a session is not its own: it
/// leaves nothing there, never ends it, and does not listen; when an abandoned session ends, the
/// pooler decides.
///
/// # Least privilege
///
/// A user that takes part, here `app` on the default tables, needs only this:
///
/// ```sql
#[doc = include_str!("postgres.grants.sql")]
/// ```
///
/// Row-level security that applies to the user is refused, whatever its policies: the store asks the
/// server (`row_security = off`) for an error in place of a row that is left out, since who cannot
/// see the row of a leader would find that nobody leads. Switch it off for these tables, or exempt
/// the user (`BYPASSRLS`). Rights of its own come with a schema of its own.
///
/// The user who creates the tables ([`ensure_schema`](SqlStore::ensure_schema)) needs `USAGE` and
/// `CREATE` on the schema, owns the tables then, and needs nothing else. If the tables exist,
/// `ensure_schema` only reads.
///
/// A user who may only `SELECT` can watch and cannot hold anybody up, at any isolation level. A
/// user who may `UPDATE` or `DELETE` the rows decides who leads, and can hold up an election by a
/// lock.
pub type PgStore = SqlStore<PgServer>;

/// A PostgreSQL server, as [`PgStore`]'s client.
#[derive(Clone)]
pub struct PgServer {
    hosts: Choice<PgConnectOptions>,
    target: Target,
    tables: Tables,
    /// Whether each transaction may have another session.
    pooled: bool,
    /// Whether it tells which history it continues.
    history: bool,
    /// The name of its sessions.
    name: Name,
    /// How long the user lets a session be idle.
    idle: OwnIdle,
    timeouts: Timeouts,
    room: Room,
    standbys: Standbys,
    /// Whether the server does not know all options of a session: one before PostgreSQL 14.
    old: Arc<AtomicBool>,
    /// Whether the warnings have been logged.
    warned: Arc<AtomicBool>,
}

impl Client for PgServer {
    type Connection = PgConnection;
    type Identity = ();
    /// None behind a pooler, where the session changes, or may.
    type Session = Option<Backend>;

    const DIALECT: Dialect = Dialect::Postgres;

    fn statements(&self, tables: &Tables) -> Statements {
        let history = self.history;
        if history {
            Statements::new(Self::DIALECT, tables)
        } else {
            Statements::without_history(tables)
        }
    }

    const REPLICA: Option<&'static str> =
        Some("SELECT pg_catalog.pg_is_in_recovery()::int::bigint");

    /// Any user who can connect can hold this lock; a process that waits for it says so.
    async fn begin_migration(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        if !self.pooled {
            plain::<Self>(connection, "BEGIN").await?;
        }
        let lock = format!("SELECT pg_advisory_xact_lock({MAKING})");
        let Err(error) = plain::<Self>(connection, &lock).await else { return Ok(()) };
        if !is(&error, LOCKED) {
            return Err(error);
        }
        plain::<Self>(connection, "ROLLBACK").await?;
        self.pin(connection).await?;
        let who = session::maker::<Self>(connection).await;
        let who = who.unwrap_or_else(|| "the server does not say which process".to_owned());
        let context =
            format!("another session is creating tables, or holds the advisory lock: {who}");
        Err(StoreError { context, ..error })
    }

    const END_MIGRATION: &'static str = "COMMIT";

    fn misses_table(error: &StoreError) -> bool {
        is(error, MISSING)
    }

    fn misses_column(error: &StoreError) -> bool {
        is(error, NO_COLUMN)
    }

    fn lacks_right(error: &StoreError) -> bool {
        is(error, DENIED)
    }

    fn may_not_make(&self, error: StoreError) -> StoreError {
        let (schema, user) = (self.schema_name(), self.hosts.first().get_username());
        let context = format!(
            "this database user may not create the tables; grant it USAGE and CREATE on the schema \
             (GRANT USAGE, CREATE ON SCHEMA \"{schema}\" TO \"{user}\"), or have their owner \
             create them (`election schema` prints them)"
        );
        StoreError { context, ..error }
    }

    /// No call waits for locks for as long as it likes, unless its caller does; every write bounds
    /// its wait until its transaction ends. And no call takes rows that it may not see for missing.
    async fn keep_settings(connection: &mut PgConnection) -> Result<Option<String>, StoreError> {
        let bound = "WITH setting AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock, \
                     current_setting('row_security') AS rows) \
                     SELECT concat(rows, ' '::text, lock), set_config('row_security', 'off', true), \
                     CASE lock WHEN '0' THEN set_config('lock_timeout', $1, true) END FROM setting";
        let wait = Timeouts::ALONE.lock().as_millis().to_string();
        let prepared = Self::keeps_statements(connection);
        let kept = sqlx::query_scalar(bound).bind(wait).persistent(prepared);
        let kept = kept.fetch_one(connection).await;
        kept.map(Some).map_err(|error| explain(error, Failure::Transient))
    }

    async fn restore_settings(
        connection: &mut PgConnection,
        kept: Option<String>,
    ) -> Result<(), StoreError> {
        let Some((rows, lock)) = kept.as_deref().and_then(|kept| kept.split_once(' ')) else {
            return Ok(());
        };
        let restore = "SELECT set_config('row_security', $1, true), \
                       set_config('lock_timeout', $2, true)";
        let prepared = Self::keeps_statements(connection);
        let restore = sqlx::query(restore).bind(rows).bind(lock).persistent(prepared);
        let restored = restore.execute(connection).await;
        restored.map(|_| ()).map_err(|error| explain(error, Failure::Ambiguous))
    }

    async fn connect(
        &self,
        _: bool,
        progress: &Progress,
    ) -> Result<(PgConnection, Option<Backend>), StoreError> {
        let enter = |host| self.enter(host, progress);
        let opened = self.hosts.enter(self.timeouts, progress, enter).await?;
        if self.hosts.are_several() {
            self.room.has_moved();
        }
        Ok(opened)
    }

    fn remedied(&self, error: StoreError) -> StoreError {
        self.with_grants(error)
    }

    fn move_on(&self) {
        self.hosts.move_on();
    }

    fn silence(&self) -> Cow<'static, str> {
        self.standbys.silence()
    }

    fn failed(&self) -> Option<StoreError> {
        self.hosts.failed()
    }

    async fn end(
        &self,
        connection: &mut PgConnection,
        session: &Option<Backend>,
    ) -> Result<(), StoreError> {
        let Some(backend) = session else { return Ok(()) };
        let waited_for = backend.end(connection).await?;
        self.standbys.met(waited_for.as_deref());
        Ok(())
    }

    fn can_be_ended(session: &Option<Backend>) -> bool {
        session.is_some()
    }

    async fn opened(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        self.warn(connection).await?;
        if self.pooled {
            return Ok(());
        }
        let fail = |error| explain(error, Failure::Transient);
        if !Self::keeps_statements(connection) {
            // From here on this connection shows that it caches statements.
            connection.prepare("SELECT 1".into_sql_str()).await.map_err(fail)?;
        }
        let idle = match self.idles() {
            Idles::For(_) => self.timeouts.idle().map(|idle| self.idle.at_most(idle)),
            Idles::Forever => None,
        };
        session::open(connection, self.timeouts, idle, &self.name).await.map_err(fail)
    }

    async fn clear(&self, connection: &mut PgConnection) {
        self.room.clear(connection).await;
    }

    fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    async fn patiently<F: Future + Send>(&self, time: Duration, call: F) -> Option<F::Output> {
        within(time, call).await
    }

    async fn blame(&self, connection: &mut PgConnection, error: StoreError) -> StoreError {
        if is(&error, READS) && self.hosts.are_several() {
            return hosts::reads_now(error);
        }
        if !is(&error, LOCKED) {
            return error;
        }
        let asked = async {
            self.pin(connection).await.ok()?;
            let holder =
                session::holder::<Self>(connection, &self.tables, self.schema_name()).await;
            self.unpin(connection, false).await.ok()?;
            holder
        };
        match asked.await {
            Some(who) => StoreError { context: format!("{}: {who}", error.context), ..error },
            None => error,
        }
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
            Some(other) if !there.iter().any(|name| name == self.schema_name()) => {
                let (all, schema) = (there.join("\", \""), self.schema_name());
                let context = format!(
                    "the tables already exist in schema \"{all}\", and a second set in \
                     \"{schema}\" would be a separate election; name the intended schema: {other} \
                     (`--schema {other}`, ELECTION_SCHEMA, `Tables::new`), or {schema} to create a \
                     second set"
                );
                Err(StoreError::new(Failure::Fatal, context))
            }
            _ => Ok(()),
        }
    }

    async fn pin(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        self.unprepared(connection, &session::begin(self.timeouts)).await
    }

    async fn unpin(&self, connection: &mut PgConnection, keep: bool) -> Result<(), StoreError> {
        self.unprepared(connection, if keep { "COMMIT" } else { "ROLLBACK" }).await
    }

    fn place(&self) -> String {
        let (server, options) = (self.transport().server, self.hosts.first());
        let database = options.get_database().unwrap_or_else(|| options.get_username());
        format!("{server}, database {database}, schema {}", self.schema_name())
    }

    fn identity(&self) -> Option<()> {
        Some(())
    }

    fn bound_waits(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
        if let Some((ours, ttl)) = timeouts.idle().zip(timeouts.ttl()).filter(|_| !self.pooled) {
            self.idle.warn(&self.place(), ours, ttl);
        }
    }

    fn news(&self, pause: Pause) -> NewsStream {
        if self.pooled {
            return Box::pin(futures_lite::stream::pending());
        }
        listen(self.clone(), pause)
    }

    sqlx_calls!(
        prepared for PgConnection,
        of sqlx::Postgres,
        explain: explain,
        unless: |server: &Self| server.pooled
    );

    sqlx_calls!(
        PgConnection,
        text: |text: &Cow<'_, str>| text.clone().into_owned(),
        column: column,
        explain: explain,
        id: |_| 0,
        prepared: Self::keeps_statements
    );
}

/// Whether the server has answered with this code.
fn is(error: &StoreError, code: &str) -> bool {
    let database = Cause::of(error).and_then(sqlx::Error::as_database_error);
    database.is_some_and(|error| error.code().is_some_and(|found| found == code))
}

impl PgServer {
    /// If no statement is ever cached, a pooler may be in between.
    fn keeps_statements(connection: &PgConnection) -> bool {
        connection.cached_statements_size() > 0
    }

    /// A statement that a pooler sees as one message; nothing if there is no pooler.
    async fn unprepared(&self, connection: &mut PgConnection, sql: &str) -> Result<(), StoreError> {
        if self.pooled {
            let done = connection.execute(sqlx::AssertSqlSafe(sql)).await;
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

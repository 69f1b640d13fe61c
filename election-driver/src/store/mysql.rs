//! MySQL and MariaDB.

mod component;
mod errors;
mod session;
mod settings;

use super::{
    Pause,
    calls::sqlx_calls,
    choice::Choice,
    client::{Client, Reach},
    hosts,
    news::NewsStream,
    progress::Progress,
    scheme,
    sql::SqlStore,
    timeouts::{Timeouts, within},
    transport::{self, Transport},
};
use crate::StoreError;
use election_core::{
    lease::Failure,
    sql::{Call, Dialect, Tables, Value},
};
use errors::{DEADLOCK, DENIED, MISSING, NO_COLUMN, SYNTAX, explain, is};
use session::Named;
use settings::Settings;
use sqlx::{
    ConnectOptions as _, Connection as _, MySqlConnection, MySqlPool, Row as _, TypeInfo as _,
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

/// The leader row in MySQL 8 or MariaDB 10.4, or later.
///
/// There are no notifications: a graceful handover waits for the next poll, a third of the ttl
/// unless set otherwise.
///
/// If a server with `innodb_flush_log_at_trx_commit` other than 1 crashes, it may lose what it has
/// acknowledged: a renewal, or the win of a term, which is then won once more. With 2 this takes a
/// crash of the machine, with 0 a crash of the server. The store logs a warning once it has
/// connected.
///
/// # While the server is ill
///
/// Calls end in bounded time ([`SqlStore`]). A statement that was given up ends on the server as
/// well: the store's own sessions bound their waits (`lock_wait_timeout`,
/// `innodb_lock_wait_timeout`, and `max_statement_time` on MariaDB or `max_execution_time` on
/// MySQL), and the next session ends one that was given up (`KILL CONNECTION`). Each takes a lock
/// with a name of its own (`GET_LOCK`), by which the other identifies it. An elector's sessions also
/// set `wait_timeout` with their first words. An elector that is stopped for longer than four ttl (a
/// minute at least) has to connect anew.
///
/// One elector holds at most three sessions: its own and two that are being given up. That holds
/// whatever the link to the server does, once the first words of a session have got through. Until a
/// new session has ended the one before it, the server ends the new one by itself after a third of
/// the ttl of silence (whole seconds, five at most), and the elector opens another after twice that
/// time.
///
/// No client can bound a session before its first words have arrived: these servers take no
/// settings with a login. A login that hangs is ended by the server (`connect_timeout`, ten seconds
/// by default). One that the server has let in ends when it finds that its client is gone: after two
/// hours where it is not told (TCP keep-alives), after eight where a proxy answers for the client
/// (the server's own `wait_timeout`). If the first words are lost, the elector therefore waits half
/// a minute, then ever longer, an hour at most, and one more session may stay behind each time. It
/// connects at once if the link breaks for the first time meanwhile; a link that is whole again and
/// has forgotten the connection costs the rest of the wait. If the answer to the login is lost, the
/// elector cannot tell that from a server that is down, and opens another after half a minute at
/// most.
///
/// # Settings
///
/// On its own connection the store sets what its statements rely on, whatever the server's defaults
/// or its `init_connect` say, and then checks with the server: no transaction is open (one that
/// `init_connect` has begun is rolled back), `autocommit` and `foreign_key_checks` are on,
/// `completion_type` is `NO_CHAIN`, and a few more. On a connection of the caller's it only checks,
/// with each call: [`on`](SqlStore::on) and a fence refuse a session whose settings would make the
/// statements ineffective, or whose clock stands still (`SET timestamp`). MariaDB also tells of a
/// transaction that sqlx knows nothing of: [`on`](SqlStore::on) refuses it. `tx_read_only`
/// (`transaction_read_only`) is respected: where it is on, nobody leads, and errors say so.
///
/// # Triggers
///
/// A trigger on `election_leader` hides what a statement has written from its client. The store then
/// reads the row, so each renewal costs two statements. See the guide's page
/// [`tables`](crate::guide::tables).
///
/// # Galera
///
/// On a cluster of MariaDB servers (`wsrep_provider`) set
/// [`clock_step`](crate::Builder::clock_step), since each server has a clock of its own. The guide's
/// page [`choosing`](crate::guide::choosing#galera) says what holds there. A session with `wsrep_on` off
/// is refused. A fence writes its row there, and needs `DELETE` on `election_fence`, too.
///
/// # Least privilege
///
/// A user that takes part, here `app` on the default tables in the current database, needs only
/// this:
///
/// ```sql
#[doc = include_str!("mysql.grants.sql")]
/// ```
///
/// The user who creates the tables ([`ensure_schema`](SqlStore::ensure_schema)) needs `CREATE`,
/// `SELECT` and `INSERT` on the database, and on MySQL, according to its manual, `REFERENCES`. If
/// the tables exist, `ensure_schema` only reads.
///
/// # What rights mean
///
/// A user who may `SELECT` from `election_leader` can lock its rows, and while a row is locked
/// nobody can renew: `Lock wait timeout exceeded; try restarting transaction`, and the lease runs
/// out. `SELECT … LOCK IN SHARE MODE` (`FOR SHARE`) does this, and so does a plain `SELECT` in a
/// transaction of isolation `SERIALIZABLE`, for as long as that transaction stays open: a forgotten
/// console, a dashboard, a backup tool. Nobody else leads meanwhile, so exclusion holds;
/// availability does not. These servers have no right to read without the ability to lock.
/// Therefore
///
/// * grant `SELECT` on the tables only to users that take part, not to people or dashboards, and
///   grant `LOCK TABLES` to none of them; show leaders with `election status` or
///   [`leader`](SqlStore::leader), which read outside of any transaction,
/// * let others read a replica,
/// * bound idle transactions: MariaDB has `idle_transaction_timeout`, MySQL has no such setting.
///
/// A user who may `UPDATE` or `DELETE` the rows decides who leads.
pub type MySqlStore = SqlStore<MySqlServer>;

/// A MySQL or MariaDB server, as [`MySqlStore`]'s client.
#[derive(Clone)]
pub struct MySqlServer {
    hosts: Choice<MySqlConnectOptions>,
    /// The database that holds the tables, if it is not the connection's.
    schema: Option<String>,
    timeouts: Timeouts,
    /// Whether the warnings have been logged.
    warned: Arc<AtomicBool>,
}

impl MySqlStore {
    /// The default tables in the database of a `mysql://` (or `mariadb://`) URL. Nothing is
    /// connected yet.
    ///
    /// A server that is not on this machine (`localhost`, 127.0.0.0/8, `::1`, a unix socket) is
    /// contacted over TLS, and only if an authority that this machine trusts vouches for its host
    /// name (`ssl-mode=VERIFY_IDENTITY`). The same holds if the URL names an authority with
    /// `ssl-ca`. An `ssl-mode` in the URL wins.
    ///
    /// The URL may name several hosts of one cluster, as the guide's page
    /// [`production`](crate::guide::production#several-hosts) describes.
    ///
    /// # Errors
    /// If the URL is invalid, or asks for encryption without the feature `tls`.
    pub fn connect(url: &str) -> Result<Self, StoreError> {
        scheme::is_of(Dialect::MySql, url)?;
        let listed = hosts::of_mysql(url)?;
        let options = transport::mysql_of_all(&listed.urls)?;
        let options = options.into_iter().map(prepared).collect();
        let hosts = Choice::of(options, named).ok_or_else(hosts::none)?;
        Ok(Self::of_hosts(hosts, &Tables::default()))
    }

    /// Like [`connect`](Self::connect), from options, which are used as they are, and with tables
    /// of other names.
    #[must_use]
    pub fn with_options(options: MySqlConnectOptions, tables: &Tables) -> Self {
        Self::of_hosts(Choice::one(prepared(options), named), tables)
    }

    fn of_hosts(hosts: Choice<MySqlConnectOptions>, tables: &Tables) -> Self {
        let schema = tables.named_schema().map(str::to_owned);
        let timeouts = Timeouts::ALONE;
        Self::with_client(MySqlServer { hosts, schema, timeouts, warned: Arc::default() }, tables)
    }

    /// The database that a pool of the application uses. The elector still opens a connection of
    /// its own: an exhausted pool must not cost the lease.
    #[must_use]
    pub fn from_pool(pool: &MySqlPool) -> Self {
        Self::with_options(pool.connect_options().as_ref().clone(), &Tables::default())
    }

    /// Where the server is, and how the connection to it is protected; of several, how the least
    /// protected one is.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.client.transport()
    }
}

/// As a store uses them. The session's settings are made, and checked, once it is open.
fn prepared(options: MySqlConnectOptions) -> MySqlConnectOptions {
    options
        .timezone(None)
        .set_names(false)
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .disable_statement_logging()
}

fn named(options: &MySqlConnectOptions) -> String {
    transport::address(transport::of_mysql(options))
}

impl Client for MySqlServer {
    type Connection = MySqlConnection;
    type Identity = ();
    type Session = Named;

    const DIALECT: Dialect = Dialect::MySql;
    /// One more than elsewhere: nobody listens, and these sessions may outlast the wait for them.
    const SESSIONS: usize = 3;

    /// There, too, a replica is as a rule set to read only.
    const REPLICA: Option<&'static str> = Some("SELECT CAST(@@GLOBAL.read_only <> 0 AS SIGNED)");

    async fn begin_migration(&self, connection: &mut MySqlConnection) -> Result<(), StoreError> {
        session::lock_making(connection, self.timeouts).await
    }

    const END_MIGRATION: &'static str = session::UNLOCK_MAKING;

    fn misses_table(error: &StoreError) -> bool {
        is(error, &[MISSING])
    }

    fn misses_column(error: &StoreError) -> bool {
        is(error, &[NO_COLUMN])
    }

    fn lacks_right(error: &StoreError) -> bool {
        is(error, &DENIED)
    }

    fn may_not_make(&self, error: StoreError) -> StoreError {
        let context = "this database user may not create the tables; grant it CREATE, SELECT and \
                       INSERT on the database (on MySQL REFERENCES too), or have another user \
                       create them (`election schema` prints them)";
        StoreError { context: context.to_owned(), ..error }
    }

    fn cannot_merge(error: &StoreError) -> bool {
        is(error, &[SYNTAX]) || Self::lacks_right(error)
    }

    /// MariaDB bounds no wait for a lock to less than a second otherwise. What follows M! is a comment to MySQL.
    fn bound_one(&self) -> Option<String> {
        let seconds = self.timeouts.lock().as_secs_f64();
        let bound = format!("/*M!100100 SET STATEMENT max_statement_time = {seconds} FOR */ ");
        self.timeouts.is_shared().then_some(bound)
    }

    /// Usual when sixteen contenders create one row at the same time.
    fn lost_a_deadlock(error: &StoreError) -> bool {
        is(error, &[DEADLOCK])
    }

    async fn connect(
        &self,
        _: bool,
        progress: &Progress,
    ) -> Result<(MySqlConnection, Named), StoreError> {
        self.hosts.enter(self.timeouts, progress, |host| self.enter(host, progress)).await
    }

    fn move_on(&self) {
        self.hosts.move_on();
    }

    fn failed(&self) -> Option<StoreError> {
        self.hosts.failed()
    }

    async fn blame(&self, _: &mut MySqlConnection, error: StoreError) -> StoreError {
        if errors::only_reads(&error) && self.hosts.are_several() {
            return hosts::reads_now(error);
        }
        error
    }

    async fn end(
        &self,
        connection: &mut MySqlConnection,
        session: &Named,
    ) -> Result<(), StoreError> {
        session.end(connection).await.map_err(|error| explain(error, Failure::Transient))
    }

    fn can_be_ended(session: &Named) -> bool {
        session.is_known()
    }

    async fn opened(&self, connection: &mut MySqlConnection) -> Result<(), StoreError> {
        session::open(connection, self.timeouts).await
    }

    fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    async fn patiently<F: Future + Send>(&self, time: Duration, call: F) -> Option<F::Output> {
        within(time, call).await
    }

    fn use_tables(&mut self, tables: &Tables) -> Result<(), StoreError> {
        self.schema = tables.named_schema().map(str::to_owned);
        Ok(())
    }

    async fn check(connection: &mut MySqlConnection) -> Result<Reach, StoreError> {
        let fit = if connection.is_in_transaction() {
            Settings::fit_for_open_transactions
        } else {
            Settings::fit_for_statements
        };
        let settings = Settings::of_callers(connection).await?;
        settings.refuse_unless(fit)?;
        Ok(settings.reach())
    }

    fn place(&self) -> String {
        let server = self.transport().server;
        match self.schema.as_deref().or(self.hosts.first().get_database()) {
            Some(database) => format!("{server}, database {database}"),
            None => server,
        }
    }

    fn identity(&self) -> Option<()> {
        Some(())
    }

    fn bound_waits(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// There is nothing to listen to; the elector polls.
    fn news(&self, _: Pause) -> NewsStream {
        Box::pin(futures_lite::stream::pending())
    }

    sqlx_calls!(
        prepared for MySqlConnection,
        of sqlx::MySql,
        explain: explain,
        unless: |_: &Self| false
    );

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
    fn transport(&self) -> Transport {
        self.hosts.transport(transport::of_mysql)
    }

    /// Warns of a server that may lose commits; once, since it concerns the server, not a
    /// connection.
    async fn warn(&self, connection: &mut MySqlConnection) {
        if self.warned.swap(true, Ordering::Relaxed) {
            return;
        }
        let asked = "SELECT CAST(@@GLOBAL.innodb_flush_log_at_trx_commit AS SIGNED)";
        match sqlx::query_scalar::<_, i64>(asked).fetch_one(connection).await {
            Ok(1) => {}
            Ok(setting) => tracing::warn!(
                server = %self.place(),
                "innodb_flush_log_at_trx_commit is {setting}: a crash can lose an acknowledged \
                 renewal or win, and then two processes may lead; set it to 1"
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

//! The store's own session on MySQL or MariaDB: its settings, its identity, and how another session
//! ends it.

use super::errors::{explain, is_given_up};
use crate::{
    StoreError,
    store::{progress::Progress, timeouts::Timeouts},
};
use election_core::lease::Failure;
use sqlx::{AssertSqlSafe, Executor as _, MySqlConnection};
use std::time::Duration;
use uuid::Uuid;

/// Ends the transaction that `init_connect` may have begun, and what it has set for the next one:
/// otherwise nothing that follows would ever be committed. Whatever `completion_type` says.
const AFRESH: &str = "ROLLBACK AND NO CHAIN NO RELEASE";

/// The settings that every statement of the elector's relies on, whatever the server's defaults or
/// its `init_connect` say: each statement commits by itself, respects foreign keys, and neither
/// loses rows nor alters values on the way.
const SESSION: &str = "SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', \
     foreign_key_checks = 1, unique_checks = 1, sql_safe_updates = 0, \
     sql_select_limit = 18446744073709551615, \
     sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', timestamp = DEFAULT";

/// Uncommitted data is never read. Whether the session may write is left to the server.
const ISOLATION: &str = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";

/// A session on the server. A server reuses connection ids after a restart, and every other server
/// that the address may lead to has the same ids; so each session holds a lock with a unique name.
pub struct Named {
    name: String,
    /// Whether the server has such locks: a cluster may not.
    known: bool,
}

/// Has the server end the session by itself if its client says nothing more. These are the first
/// words, and few, so that whatever has carried the login carries them too; no server takes such
/// settings with the login. Returns whether the server does so.
pub(super) async fn bound(
    connection: &mut MySqlConnection,
    timeouts: Timeouts,
) -> Result<bool, StoreError> {
    if timeouts.idle().is_none() {
        return Ok(false);
    }
    let seconds = timeouts.opening().as_secs();
    let bound = format!("SET wait_timeout={seconds},net_read_timeout={seconds}");
    match connection.execute(AssertSqlSafe(bound)).await {
        Err(error) if error.as_database_error().is_some() => {
            tracing::debug!(%error, "the server does not end idle sessions");
            Ok(false)
        }
        Err(error) => Err(explain(error, Failure::Transient)),
        Ok(_) => Ok(true),
    }
}

/// From now on the session may be idle for as long as between two calls, and wait for locks. Inside a
/// transaction it may not: a hung process would keep rows locked. MySQL has no such setting and reads what
/// follows M! as a comment.
pub(super) async fn open(
    connection: &mut MySqlConnection,
    timeouts: Timeouts,
) -> Result<(), StoreError> {
    let Some(idle) = timeouts.idle() else { return Ok(()) };
    let (idle, locks) = (idle.as_secs(), locks(timeouts.lock()));
    let transaction = timeouts.opening().as_secs();
    let open = format!(
        "SET SESSION wait_timeout = {idle}, net_read_timeout = DEFAULT, {locks} \
         /*M!100300 , idle_transaction_timeout = {transaction} */"
    );
    match connection.execute(AssertSqlSafe(open)).await {
        Err(error) if error.as_database_error().is_none() || is_given_up(&error) => {
            Err(explain(error, Failure::Transient))
        }
        _ => Ok(()), // a server that refuses this has refused the tighter bound, too
    }
}

/// The server's own defaults are fifty seconds and a day. It takes whole seconds only.
fn locks(wait: Duration) -> String {
    let seconds = wait.as_secs().max(1);
    format!("innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}")
}

/// Sets a session up, and gives it a name.
pub(super) async fn begin(
    connection: &mut MySqlConnection,
    database: Option<&str>,
    timeouts: Timeouts,
    progress: &Progress,
) -> Result<Named, StoreError> {
    let wait = timeouts.idle().map_or(timeouts.lock(), |_| timeouts.lock().min(timeouts.opening()));
    let locks = format!("SET SESSION {}", locks(wait));
    // `init_connect` may have changed the setting, for some users and not for others.
    let stay = database.map(|database| format!("USE `{}`", database.replace('`', "``")));
    let settings = [AFRESH.into(), SESSION.into(), ISOLATION.into(), locks];
    for setting in settings.into_iter().chain(stay) {
        let set = connection.execute(AssertSqlSafe(setting)).await;
        set.map_err(|error| explain(error, Failure::Transient))?;
        progress.heard();
    }
    let name = format!("election {}", Uuid::new_v4());
    let statement = timeouts.statement();
    let mut known = false;
    for wish in [
        // MariaDB's setting, to the millisecond, and for every statement.
        format!("SET SESSION max_statement_time = {}", statement.as_secs_f64()),
        // MySQL's setting bounds only reads; a write waits a whole second even under a short lease,
        // unless its session is ended.
        format!("SET SESSION max_execution_time = {}", statement.as_millis().max(1)),
        format!("DO GET_LOCK('{name}', 0)"),
    ] {
        let wished = connection.execute(AssertSqlSafe(wish)).await;
        known = wished.is_ok();
        if let Err(error) = wished {
            tracing::trace!(%error, "a server of an unknown kind");
        }
        progress.heard();
    }
    Ok(Named { name, known })
}

impl Named {
    /// Whether another session can end this one.
    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// Ends the session, with whatever it waits for, unless the server refuses. A user may always
    /// end sessions of his own.
    ///
    /// # Errors
    /// If the server has not answered, or had no time for it: the session may still be there.
    pub(super) async fn end(&self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        let holder = sqlx::query_scalar("SELECT CAST(IS_USED_LOCK(?) AS SIGNED)").bind(&self.name);
        let ended = async {
            let Some(holder) = holder.fetch_one(&mut *connection).await? else { return Ok(()) };
            let kill = format!("KILL CONNECTION {}", <i64>::max(holder, 0));
            connection.execute(AssertSqlSafe(kill)).await.map(|_| ())
        };
        match ended.await {
            Err(error) if error.as_database_error().is_some() && !is_given_up(&error) => {
                tracing::debug!(%error, "an abandoned session is left to end by itself");
                Ok(())
            }
            ended => ended,
        }
    }
}

/// The lock under which tables are created: creating one commits by itself on these servers, so no
/// transaction keeps two migrations apart.
const MAKING: &str = "election_schema";

pub(super) async fn lock_making(
    connection: &mut MySqlConnection,
    timeouts: Timeouts,
) -> Result<(), StoreError> {
    let fail = |error| explain(error, Failure::Transient);
    let seconds = timeouts.lock().as_secs().max(1);
    let lock = sqlx::query_scalar("SELECT CAST(GET_LOCK(?, ?) AS SIGNED)");
    let locked = lock.bind(MAKING).bind(seconds).fetch_one(&mut *connection).await;
    let locked: Option<i64> = locked.map_err(fail)?;
    if locked == Some(1) {
        return Ok(());
    }
    let holder = sqlx::query_scalar("SELECT CAST(IS_USED_LOCK(?) AS SIGNED)").bind(MAKING);
    let holder: Option<i64> = holder.fetch_one(connection).await.map_err(fail)?;
    let who = match holder {
        Some(number) => {
            format!("connection {number} does (SHOW PROCESSLIST; KILL {number} ends it)")
        }
        None => "it has ended since; try again".to_owned(),
    };
    let context =
        format!("another session is creating tables, or holds the lock {MAKING:?}: {who}");
    Err(StoreError::new(Failure::Conflict, context))
}

pub(super) const UNLOCK_MAKING: &str = "DO RELEASE_LOCK('election_schema')";

//! The differences between the databases, behind one trait.

use super::{Pause, news::NewsStream, progress::Progress, timeouts::Timeouts};
use crate::{StoreError, StoreErrorCode};
use election_core::{
    lease::Failure,
    sql::{Call, Dialect, Schema, Statements, Tables, Value},
};
use std::{borrow::Cow, future::Future, time::Duration};

/// Device and inode number of the files beside a database, if it has such files.
pub(super) type Companions = [Option<(u64, u64)>; 2];

/// Why nothing is done in a transaction that the database has ended without being asked to.
#[cfg(any(feature = "sqlite", feature = "mysql"))]
pub(super) const OVER: &str = "the transaction was ended by the server: an error ended it, or a \
                               statement that commits implicitly (COMMIT, on MySQL also CREATE \
                               TABLE and the like); further statements would be committed one by \
                               one; roll back, and begin another";

/// Why a server may say nothing.
pub(super) const SILENT: &str = "the server did not answer in time; check the network, and that \
                                 the server is neither stopped nor overloaded";

/// Whom the locks of a session hold up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everybody who uses the database.
    All,
    /// Only who is at the same server of a cluster; elsewhere only what was written counts.
    OneServer,
}

/// A database client. Sealed: to support another database, implement [`Store`](crate::Store).
pub trait Client: Clone + Send + Sync + 'static {
    /// A connection, the caller's own or one of the store's.
    type Connection: sqlx::Connection;
    /// Shows whether a kept connection still leads to the right database.
    type Identity: Send + PartialEq + 'static;
    /// Identifies a session of the store's own on the server, so that another session can end it.
    type Session: Send + Sync + 'static;

    /// The dialect of its statements.
    const DIALECT: Dialect;
    /// The statements for these tables.
    fn statements(&self, tables: &Tables) -> Statements {
        Statements::new(Self::DIALECT, tables)
    }
    /// The tables that they need.
    fn schema(&self, tables: &Tables) -> Schema {
        Schema::new(Self::DIALECT, tables)
    }

    /// Asks whether the server is a replica, whose rows may be old: one row of one integer, 1 if it is.
    /// `None` if there are no such servers.
    const REPLICA: Option<&'static str> = None;

    /// Whether a call may reuse a connection that another call gave up midway: the earlier
    /// statement finishes first, and its answer is discarded.
    const QUEUES: bool = false;

    /// Whether a connection that creates the database differs from others.
    const CREATES: bool = false;
    /// How many sessions may exist before no other is opened, one that is being opened included.
    const SESSIONS: usize = 2;

    /// Opens a connection; `create` also prepares a new database. Reports when the server has let
    /// it in, if there is a server, and when it was heard.
    fn connect(
        &self,
        create: bool,
        progress: &Progress,
    ) -> impl Future<Output = Result<(Self::Connection, Self::Session), StoreError>> + Send;

    /// Ends a session that was given up, with whatever it waits for. Does nothing if the session
    /// has ended by itself, or if the server refuses that.
    ///
    /// # Errors
    /// If the server has not answered.
    fn end(
        &self,
        _connection: &mut Self::Connection,
        _session: &Self::Session,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Whether another session can end this one for sure, wherever its link stops.
    fn can_be_ended(_session: &Self::Session) -> bool {
        false
    }

    /// Prepares a connection for calls once it is open: from now on it may be idle between them.
    fn opened(
        &self,
        _connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Ends anything else this client has left on the server, before a call uses the connection.
    fn clear(&self, _connection: &mut Self::Connection) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// How long it waits, and for what.
    fn timeouts(&self) -> Timeouts;

    /// Waits this long; `None` after that.
    fn patiently<F: Future + Send>(
        &self,
        _time: Duration,
        call: F,
    ) -> impl Future<Output = Option<F::Output>> + Send {
        async { Some(call.await) }
    }

    /// Returns the same error. If a lock could not be had, the error also says who holds it, as far
    /// as the database tells; the connection is in good order then.
    fn blame(
        &self,
        _connection: &mut Self::Connection,
        error: StoreError,
    ) -> impl Future<Output = StoreError> + Send {
        async { error }
    }

    /// Returns the same error, perhaps with a remedy that names what this client alone knows: the
    /// user, for instance.
    fn remedied(&self, error: StoreError) -> StoreError {
        error
    }

    /// The host in use answers nothing more: the next connection is tried elsewhere first, if there
    /// are several hosts.
    fn move_on(&self) {}

    /// Why a server that was connected to may not have answered in time, and what to do.
    fn silence(&self) -> Cow<'static, str> {
        SILENT.into()
    }

    /// Why none of several hosts could be used when they were last tried.
    fn failed(&self) -> Option<StoreError> {
        None
    }

    /// Creates the database that a connection leads to, if that is possible and it does not exist.
    fn make(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// This process takes part in an election there, and does not only look on.
    fn takes_part(&self) {}

    /// Refuses a database that not everybody shares any more; called before every conversation.
    fn admit(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Switches to tables of these names.
    ///
    /// # Errors
    /// If the database cannot have such tables.
    fn use_tables(&mut self, tables: &Tables) -> Result<(), StoreError>;

    /// Refuses to create tables that would split the election in two.
    fn may_make_tables(
        &self,
        _connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// The database that a new connection would reach now; `None` if none.
    fn identity(&self) -> Option<Self::Identity>;

    /// The files beside the database that stay the same while a connection is open.
    fn companions(&self) -> Companions {
        Companions::default()
    }

    /// The name of the database in errors.
    fn place(&self) -> String;

    /// Tells waiting processes that leadership has moved, if the database does not do so itself.
    fn announce(&self) {}

    /// Fetches all rows.
    fn fetch(
        connection: &mut Self::Connection,
        call: &Call<'_>,
    ) -> impl Future<Output = Result<Vec<Vec<Value<'static>>>, StoreError>> + Send;

    /// Counts changed rows, and returns the last insert id if there is one.
    fn execute(
        connection: &mut Self::Connection,
        call: &Call<'_>,
    ) -> impl Future<Output = Result<(u64, u64), StoreError>> + Send;

    /// Sends a statement as text, without preparing it.
    fn send(
        connection: &mut Self::Connection,
        sql: &str,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Prepares a statement that will be run, where that saves a round trip.
    fn prepare(
        &self,
        _connection: &mut Self::Connection,
        _call: &Call<'_>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Whether this is a deadlock between statements that are transactions of their own, and this
    /// one was undone, so that it may run again at once.
    fn lost_a_deadlock(_error: &StoreError) -> bool {
        false
    }

    /// Keeps what follows on one session of the server, where a pooler would change the session
    /// between two statements.
    fn pin(
        &self,
        _connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Ends that; `keep` says whether to commit what was done.
    fn unpin(
        &self,
        _connection: &mut Self::Connection,
        _keep: bool,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Refuses a caller's session in which the statements would not do what they say. Tells how far
    /// its locks reach.
    fn check(
        _connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Reach, StoreError>> + Send {
        async { Ok(Reach::All) }
    }

    /// Reads a setting that a statement changes in the session of a caller's transaction and that
    /// must be restored afterwards. Most databases have none.
    fn keep_settings(
        _connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Option<String>, StoreError>> + Send {
        async { Ok(None) }
    }

    /// Restores what [`keep_settings`](Self::keep_settings) has read.
    fn restore_settings(
        _connection: &mut Self::Connection,
        _kept: Option<String>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Keeps two migrations apart; opens a transaction if the database can.
    fn begin_migration(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Whether this error says that a table is missing.
    fn misses_table(error: &StoreError) -> bool;

    /// Whether this error says that a table lacks a column.
    fn misses_column(error: &StoreError) -> bool;

    /// Whether the server has only refused a statement with this error, so that the session is in
    /// good order and the next statement is judged anew. Without it the connection is closed: where
    /// connecting is slow, a call that always fails would keep the others from ever having one.
    fn is_refusal(error: &StoreError) -> bool {
        error.kind == Failure::Conflict
            || error.code() == Some(StoreErrorCode::Row)
            || Self::cannot_merge(error)
            || Self::lacks_right(error)
    }

    /// Whether this error says that the database's user lacks a right.
    fn lacks_right(_error: &StoreError) -> bool {
        false
    }

    /// Explains a right that was missing while tables were created.
    fn may_not_make(&self, error: StoreError) -> StoreError {
        error
    }

    /// The statement after a migration that succeeded.
    const END_MIGRATION: &'static str;

    /// What goes before each statement for one election, so that it waits for a lock no longer than it may.
    fn bound_one(&self) -> Option<String> {
        None
    }

    /// Whether the server, or this user, does not run statements for many elections.
    fn cannot_merge(_error: &StoreError) -> bool {
        false
    }

    /// Waits no longer than this.
    fn bound_waits(&mut self, timeouts: Timeouts);

    /// What the database tells unasked.
    fn news(&self, pause: Pause) -> NewsStream;
}

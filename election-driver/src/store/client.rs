//! What differs between the databases, behind one trait.

use super::Pause;
use crate::{Notifications, StoreError};
use election_core::{
    lease::{Config, Registration},
    sql::{Call, Dialect, Tables, Value},
};
use std::future::Future;

/// Device and number of the files beside a database, where there are some.
pub(super) type Companions = [Option<(u64, u64)>; 2];

/// A database client. Closed to the outside: implement [`Store`](crate::Store) to bring another
/// database.
pub trait Client: Clone + Send + Sync + 'static {
    /// A connection, the caller's own or one of the store's.
    type Connection: Send;
    /// What tells whether a connection that was kept still leads to the right database.
    type Identity: Send + PartialEq + 'static;
    /// What a session of the store's own is called on the server, so that another can end it.
    type Session: Send + 'static;

    /// The statements it understands.
    const DIALECT: Dialect;
    /// A call may go on with a connection that was given up in the middle of another: what that has
    /// asked is finished first, and its answer goes nowhere.
    const QUEUES: bool = false;

    /// Opens a connection; `create` also prepares a database that was just made.
    fn connect(
        &self,
        create: bool,
    ) -> impl Future<Output = Result<(Self::Connection, Self::Session), StoreError>> + Send;

    /// Ends a session that a call has given up in the middle, with whatever it waits for. Nothing
    /// where it has ended by itself.
    fn end(
        &self,
        connection: &mut Self::Connection,
        session: &Self::Session,
    ) -> impl Future<Output = ()> + Send {
        let _ = (self, connection, session);
        async {}
    }

    /// Ends what else this client has left behind on the server, before a call uses the connection.
    fn clear(&self, connection: &mut Self::Connection) -> impl Future<Output = ()> + Send {
        let _ = (self, connection);
        async {}
    }

    /// Waits for as long as so many calls may take; `None` after that.
    fn patiently<F: Future + Send>(
        &self,
        calls: u32,
        call: F,
    ) -> impl Future<Output = Option<F::Output>> + Send {
        let _ = (self, calls);
        async { Some(call.await) }
    }

    /// The same error. If it is that a lock could not be had, it says who holds that, as far as the
    /// database tells; the connection is in good order then.
    fn blame(
        &self,
        connection: &mut Self::Connection,
        error: StoreError,
    ) -> impl Future<Output = StoreError> + Send {
        let _ = (self, connection);
        async { error }
    }

    /// Makes what a connection leads to, where that is possible and nothing is there yet.
    fn make(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Refuses a database that not everybody shares any more; asked before every conversation.
    fn admit(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Goes on with tables of these names.
    ///
    /// # Errors
    /// If the database cannot have them.
    fn use_tables(&mut self, tables: &Tables) -> Result<(), StoreError>;

    /// Refuses to make tables where it would split the election in two.
    fn may_make_tables(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = (self, connection);
        async { Ok(()) }
    }

    /// Where a connection would lead now; `None` if nowhere.
    fn identity(&self) -> Option<Self::Identity>;

    /// What stands beside the database and stays the same for as long as a connection is open.
    fn companions(&self) -> Companions {
        Companions::default()
    }

    /// What the database is called in errors.
    fn place(&self) -> String;

    /// Tells those who wait for this database that leadership has moved, where the database does
    /// not do that itself.
    fn announce(&self) {}

    /// Fetches all rows.
    fn fetch(
        connection: &mut Self::Connection,
        call: &Call<'_>,
    ) -> impl Future<Output = Result<Vec<Vec<Value<'static>>>, StoreError>> + Send;

    /// Counts changed rows, and the last insert id where there is one.
    fn execute(
        connection: &mut Self::Connection,
        call: &Call<'_>,
    ) -> impl Future<Output = Result<(u64, u64), StoreError>> + Send;

    /// Whether this is a deadlock between statements that are transactions of their own, and this
    /// one was undone, so that it may be run again at once.
    fn lost_a_deadlock(error: &StoreError) -> bool {
        let _ = error;
        false
    }

    /// Keeps what follows on one session of the server, where a pooler would change it between two
    /// statements.
    fn pin(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = connection;
        async { Ok(()) }
    }

    /// The end of that; `keep` says whether what was done is to stay.
    fn unpin(
        &self,
        connection: &mut Self::Connection,
        keep: bool,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = (connection, keep);
        async { Ok(()) }
    }

    /// Refuses a session of the caller's in which the statements do not do what they say.
    fn check(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = connection;
        async { Ok(()) }
    }

    /// What a statement changes in the session of a caller's transaction, and must not: read
    /// before, put back after. Nothing, in most databases.
    fn keep_settings(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Option<String>, StoreError>> + Send {
        let _ = connection;
        async { Ok(None) }
    }

    /// Puts back what [`keep_settings`](Self::keep_settings) has read.
    fn restore_settings(
        connection: &mut Self::Connection,
        kept: Option<String>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = (connection, kept);
        async { Ok(()) }
    }

    /// Lets no two migrations meet; where the database can, it opens a transaction.
    fn begin_migration(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Whether this is a table that is not there.
    fn misses_table(error: &StoreError) -> bool;

    /// Whether this is a right that the database's user lacks.
    fn lacks_right(error: &StoreError) -> bool {
        let _ = error;
        false
    }

    /// What the lack of a right means that showed as tables were made.
    fn may_not_make(&self, error: StoreError) -> StoreError {
        error
    }

    /// The statement after a migration that succeeded.
    const END_MIGRATION: &'static str;

    /// Timeouts this client's own waits by the elector's timing.
    fn bound_waits(&mut self, config: &Config);

    /// What the database tells unasked about one election.
    fn notifications(&self, registration: &Registration, pause: Pause) -> Notifications;
}

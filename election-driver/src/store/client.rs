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
    type Identity: Send + PartialEq;

    /// The statements it understands.
    const DIALECT: Dialect;

    /// Opens a connection; `create` also prepares a database that was just made.
    fn connect(
        &self,
        create: bool,
    ) -> impl Future<Output = Result<Self::Connection, StoreError>> + Send;

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

    /// Statements that let no two migrations meet; where the database can, they open a
    /// transaction.
    const BEGIN_MIGRATION: &'static [&'static str];
    /// Statements after a migration that succeeded.
    const END_MIGRATION: &'static [&'static str];

    /// Bounds this client's own waits by the elector's timing.
    fn bound_waits(&mut self, config: &Config);

    /// What the database tells unasked about one election.
    fn notifications(&self, registration: &Registration, pause: Pause) -> Notifications;
}

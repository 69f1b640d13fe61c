//! The transactions that can be fenced.

use super::{client::Client, session::Session};
use crate::StoreError;
use election_core::{
    Epoch,
    lease::{Failure, Registration},
    sql::Statements,
};

/// A sqlx transaction on one of the supported databases. Sealed: users of another client run
/// [`Statements::fence`](election_core::sql::Statements::fence) themselves.
///
/// Only a transaction can be fenced: the locks of a fence are released when its transaction ends,
/// and outside of a transaction that is at once.
pub trait Fenced: Send {
    /// The client that speaks to this database.
    #[doc(hidden)]
    type Client: Client;

    /// The connection that the transaction is open on.
    #[doc(hidden)]
    fn connection(&mut self) -> &mut <Self::Client as Client>::Connection;
}

macro_rules! fenced {
    ($database:ty, $client:ty) => {
        impl Fenced for sqlx::Transaction<'_, $database> {
            type Client = $client;
            fn connection(&mut self) -> &mut <$client as Client>::Connection {
                self
            }
        }
    };
}

#[cfg(feature = "sqlite")]
fenced!(sqlx::Sqlite, super::sqlite::SqliteFile);
#[cfg(feature = "postgres")]
fenced!(sqlx::Postgres, super::postgres::PgServer);
#[cfg(feature = "mysql")]
fenced!(sqlx::MySql, super::mysql::MySqlServer);

/// Fences a caller's transaction.
pub(crate) async fn fence<T: Fenced>(
    transaction: &mut T,
    statements: &Statements,
    registration: &Registration,
    epoch: Epoch,
) -> Result<bool, StoreError> {
    let connection = transaction.connection();
    let reach = T::Client::check(connection).await?;
    let mut session = Session::<T::Client> { connection, statements, alone: false, bound: None };
    let fenced = async {
        if session.fence(registration, epoch, reach).await? {
            return Ok(true);
        }
        // A row that row-level security hides looks like a missing one; with the settings of a call the
        // server says which. They stay: the transaction is lost anyway.
        match T::Client::keep_settings(session.connection).await? {
            Some(_) => session.fence(registration, epoch, reach).await,
            None => Ok(false),
        }
    };
    fenced.await.map_err(|error: StoreError| {
        if !T::Client::misses_table(&error) {
            return error;
        }
        // To create the tables here would be the wrong remedy.
        let context = "the transaction's database has no election tables, so the transaction \
                       cannot be fenced; open it on the lease's database";
        StoreError { kind: Failure::Fatal, context: context.into(), ..error }
    })
}

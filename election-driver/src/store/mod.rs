//! Databases behind the lease.

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod calls;
#[cfg(feature = "_sql")]
mod client;
mod error;
#[cfg(feature = "_sql")]
mod fenced;
#[cfg(feature = "sqlite")]
mod files;
#[cfg(feature = "_sql")]
mod link;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "_sql")]
mod session;
#[cfg(feature = "_sql")]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "_sql")]
mod timeouts;
#[cfg(feature = "_sql")]
mod transaction;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod transport;

#[cfg(feature = "_sql")]
pub(crate) use client::Client;
pub use error::StoreError;
#[cfg(feature = "_sql")]
pub use fenced::Fenced;
#[cfg(feature = "_sql")]
pub(crate) use fenced::fence;
#[cfg(feature = "mysql")]
pub use mysql::MySqlStore;
#[cfg(feature = "postgres")]
pub use postgres::PgStore;
#[cfg(feature = "conformance")]
pub(crate) use session::Session;
#[cfg(feature = "_sql")]
pub use sql::SqlStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
#[cfg(feature = "_sql")]
pub use transaction::{OnConnection, Uncommitted};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use transport::{Protection, Route, Transport};

use election_core::{
    Epoch,
    lease::{Answer, Config, Query, Registration},
    sql::Statements,
};
use futures_core::Stream;
use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

/// What a database tells unasked about one election: hints to look, since whoever can connect may
/// be able to give one. A leader that was asked to resign finds that in the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The row may have changed: look. Several are as good as one.
    Wake,
    /// The holder of this term has resigned.
    Resigned(Epoch),
    /// From here on changes are told. What came before may have been missed: a store that can miss
    /// something sends a [`Wake`](Self::Wake) after it.
    Listening,
    /// From here on nothing is told, until the next [`Listening`](Self::Listening); and why.
    Deaf(String),
}

/// Notices as they come.
pub type Notifications = Pin<Box<dyn Stream<Item = Notice> + Send>>;

/// Sleeps on the runtime's timer, for stores that try again after a while.
pub type Pause = Arc<dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A database that answers the lease's questions; open to third parties.
///
/// An implementation must be atomic per query and judge expiry by the database's clock, read at
/// execution, never by a time the client brings. The statements in [`election_core::sql`] do both.
pub trait Store: Send + 'static {
    /// Told once, before the first query, what the timing is: to bound its own waits for locks
    /// and connections well below [`Config::attempt_timeout`].
    fn prepare(&mut self, config: &Config) {
        let _ = config;
    }

    /// Answers one query.
    ///
    /// The future may be dropped at any time. The statement may then still be executed, and the
    /// next call must work all the same, on a new connection if need be.
    ///
    /// # Errors
    /// With a kind that says whether the statement may have been executed; when in doubt,
    /// [`Ambiguous`](election_core::lease::Failure::Ambiguous).
    fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> impl Future<Output = Result<Answer, StoreError>> + Send;

    /// The statements behind the answers, for fencing transactions on the same database
    /// (`Lease::fence`). None unless overridden: then nothing can be fenced.
    fn statements(&self) -> Option<Arc<Statements>> {
        None
    }

    /// What the database tells unasked. Never needed for safety or progress, since everything is
    /// polled too; it only makes things faster. None unless overridden.
    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        let _ = (registration, pause);
        Box::pin(futures_lite::stream::pending())
    }
}

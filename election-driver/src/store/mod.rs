//! The databases behind the lease.

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod calls;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod choice;
#[cfg(feature = "_sql")]
pub(crate) mod client;
mod error;
#[cfg(all(feature = "etcd", unix))]
mod etcd;
#[cfg(feature = "_sql")]
mod fenced;
#[cfg(feature = "sqlite")]
mod files;
#[cfg(feature = "sqlite")]
mod filesystem;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod hosts;
mod in_memory;
#[cfg(feature = "_sql")]
mod link;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "_sql")]
mod news;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "_sql")]
mod progress;
mod register;
#[cfg(feature = "_sql")]
mod scheme;
#[cfg(feature = "_sql")]
mod session;
#[cfg(feature = "_sql")]
mod shared;
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
mod uncommitted;

#[cfg(feature = "_sql")]
pub(crate) use client::Client;
pub use error::{StoreError, StoreErrorCode};
#[cfg(all(feature = "etcd", unix))]
pub use etcd::{EtcdFence, EtcdRegister, EtcdVersion};
#[cfg(feature = "_sql")]
pub use fenced::Fenced;
#[cfg(feature = "_sql")]
pub(crate) use fenced::fence;
pub use in_memory::InMemoryRegister;
#[cfg(feature = "mysql")]
pub use mysql::MySqlStore;
#[cfg(feature = "postgres")]
pub use postgres::PgStore;
pub use register::{Register, RegisterStore};
#[cfg(feature = "conformance")]
pub(crate) use session::Session;
#[cfg(feature = "_sql")]
pub use shared::{SharedStatus, SharedStore};
#[cfg(feature = "_sql")]
pub use sql::SqlStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
#[cfg(feature = "_sql")]
pub use transaction::OnConnection;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use transport::{Protection, Route, Transport};
#[cfg(feature = "_sql")]
pub use uncommitted::Uncommitted;

use election_core::{
    Epoch, Timestamp,
    lease::{Answer, Config, Query, Registration},
    sql::Statements,
};
use futures_core::Stream;
use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

/// A notice that a database sends unasked about one election. It is only a hint to look, since any
/// user who can connect may be able to send one. A leader that was asked to resign finds the
/// request in the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The row may have changed: look. Several wake-ups mean no more than one.
    Wake,
    /// The holder of this term has resigned.
    Resigned(Epoch),
    /// From here on the database notifies of changes. Earlier changes may have been missed: a store
    /// that can miss some sends a [`Wake`](Self::Wake) after this notice.
    Listening,
    /// From here on the database notifies of nothing, for this reason, until the next
    /// [`Listening`](Self::Listening).
    NotListening(String),
}

/// A stream of notices.
pub type Notifications = Pin<Box<dyn Stream<Item = Notice> + Send>>;

/// Sleeps on the runtime's timer, for stores that retry after a while.
pub type Pause = Arc<dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The runtime's clock, for stores that measure time themselves.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A database that answers the lease's questions. Third parties may implement it.
///
/// An implementation must be atomic per query. It must judge expiry by the database's clock, read
/// at execution, never by a time that the client supplies. The statements in [`election_core::sql`]
/// do both. (A store without such a clock implements [`Register`] instead.)
pub trait Store: Send + 'static {
    /// Called once, before the first query, with the timing. The store should bound its own waits
    /// for locks and connections well below [`Config::attempt_timeout`].
    fn prepare(&mut self, config: &Config) {
        let _ = config;
    }

    /// Called once, before the first query, with the clock by which the elector goes. The default
    /// ignores it. A store that wraps another must pass it on, as it must [`prepare`](Self::prepare).
    fn set_clock(&mut self, clock: Clock) {
        let _ = clock;
    }

    /// Answers one query.
    ///
    /// The future may be dropped at any time. The statement may still be executed then, and the
    /// next call must work all the same, on a new connection if need be.
    ///
    /// # Errors
    /// The kind says whether the statement may have been executed. In doubt it is
    /// [`Ambiguous`](election_core::lease::Failure::Ambiguous).
    fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> impl Future<Output = Result<Answer, StoreError>> + Send;

    /// The statements behind the answers, for fencing transactions on the same database
    /// (`Lease::fence`). The default is none: then nothing can be fenced.
    fn statements(&self) -> Option<Arc<Statements>> {
        None
    }

    /// Whether the store itself logs that its database is out of reach or does not notify, so that an
    /// elector does not: many electors of one store would all say the same. The default is no.
    fn tells_outages(&self) -> bool {
        false
    }

    /// Whether the metrics of an elector on this store carry its election's name. The default is yes.
    fn names_metrics(&self) -> bool {
        true
    }

    /// The notices that the database sends. Neither safety nor progress needs them, since
    /// everything is polled too; they only make things faster. The default is none.
    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        let _ = (registration, pause);
        Box::pin(futures_lite::stream::pending())
    }
}

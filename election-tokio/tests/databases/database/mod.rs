//! One database of each kind, behind one trait.

pub(crate) mod stores;

mod served;
mod sqlite;
mod statements;

pub(crate) use served::{OnMariaDb, OnPostgres, Served};
pub(crate) use sqlite::OnSqlite;

use election_core::{
    Candidate, Epoch, Namespace,
    lease::{Candidacy, Registration, Row},
    sql::CandidateRow,
};
use election_driver::{
    SqlStore, Status, StoreError, Uncommitted,
    conformance::{Fixture, Stores, inside::Client},
};
use election_tokio::{Election, Handle, Lease, Tokio};
use sqlx::{Database, Pool, Transaction};
use std::{future::Future, time::Duration};
use stores::Deaf;
use uuid::Uuid;

pub(crate) const SHORT: Duration = Duration::from_secs(1);
/// No lease of this length ends in a test.
pub(crate) const LONG: Duration = Duration::from_secs(900);

/// The transactions of a backend.
pub(crate) type Tx<B> = Transaction<'static, <B as Backend>::Database>;

/// A database of its own for one test.
pub(crate) trait Backend: Fixture<Runtime = Tokio> + Stores<Store: Clone + Sync> {
    type Database: Database;
    type Client: Client<Connection = <Self::Database as Database>::Connection>;

    /// The isolation levels it knows; on SQLite, the ways to begin.
    const ISOLATIONS: &'static [&'static str];

    /// What ends a transaction behind the caller's back; PostgreSQL tells of what does.
    const ENDS: &'static [&'static str] = &[];

    /// Makes a table of numbered writes.
    const WORK: &'static str;
    /// Loses all leader rows.
    const FORGET: &'static str = "DELETE FROM election_leader";

    /// Refuses each write to the leader row of `tenant-7`, as a third party's trigger would.
    const REFUSE: &'static [&'static str];

    /// How it is reached.
    fn url(&self) -> String;
    /// The same store, where a check needs no other.
    fn sql(&self) -> SqlStore<Self::Client>;
    /// The application's own connections. Nothing is connected yet.
    fn pool(&self) -> &Pool<Self::Database>;
    /// Begins a transaction of this isolation on a connection of its own.
    async fn begin(&self, isolation: &str) -> Tx<Self>;
    /// Ends the connection under a transaction, as the end of its process does.
    async fn kill(&self, transaction: Tx<Self>);
    fn run(
        transaction: &mut Tx<Self>,
        sql: &str,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
    /// The first column of the first row.
    async fn number(transaction: &mut Tx<Self>, sql: &str) -> Result<i64, sqlx::Error>;
    /// One fenced write into the table [`WORK`](Self::WORK), if the database takes it.
    fn write(&self, lease: &Lease) -> impl Future<Output = Option<()>> + Send;
    async fn row(&self) -> Result<Row, StoreError> {
        self.sql().leader(&namespace()).await
    }

    // The call-by-call election, on a connection of the store's own.

    async fn register(&self, who: &Candidacy) -> Result<(), StoreError> {
        self.sql().heartbeat(who).await
    }

    fn unregister(&self, who: &Candidacy) -> impl Future<Output = Result<Row, StoreError>> + Send {
        let (mut store, mut who) = (self.sql(), who.clone());
        async move { store.unregister_candidate(&mut who).await }
    }

    fn elect(&self, who: &Candidacy) -> impl Future<Output = Result<Row, StoreError>> + Send {
        let (mut store, mut who) = (self.sql(), who.clone());
        async move { store.elect(&mut who).await }
    }

    fn is_leader(&self, who: &Candidacy) -> impl Future<Output = Result<bool, StoreError>> + Send {
        let (mut store, who) = (self.sql(), who.clone());
        async move { store.is_leader(&who).await }
    }

    async fn list(&self) -> Result<Vec<CandidateRow>, StoreError> {
        self.sql().list_candidates(&namespace()).await
    }

    async fn request_resign(&self, epoch: Epoch) -> Result<bool, StoreError> {
        self.sql().request_resign(&namespace(), epoch).await
    }

    async fn ask_leader(&self) -> Result<Option<Epoch>, StoreError> {
        self.sql().request_resign_of_leader(&namespace()).await
    }

    // And on the caller's.

    async fn elect_in(
        &self,
        transaction: &mut Tx<Self>,
        who: &Candidacy,
    ) -> Result<Uncommitted<Row>, StoreError> {
        self.sql().on(transaction).elect(&mut who.clone()).await
    }

    async fn is_leader_in(
        &self,
        transaction: &mut Tx<Self>,
        who: &Candidacy,
    ) -> Result<Uncommitted<bool>, StoreError> {
        self.sql().on(transaction).is_leader(who).await
    }

    /// Runs one statement and commits.
    async fn execute(&self, sql: &str) {
        let mut transaction = self.begin(Self::ISOLATIONS[0]).await;
        Self::run(&mut transaction, sql).await.unwrap();
        transaction.commit().await.unwrap();
    }

    /// Starts an elector that no notification reaches.
    fn deaf_elector(&self, node: &str, ttl: Duration) -> Handle {
        let builder = Election::builder("test").node(node).ttl(ttl);
        builder.store(Deaf(self.store())).build().unwrap().start()
    }
}

/// Waits until an elector has seen this of its election.
pub(crate) async fn until(handle: &Handle, condition: impl FnMut(&Status) -> bool) -> Status {
    handle.watch().until(condition).await
}

pub(crate) fn namespace() -> Namespace {
    Namespace::new("test").unwrap()
}

/// A candidate for the call-by-call elections, under an id that sorts by its number.
pub(crate) fn candidacy(number: u128, expiry: Duration) -> Candidacy {
    let candidate = Candidate::from(Uuid::from_u128(number));
    let registration = Registration { namespace: namespace(), candidate, label: None };
    Candidacy::new(registration).set_expire(expiry).unwrap()
}

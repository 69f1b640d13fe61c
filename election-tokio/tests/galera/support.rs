//! What a test does at one server of the cluster.

use election_driver::core::{
    Candidate, Epoch, Namespace,
    lease::{Candidacy, Failure, Registration, Row},
};
use election_testing::{Galera, Server, process::PATIENCE};
use election_tokio::{Election, Handle, MySqlStore, Status, StoreError};
use sqlx::{AssertSqlSafe, MySql, MySqlPool, Transaction, mysql::MySqlPoolOptions};
use std::{future::Future, time::Duration};
use uuid::Uuid;

/// No lease of this length ends in a test.
pub(crate) const LONG: Duration = Duration::from_secs(900);

/// Runs a check to its end; one that hangs fails and says which it is.
pub(crate) async fn patiently<F: Future>(what: &str, check: F) -> F::Output {
    let done = tokio::time::timeout(PATIENCE * 3, Box::pin(check)).await;
    done.unwrap_or_else(|_| panic!("{what}: what is waited for did not come"))
}

/// One server, as a process sees it that knows no other.
pub(crate) struct Node {
    pub(crate) store: MySqlStore,
    pub(crate) pool: MySqlPool,
}

pub(crate) fn nodes(cluster: &Galera) -> [Node; 3] {
    [0, 1, 2].map(|at| Node::at(cluster.node(at)))
}

impl Node {
    pub(crate) fn at(server: &Server) -> Self {
        let pool = MySqlPoolOptions::new().max_connections(8).connect_lazy(&server.url()).unwrap();
        Self { store: MySqlStore::connect(&server.url()).unwrap(), pool }
    }

    pub(crate) async fn begin(&self) -> Transaction<'static, MySql> {
        self.pool.begin().await.unwrap()
    }

    pub(crate) async fn run(&self, sql: &str) {
        run(&mut self.pool.acquire().await.unwrap(), sql).await.unwrap();
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&self.pool).await.unwrap()
    }

    /// The leader row as this server knows it.
    pub(crate) async fn row(&mut self) -> Row {
        self.store.leader(&namespace()).await.unwrap()
    }

    /// Stands until it leads.
    pub(crate) async fn wins(&mut self, who: &mut Candidacy) -> Epoch {
        loop {
            let row = at_last(async || self.store.elect(who).await).await;
            if who.leads(&row) {
                return row.epoch;
            }
        }
    }

    /// Waits until this server knows of a term, and then of its end.
    pub(crate) async fn vacates(&mut self, who: &mut Candidacy, epoch: Epoch) {
        self.knows(epoch).await;
        while self.row().await.holder.is_some() {
            at_last(async || self.store.unregister_candidate(who).await).await;
        }
    }

    /// Waits until this server knows of a term.
    pub(crate) async fn knows(&mut self, epoch: Epoch) {
        while self.row().await.epoch < epoch {}
    }
}

/// Asks again after a conflict with another server.
async fn at_last<T>(mut call: impl AsyncFnMut() -> Result<T, StoreError>) -> T {
    loop {
        match call().await {
            Ok(done) => return done,
            Err(error) => assert_eq!(error.kind, Failure::Conflict, "{error}"),
        }
    }
}

pub(crate) async fn run(
    connection: &mut sqlx::MySqlConnection,
    sql: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(AssertSqlSafe(sql)).execute(connection).await.map(|_| ())
}

/// The server's code for an error.
pub(crate) fn code(error: &sqlx::Error) -> u16 {
    let error = error.as_database_error().unwrap_or_else(|| panic!("{error}"));
    error.downcast_ref::<sqlx::mysql::MySqlDatabaseError>().number()
}

pub(crate) fn namespace() -> Namespace {
    Namespace::new("test").unwrap()
}

pub(crate) fn candidacy(number: u128) -> Candidacy {
    let candidate = Candidate::from(Uuid::from_u128(number));
    let registration = Registration { namespace: namespace(), candidate, label: None };
    Candidacy::new(registration).set_expire(LONG).unwrap()
}

/// An elector that knows one server.
pub(crate) fn elector(server: &Server, name: &str, ttl: Duration, step: Duration) -> Handle {
    election(&server.url(), name, ttl, step).start()
}

pub(crate) fn election(
    url: &str,
    name: &str,
    ttl: Duration,
    step: Duration,
) -> Election<MySqlStore> {
    let store = MySqlStore::connect(url).unwrap();
    let election = Election::builder("test").node(name).ttl(ttl).clock_step(step);
    election.store(store).build().unwrap()
}

pub(crate) async fn until(handle: &Handle, seen: impl FnMut(&Status) -> bool) -> Status {
    handle.watch().until(seen).await
}

/// Waits until it knows of this term or a later one, its own or another's.
pub(crate) async fn knows(handle: &Handle, epoch: Epoch) {
    let led =
        |status: &Status| status.leader.as_ref().is_some_and(|leader| leader.term.epoch >= epoch);
    assert!(!until(handle, led).await.closed);
}

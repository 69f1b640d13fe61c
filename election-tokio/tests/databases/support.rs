//! One database of each kind, behind one trait.

use crate::stores::Deaf;
use election_driver::{
    conformance::{Kind, Server},
    core::{
        Candidate, Epoch, Namespace,
        lease::{Candidacy, Registration, Row},
        sql::CandidateRow,
    },
};
use election_tokio::{
    Election, Handle, Lease, MySqlStore, PgStore, SqliteStore, Status, Store, StoreError,
    Uncommitted,
};
use sqlx::{
    AssertSqlSafe, Database, Executor as _, MySql, Pool, Postgres, Row as _, Sqlite, Transaction,
    mysql::MySqlPoolOptions, pool::PoolOptions, postgres::PgPoolOptions, sqlite::SqlitePoolOptions,
};
use std::{
    future::Future,
    sync::{Mutex, MutexGuard},
    time::Duration,
};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) const SHORT: Duration = Duration::from_secs(1);
/// No lease of this length ends in a test.
pub(crate) const LONG: Duration = Duration::from_secs(900);

/// Runs a test to its end; one that hangs fails and says so.
pub(crate) async fn patiently<F: Future>(test: F) -> F::Output {
    let long = Duration::from_secs(240); // a busy machine forks a server's processes slowly
    tokio::time::timeout(long, test).await.expect("what is waited for did not come in four minutes")
}

/// The transactions of a backend.
pub(crate) type Tx<B> = Transaction<'static, <B as Backend>::Database>;

/// A database of its own for one test.
pub(crate) trait Backend: Sized + Send + Sync + 'static {
    type Database: Database;
    type Store: Store + Clone + Sync;

    /// The isolation levels it knows; on SQLite, the ways to begin.
    const ISOLATIONS: &'static [&'static str];

    /// Makes a table of numbered writes.
    const WORK: &'static str;
    /// Loses all leader rows.
    const FORGET: &'static str = "DELETE FROM election_leader";

    /// Starts it, with the tables in it.
    async fn start() -> Self;
    fn store(&self) -> Self::Store;
    /// The application's own connections. Nothing is connected yet.
    fn pool(&self) -> &Pool<Self::Database>;
    /// Begins a transaction of this isolation on a connection of its own.
    async fn begin(&self, isolation: &str) -> Tx<Self>;
    fn run(
        transaction: &mut Tx<Self>,
        sql: &str,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
    /// The first column of the first row.
    async fn number(transaction: &mut Tx<Self>, sql: &str) -> Result<i64, sqlx::Error>;
    /// One fenced write into the table [`WORK`](Self::WORK), if the database takes it.
    fn write(&self, lease: &Lease) -> impl Future<Output = Option<()>> + Send;
    async fn row(&self) -> Result<Row, StoreError>;

    // The call-by-call election, on a connection of the store's own.
    async fn register(&self, who: &Candidacy) -> Result<(), StoreError>;
    fn unregister(&self, who: &Candidacy) -> impl Future<Output = Result<Row, StoreError>> + Send;
    fn elect(&self, who: &Candidacy) -> impl Future<Output = Result<Row, StoreError>> + Send;
    fn is_leader(&self, who: &Candidacy) -> impl Future<Output = Result<bool, StoreError>> + Send;
    async fn list(&self) -> Result<Vec<CandidateRow>, StoreError>;

    async fn request_resign(&self, epoch: Epoch) -> Result<bool, StoreError>;
    async fn ask_leader(&self) -> Result<Option<Epoch>, StoreError>;

    // And on the caller's.
    async fn elect_in(
        &self,
        transaction: &mut Tx<Self>,
        who: &Candidacy,
    ) -> Result<Uncommitted<Row>, StoreError>;
    async fn leave_in(
        &self,
        transaction: &mut Tx<Self>,
        who: &Candidacy,
    ) -> Result<Uncommitted<Row>, StoreError>;
    async fn is_leader_in(
        &self,
        transaction: &mut Tx<Self>,
        who: &Candidacy,
    ) -> Result<Uncommitted<bool>, StoreError>;

    /// Runs one statement and commits.
    async fn execute(&self, sql: &str) {
        let mut transaction = self.begin(Self::ISOLATIONS[0]).await;
        Self::run(&mut transaction, sql).await.unwrap();
        transaction.commit().await.unwrap();
    }

    /// Starts an elector.
    fn elector(&self, node: &str, ttl: Duration) -> Handle {
        self.election(node, ttl).start()
    }

    /// Starts an elector that no notification reaches.
    fn deaf_elector(&self, node: &str, ttl: Duration) -> Handle {
        let store = Deaf(self.store());
        Election::builder("test").node(node).ttl(ttl).store(store).build().unwrap().start()
    }

    fn election(&self, node: &str, ttl: Duration) -> Election<Self::Store> {
        Election::builder("test").node(node).ttl(ttl).store(self.store()).build().unwrap()
    }
}

pub(crate) struct OnSqlite(TempDir, Pool<Sqlite>);
pub(crate) struct OnPostgres(Mutex<Server>, Pool<Postgres>);
pub(crate) struct OnMariaDb(Mutex<Server>, Pool<MySql>);

/// A database behind a server of its own.
pub(crate) trait Served: Backend {
    const KIND: Kind;
    async fn on(server: Server) -> Self;
    /// A store that reaches the server at another port.
    fn store_at(&self, port: u16) -> Self::Store;
    fn server(&self) -> MutexGuard<'_, Server>;
}

macro_rules! served {
    ($backend:ident, $store:ident, $kind:expr) => {
        impl Served for $backend {
            const KIND: Kind = $kind;

            async fn on(server: Server) -> Self {
                $store::connect(&server.url()).unwrap().ensure_schema().await.unwrap();
                // More than any server here takes.
                let options = PoolOptions::new().acquire_timeout(SHORT).max_connections(500);
                let pool = options.connect_lazy(&server.url()).unwrap();
                Self(Mutex::new(server), pool)
            }

            fn store_at(&self, port: u16) -> Self::Store {
                let server = self.server();
                let direct = format!(":{}/", server.port());
                $store::connect(&server.url().replace(&direct, &format!(":{port}/"))).unwrap()
            }

            fn server(&self) -> MutexGuard<'_, Server> {
                self.0.lock().unwrap()
            }
        }
    };
}

served!(OnPostgres, PgStore, Kind::Postgres);
served!(OnMariaDb, MySqlStore, Kind::MariaDb);

/// What sqlx has no common words for.
macro_rules! statements {
    () => {
        fn pool(&self) -> &Pool<Self::Database> {
            &self.1
        }

        async fn run(transaction: &mut Tx<Self>, sql: &str) -> Result<(), sqlx::Error> {
            transaction.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.map(|_| ())
        }

        async fn number(transaction: &mut Tx<Self>, sql: &str) -> Result<i64, sqlx::Error> {
            let row = transaction.fetch_one(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
            row.try_get_unchecked(0)
        }

        async fn write(&self, lease: &Lease) -> Option<()> {
            let mut transaction = self.pool().begin().await.ok()?;
            lease.fence(&mut transaction).await.ok()?;
            let insert = format!("INSERT INTO work (epoch) VALUES ({})", lease.epoch());
            Self::run(&mut transaction, &insert).await.ok()?;
            transaction.commit().await.ok()
        }

        async fn row(&self) -> Result<Row, StoreError> {
            self.store().leader(&namespace()).await
        }

        async fn register(&self, who: &Candidacy) -> Result<(), StoreError> {
            self.store().heartbeat(who).await
        }

        async fn unregister(&self, who: &Candidacy) -> Result<Row, StoreError> {
            self.store().unregister_candidate(&mut who.clone()).await
        }

        async fn elect(&self, who: &Candidacy) -> Result<Row, StoreError> {
            self.store().elect(&mut who.clone()).await
        }

        async fn is_leader(&self, who: &Candidacy) -> Result<bool, StoreError> {
            self.store().is_leader(who).await
        }

        async fn list(&self) -> Result<Vec<CandidateRow>, StoreError> {
            self.store().list_candidates(&namespace()).await
        }

        async fn request_resign(&self, epoch: Epoch) -> Result<bool, StoreError> {
            self.store().request_resign(&namespace(), epoch).await
        }

        async fn ask_leader(&self) -> Result<Option<Epoch>, StoreError> {
            self.store().request_resign_of_leader(&namespace()).await
        }

        async fn elect_in(
            &self,
            transaction: &mut Tx<Self>,
            who: &Candidacy,
        ) -> Result<Uncommitted<Row>, StoreError> {
            self.store().on(transaction).elect(&mut who.clone()).await
        }

        async fn leave_in(
            &self,
            transaction: &mut Tx<Self>,
            who: &Candidacy,
        ) -> Result<Uncommitted<Row>, StoreError> {
            self.store().on(transaction).unregister_candidate(&mut who.clone()).await
        }

        async fn is_leader_in(
            &self,
            transaction: &mut Tx<Self>,
            who: &Candidacy,
        ) -> Result<Uncommitted<bool>, StoreError> {
            self.store().on(transaction).is_leader(who).await
        }
    };
}

impl Backend for OnSqlite {
    type Database = Sqlite;
    type Store = SqliteStore;
    const ISOLATIONS: &'static [&'static str] = &["BEGIN IMMEDIATE", "BEGIN"];

    const WORK: &'static str =
        "CREATE TABLE work (id INTEGER PRIMARY KEY AUTOINCREMENT, epoch BIGINT NOT NULL)";

    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("e.db").display());
        let place = Self(directory, PoolOptions::new().connect_lazy(&url).unwrap());
        place.store().ensure_schema().await.unwrap();
        place
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(self.0.path().join("e.db")).unwrap()
    }

    async fn begin(&self, isolation: &str) -> Tx<Self> {
        let url = format!("sqlite:{}", self.0.path().join("e.db").display());
        let pool = SqlitePoolOptions::new().max_connections(1).connect(&url).await.unwrap();
        pool.begin_with(AssertSqlSafe(isolation)).await.unwrap()
    }

    statements!();
}

impl Backend for OnPostgres {
    type Database = Postgres;
    type Store = PgStore;
    const ISOLATIONS: &'static [&'static str] =
        &["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

    const WORK: &'static str =
        "CREATE TABLE work (id BIGSERIAL PRIMARY KEY, epoch BIGINT NOT NULL)";

    async fn start() -> Self {
        Self::on(Server::start(Self::KIND)).await
    }

    fn store(&self) -> PgStore {
        PgStore::connect(&self.server().url()).unwrap()
    }

    async fn begin(&self, isolation: &str) -> Tx<Self> {
        let url = self.server().url();
        let pool = PgPoolOptions::new().max_connections(1).connect(&url).await.unwrap();
        let begin = format!("BEGIN ISOLATION LEVEL {isolation}");
        pool.begin_with(AssertSqlSafe(begin)).await.unwrap()
    }

    statements!();
}

impl Backend for OnMariaDb {
    type Database = MySql;
    type Store = MySqlStore;
    const ISOLATIONS: &'static [&'static str] =
        &["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

    const WORK: &'static str =
        "CREATE TABLE work (id BIGINT AUTO_INCREMENT PRIMARY KEY, epoch BIGINT NOT NULL)";
    const FORGET: &'static str = "DELETE FROM election_fence; DELETE FROM election_leader";

    async fn start() -> Self {
        Self::on(Server::start(Self::KIND)).await
    }

    fn store(&self) -> MySqlStore {
        MySqlStore::connect(&self.server().url()).unwrap()
    }

    async fn begin(&self, isolation: &str) -> Tx<Self> {
        let url = self.server().url();
        let level = format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
        let pool =
            MySqlPoolOptions::new().max_connections(1).after_connect(move |connection, _| {
                let level = level.clone();
                Box::pin(async move {
                    connection.execute(sqlx::raw_sql(AssertSqlSafe(level))).await.map(|_| ())
                })
            });
        pool.connect(&url).await.unwrap().begin().await.unwrap()
    }

    statements!();
}

/// Makes one test of each generic function for each backend.
macro_rules! on {
    ($($name:ident: $($backend:ident)*;)*) => {
        $(mod $name {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                #[allow(non_snake_case)]
                async fn $backend() {
                    use $crate::support::{Backend as _, $backend};
                    let database = $backend::start().await;
                    $crate::support::patiently(super::$name(database)).await;
                }
            )*
        })*
    };
}
pub(crate) use on;

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

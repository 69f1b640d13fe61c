//! Databases behind a server, each a throw-away one.

use crate::database::{Backend, SHORT, Tx, statements::statements};
use election_driver::{
    Fenced, MySqlStore, PgStore, SqlStore,
    conformance::{Fixture, Stores},
};
use election_testing::{Kind, Server};
use election_tokio::{Lease, Tokio};
use sqlx::{
    AssertSqlSafe, Executor as _, MySql, Pool, Postgres, Transaction, mysql::MySqlPoolOptions,
    pool::PoolOptions, postgres::PgPoolOptions,
};
use std::sync::{Mutex, MutexGuard};

/// A PostgreSQL server of its own, with the tables in it.
pub(crate) struct OnPostgres {
    server: Mutex<Server>,
    pool: Pool<Postgres>,
}

/// A MariaDB server of its own, with the tables in it.
pub(crate) struct OnMariaDb {
    server: Mutex<Server>,
    pool: Pool<MySql>,
}

/// A database behind a server of its own.
pub(crate) trait Served: Backend<Store = SqlStore<<Self as Backend>::Client>> {
    const KIND: Kind;
    async fn on(server: Server) -> Self;
    /// A store that reaches the server at another port.
    fn store_at(&self, port: u16) -> Self::Store;
    /// A store with a list of hosts, which are this machine at each of these ports.
    fn store_at_each(&self, ports: &[u16]) -> Self::Store;
    fn server(&self) -> MutexGuard<'_, Server>;
}

macro_rules! served {
    ($backend:ident, $store:ident, $kind:expr) => {
        impl Fixture for $backend {
            type Runtime = Tokio;

            async fn start() -> Self {
                Self::on(Server::start(Self::KIND)).await
            }
        }

        impl Served for $backend {
            const KIND: Kind = $kind;

            async fn on(server: Server) -> Self {
                $store::connect(&server.url()).unwrap().ensure_schema().await.unwrap();
                // More than any server here takes.
                let options = PoolOptions::new().acquire_timeout(SHORT).max_connections(500);
                let pool = options.connect_lazy(&server.url()).unwrap();
                Self { server: Mutex::new(server), pool }
            }

            fn store_at(&self, port: u16) -> Self::Store {
                let server = self.server();
                let direct = format!(":{}/", server.port());
                $store::connect(&server.url().replace(&direct, &format!(":{port}/"))).unwrap()
            }

            fn store_at_each(&self, ports: &[u16]) -> Self::Store {
                let server = self.server();
                let direct = format!("127.0.0.1:{}/", server.port());
                let hosts: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
                let listed = server.url().replace(&direct, &format!("{}/", hosts.join(",")));
                $store::connect(&listed).unwrap()
            }

            fn server(&self) -> MutexGuard<'_, Server> {
                self.server.lock().unwrap()
            }
        }
    };
}

served!(OnPostgres, PgStore, Kind::Postgres);
served!(OnMariaDb, MySqlStore, Kind::MariaDb);

impl Stores for OnPostgres {
    type Store = PgStore;

    fn store(&self) -> PgStore {
        PgStore::connect(&self.url()).unwrap()
    }
}

impl Backend for OnPostgres {
    type Database = Postgres;
    type Client = <Tx<Self> as Fenced>::Client;
    const ISOLATIONS: &'static [&'static str] =
        &["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

    const WORK: &'static str =
        "CREATE TABLE work (id BIGSERIAL PRIMARY KEY, epoch BIGINT NOT NULL)";
    const REFUSE: &'static [&'static str] = &[
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN RAISE EXCEPTION ''refused''; END'",
        "CREATE TRIGGER refuse BEFORE UPDATE ON election_leader FOR EACH ROW \
         WHEN (new.ns = 'tenant-7') EXECUTE FUNCTION refuse()",
    ];

    fn url(&self) -> String {
        self.server().url()
    }

    async fn begin(&self, isolation: &str) -> Tx<Self> {
        begin(&self.url(), isolation).await
    }

    async fn kill(&self, transaction: Tx<Self>) {
        kill(&self.server, transaction).await;
    }

    statements!();
}

async fn begin(url: &str, isolation: &str) -> Transaction<'static, Postgres> {
    let pool = PgPoolOptions::new().max_connections(1).connect(url).await.unwrap();
    let begin = format!("BEGIN ISOLATION LEVEL {isolation}");
    pool.begin_with(AssertSqlSafe(begin)).await.unwrap()
}

async fn kill(server: &Mutex<Server>, mut transaction: Transaction<'static, Postgres>) {
    let process = "SELECT pg_backend_pid()::bigint";
    let process: i64 = sqlx::query_scalar(process).fetch_one(&mut *transaction).await.unwrap();
    let end = format!("SELECT pg_terminate_backend({process}, 60000)");
    assert_eq!(server.lock().unwrap().administer("election", &end), "t");
    transaction.commit().await.expect_err("the server has ended it");
}

impl Stores for OnMariaDb {
    type Store = MySqlStore;

    fn store(&self) -> MySqlStore {
        MySqlStore::connect(&self.url()).unwrap()
    }
}

impl Backend for OnMariaDb {
    type Database = MySql;
    type Client = <Tx<Self> as Fenced>::Client;
    const ISOLATIONS: &'static [&'static str] =
        &["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

    const ENDS: &'static [&'static str] = &["COMMIT", "CREATE TABLE another (number INTEGER)"];

    const WORK: &'static str =
        "CREATE TABLE work (id BIGINT AUTO_INCREMENT PRIMARY KEY, epoch BIGINT NOT NULL)";
    const REFUSE: &'static [&'static str] = &[
        "CREATE TRIGGER refuse BEFORE UPDATE ON election_leader FOR EACH ROW \
         IF new.ns = 'tenant-7' THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'refused'; END IF",
    ];
    const FORGET: &'static str = "DELETE FROM election_fence; DELETE FROM election_leader";

    fn url(&self) -> String {
        self.server().url()
    }

    async fn begin(&self, isolation: &str) -> Tx<Self> {
        let url = self.url();
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

    async fn kill(&self, mut transaction: Tx<Self>) {
        let session = Self::number(&mut transaction, "SELECT CONNECTION_ID()").await.unwrap();
        self.server().administer("mysql", &format!("KILL CONNECTION {session}"));
        let left =
            format!("SELECT count(*) FROM information_schema.PROCESSLIST WHERE id={session}");
        while self.server().administer("mysql", &left) != "0" {}
        transaction.commit().await.expect_err("the server has ended it");
    }

    statements!();
}

//! SQLite, the embedded default.

use crate::database::{Backend, Tx, statements::statements};
use election_driver::{
    Fenced, SqlStore, SqliteStore,
    conformance::{Fixture, Stores},
};
use election_tokio::{Lease, Tokio};
use sqlx::{AssertSqlSafe, Pool, Sqlite, pool::PoolOptions, sqlite::SqlitePoolOptions};
use tempfile::TempDir;

/// A SQLite file of its own, with the tables in it.
pub(crate) struct OnSqlite {
    directory: TempDir,
    pool: Pool<Sqlite>,
}

impl Fixture for OnSqlite {
    type Runtime = Tokio;

    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("e.db").display());
        let pool = PoolOptions::new().connect_lazy(&url).unwrap();
        let place = Self { directory, pool };
        place.store().ensure_schema().await.unwrap();
        place
    }
}

impl Stores for OnSqlite {
    type Store = SqliteStore;

    fn store(&self) -> SqliteStore {
        SqliteStore::open(self.directory.path().join("e.db")).unwrap()
    }
}

impl Backend for OnSqlite {
    type Database = Sqlite;
    type Client = <Tx<Self> as Fenced>::Client;
    const ISOLATIONS: &'static [&'static str] = &["BEGIN IMMEDIATE", "BEGIN"];

    const ENDS: &'static [&'static str] = &["COMMIT", "INSERT OR ROLLBACK INTO one VALUES (1)"];

    const WORK: &'static str =
        "CREATE TABLE work (id INTEGER PRIMARY KEY AUTOINCREMENT, epoch BIGINT NOT NULL)";
    const REFUSE: &'static [&'static str] =
        &["CREATE TRIGGER refuse BEFORE UPDATE ON election_leader WHEN new.ns = 'tenant-7' \
           BEGIN SELECT RAISE(ABORT, 'refused'); END"];

    fn url(&self) -> String {
        format!("sqlite:{}", self.directory.path().join("e.db").display())
    }

    async fn begin(&self, isolation: &str) -> Tx<Self> {
        let pool = SqlitePoolOptions::new().max_connections(1).connect(&self.url()).await.unwrap();
        pool.begin_with(AssertSqlSafe(isolation)).await.unwrap()
    }

    async fn kill(&self, transaction: Tx<Self>) {
        drop(transaction); // its pool has no other owner
    }

    statements!();
}

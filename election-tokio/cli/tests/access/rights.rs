//! What a right means: which users may read, and which may hold others up.

use crate::support::{On, OnMariaDb, OnPostgres, elector, url_of};
use election_driver::core::{Change, lease::Failure};
use election_testing::Server;
use election_tokio::Status;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, MySqlConnection, PgConnection};

/// On PostgreSQL a reader is a reader: it can lock nothing that the elector needs.
pub(crate) async fn a_reader_on_postgres_holds_up_nobody(server: &Server) {
    OnPostgres::create_database(server, "watched");
    let url = url_of(&server.url(), "watched");
    OnPostgres::store(&url).ensure_schema().await.unwrap();
    OnPostgres::create_user(server, "reader");
    server.administer("watched", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
    let leader = elector::<OnPostgres>(OnPostgres::store(&url), "leader");
    let lease = leader.elected().await.unwrap();
    let url = url_of(&server.url_as("reader", "reader"), "watched");
    let mut reader = PgConnection::connect(&url).await.unwrap();
    let look = "SELECT * FROM public.election_leader";
    for lock in ["FOR KEY SHARE", "FOR UPDATE"] {
        let locked = reader.execute(AssertSqlSafe(format!("{look} {lock}"))).await;
        locked.expect_err("a reader may not lock rows");
    }
    let lock = "BEGIN; LOCK TABLE public.election_leader IN SHARE MODE";
    reader.execute(sqlx::raw_sql(lock)).await.expect_err("nor the table");
    reader.execute("ROLLBACK").await.unwrap();
    reader.execute("BEGIN ISOLATION LEVEL SERIALIZABLE").await.unwrap();
    reader.execute(look).await.unwrap();
    for _ in 0..3 {
        let known = lease.until();
        let renewed = |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > known);
        leader.watch().until(renewed).await;
        lease.check().unwrap();
    }
    drop(lease);
    leader.shutdown().await;
}

/// On MySQL and MariaDB a user who may read a row may lock it. That costs the lease, and never more
/// than the lease: nobody else leads meanwhile. A bound on idle transactions ends it.
pub(crate) async fn a_reader_on_mariadb_can_cost_the_lease(server: &Server) {
    OnMariaDb::create_database(server, "watched");
    let url = url_of(&server.url(), "watched");
    OnMariaDb::ensure_schema(&mut OnMariaDb::store(&url)).await.unwrap();
    OnMariaDb::create_user(server, "reader");
    server.administer("watched", "GRANT SELECT ON watched.election_leader TO reader");
    let there = url_of(&server.url_as("reader", "reader"), "watched");
    let ways = [
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN; \
         SELECT * FROM election_leader",
        "BEGIN; SELECT * FROM election_leader LOCK IN SHARE MODE",
    ];
    for way in ways {
        let leader = elector::<OnMariaDb>(OnMariaDb::store(&url), "leader");
        let lease = leader.elected().await.unwrap();
        let epoch = lease.epoch();
        let mut changes = leader.changes();
        assert!(matches!(changes.next().await, Ok(Some(Change::Elected(_)))));
        let mut reader = MySqlConnection::connect(&there).await.unwrap();
        reader.execute(sqlx::raw_sql(way)).await.unwrap();
        let lost = changes.next().await.unwrap();
        assert!(matches!(lost, Some(Change::Lost { .. })), "{way}: {lost:?}");
        drop(lease);
        let held = |status: &Status| {
            status.error.as_ref().is_some_and(|error| error.kind == Failure::Conflict)
        };
        leader.watch().until(held).await;
        assert!(!leader.is_leader(), "nor does anybody else lead");
        // What an administrator can do about it. It counts from the transaction's next pause.
        reader.execute("SET SESSION idle_transaction_timeout = 1").await.unwrap();
        assert!(leader.elected().await.unwrap().epoch() > epoch, "{way}");
        reader.execute("SELECT 1").await.expect_err("the server has ended it");
        leader.shutdown().await;
    }
}

//! Entries of candidates that left more than a day ago: each registration removes a thousand, however
//! many there are.

use crate::support::{LONG, On, comes_true, elector, registration_in, url_of};
use election_driver::core::{
    Namespace,
    lease::{Answer, Query},
};
use election_testing::Server;
use election_tokio::{Handle, SqliteStore, Store};
use std::time::Duration;

const COUNT: &str = "SELECT COUNT(*) FROM election_candidate WHERE expires_ms = 1";

fn insert(numbers: &str) -> String {
    format!(
        "INSERT INTO election_candidate \
         (ns, candidate_id, incarnation, last_heartbeat_ms, expires_ms) SELECT 'e', n, n, 1, 1 {numbers}"
    )
}

pub(crate) async fn old_entries_go_in_bites<D: On>(server: &Server) {
    D::create_database(server, "stale");
    let url = url_of(&server.url(), "stale");
    let mut store = D::store(&url);
    D::ensure_schema(&mut store).await.unwrap();
    let numbers = if url.starts_with("postgres") {
        "FROM (SELECT generate_series(1, 2500)::text AS n) s"
    } else {
        "FROM (SELECT seq AS n FROM seq_1_to_2500) s"
    };
    D::administer(server, "stale", &insert(numbers));
    let count = async || server.administer("stale", COUNT).parse().unwrap();
    assert_eq!(count().await, 2500);
    first_bite(&mut store).await;
    assert_eq!(count().await, 1500);
    the_rest(elector::<D>(store, "e"), count).await;
}

pub(crate) async fn old_entries_go_in_bites_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("e.db");
    let mut store = SqliteStore::open(&file).unwrap();
    store.ensure_schema().await.unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    let numbers = "FROM (WITH RECURSIVE s (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM s WHERE n < 2500) \
                   SELECT CAST(n AS TEXT) AS n FROM s)";
    connection.execute_batch(&insert(numbers)).unwrap();
    let count = async || {
        let count = connection.query_row(COUNT, [], |row| row.get::<_, u32>(0));
        u64::from(count.unwrap())
    };
    assert_eq!(count().await, 2500);
    first_bite(&mut store).await;
    assert_eq!(count().await, 1500);
    let builder = election_tokio::Election::builder("e").node("e").ttl(Duration::from_secs(1));
    the_rest(builder.store(store).build().unwrap().start(), count).await;
}

async fn first_bite(store: &mut impl Store) {
    let who = registration_in(&Namespace::new("e").unwrap());
    let register = Query::Register { ttl: LONG, sweep: true };
    assert_eq!(store.answer(&who, &register).await.unwrap(), Answer::Unswept);
}

/// An elector goes on until none is left.
async fn the_rest(handle: Handle, count: impl AsyncFn() -> u64) {
    comes_true("the end of old entries", async || count().await == 0).await;
    handle.shutdown().await;
}

//! Many elections on one store, beside the same without sharing, and beside the database's own floor.
//!
//! `cargo bench -p election-tokio --bench shared --all-features -- 1000` starts throw-away servers and
//! prints a line for each database: how long as many attempts took, leases renewed per second, the
//! ratio to the floor (the dialect's best statement for a thousand rows at a time) and to the same
//! renewals one by one, both of the same run, and the sessions on the server. All are durable.
#![allow(clippy::unwrap_used)]

use election_driver::{
    SharedStore, SqlStore, Store,
    conformance::inside::Client,
    core::{
        Candidate, Epoch, Incarnation, Namespace, NodeId,
        lease::{Answer, Query, Registration},
        sql::Queue,
    },
};
use election_testing::{Kind, Server};
use election_tokio::{Election, MySqlStore, PgStore, SqliteStore};
use sqlx::{AssertSqlSafe, Connection, Database, Encode, Executor, IntoArguments, Type};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use uuid::Uuid;

const TTL: Duration = Duration::from_secs(60);
/// How long each way of renewing is measured.
const SPAN: Duration = Duration::from_secs(5);
/// As many rows as the store puts into one statement.
const TOGETHER: usize = Queue::<()>::TOGETHER;

fn main() {
    let n = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(1000);
    tokio::runtime::Runtime::new().unwrap().block_on(all(n));
}

async fn all(n: usize) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("e.db");
    let mut store = SqliteStore::open(&file).unwrap();
    store.ensure_schema().await.unwrap();
    let bare = sqlx::SqliteConnection::connect(file.to_str().unwrap()).await.unwrap();
    let floor = "UPDATE election_leader SET expires_ms = expires_ms + 1, renewals = renewals + 1 \
                 FROM json_each(?1) WHERE ns = json_each.value";
    measure("sqlite", store, n, bare, floor, || 0).await;

    let server = Server::start(Kind::Postgres);
    server.administer("election", "ALTER SYSTEM SET fsync = on");
    server.administer("election", "SELECT pg_reload_conf()");
    while server.administer("election", "SHOW fsync").trim() != "on" {}
    let mut store = PgStore::connect(&server.url()).unwrap();
    store.ensure_schema().await.unwrap();
    let bare = sqlx::PgConnection::connect(&server.url()).await.unwrap();
    let floor = "UPDATE election_leader SET expires_ms = expires_ms + 1, renewals = renewals + 1 \
                 FROM (SELECT json_array_elements_text($1::json) AS asked) q WHERE ns = asked";
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'election%'";
    let sessions = || server.administer("postgres", count).parse().unwrap();
    measure("postgres", store, n, bare, floor, sessions).await;

    let server = Server::start(Kind::MariaDb);
    let mut store = MySqlStore::connect(&server.url()).unwrap();
    store.ensure_schema().await.unwrap();
    let bare = sqlx::MySqlConnection::connect(&server.url()).await.unwrap();
    let floor = "UPDATE JSON_TABLE(CONVERT(? USING utf8mb4), '$[*]' COLUMNS (asked VARCHAR(255) \
                 CHARACTER SET utf8mb4 PATH '$')) AS q STRAIGHT_JOIN election_leader \
                 SET expires_ms = expires_ms + 1, renewals = renewals + 1 WHERE ns = asked";
    let count = "SELECT count(*) - 1 FROM information_schema.processlist WHERE user = 'election'";
    let sessions = || server.administer("mysql", count).parse().unwrap();
    measure("mariadb", store, n, bare, floor, sessions).await;
}

async fn measure<C: Client, B: Connection>(
    name: &str,
    mut alone: SqlStore<C>,
    n: usize,
    mut bare: B,
    floor: &'static str,
    sessions: impl Fn() -> usize,
) where
    for<'c> &'c mut B: Executor<'c, Database = B::Database>,
    for<'q> <B::Database as Database>::Arguments: IntoArguments<B::Database>,
    for<'q> String: Encode<'q, B::Database> + Type<B::Database>,
{
    let store = Election::share(alone.clone());
    let began = Instant::now();
    let terms = win(&store, n).await;
    let won = began.elapsed();
    let (shared, mut ordinal) = (renew_all(&store, &terms).await, 1 << 40);
    let connections = sessions();
    drop(store);

    let began = Instant::now();
    let mut one_by_one = 0.0;
    'span: loop {
        ordinal += 1;
        for (who, epoch) in &terms {
            let answer = alone.answer(who, &renewal(*epoch, ordinal)).await.unwrap();
            assert!(matches!(answer, Answer::Renewed { .. }), "{answer:?}");
            one_by_one += 1.0;
            if began.elapsed() > SPAN {
                break 'span;
            }
        }
    }
    let one_by_one = one_by_one / began.elapsed().as_secs_f64();

    let names: Vec<_> = terms.iter().map(|(who, _)| who.namespace.as_str()).collect();
    let chunks: Vec<_> = names.chunks(TOGETHER).map(|chunk| format!("{chunk:?}")).collect();
    let (began, mut rows) = (Instant::now(), 0.0);
    while began.elapsed() < SPAN {
        for (chunk, names) in chunks.iter().zip(names.chunks(TOGETHER)) {
            let update = sqlx::query(AssertSqlSafe(floor)).bind(chunk.clone());
            update.execute(&mut bare).await.unwrap();
            rows += names.len() as f64;
        }
    }
    let floor = rows / began.elapsed().as_secs_f64();
    println!(
        "shared {name} n={n} ratio={:.2} alone={:.1} connections={connections} \
         renewals={shared:.0}/s floor={floor:.0}/s one_by_one={one_by_one:.0}/s won={won:.2?}",
        shared / floor,
        shared / one_by_one,
    );
}

type Term = (Registration, Epoch);

async fn win(store: &SharedStore, n: usize) -> Vec<Term> {
    let mut attempts = JoinSet::new();
    for number in 0..n {
        let mut store = store.clone();
        attempts.spawn(async move {
            let namespace = Namespace::new(&format!("tenant-{number}")).unwrap();
            let id = NodeId::new("bench").unwrap();
            let incarnation = Incarnation::new(Uuid::from_u128(number as u128));
            let candidate = Candidate { id, incarnation };
            let who = Registration { namespace, candidate, label: None };
            let (seen, clock_step) = (Epoch::NONE, Duration::ZERO);
            let attempt = Query::Attempt { seen, ttl: TTL, clock_step };
            match store.answer(&who, &attempt).await.unwrap() {
                Answer::Won { epoch, .. } => (who, epoch),
                answer => panic!("{answer:?}"),
            }
        });
    }
    attempts.join_all().await
}

fn renewal(epoch: Epoch, ordinal: u64) -> Query {
    Query::Renew { epoch, ordinal, ttl: TTL, clock_step: Duration::ZERO, leads: true }
}

/// Each renews again as soon as it is renewed.
async fn renew_all(store: &SharedStore, terms: &[Term]) -> f64 {
    let mut renewals = JoinSet::new();
    let began = Instant::now();
    for (who, epoch) in terms {
        let (mut store, who, epoch) = (store.clone(), who.clone(), *epoch);
        renewals.spawn(async move {
            let mut done = 0_u64;
            while began.elapsed() < SPAN {
                let answer = store.answer(&who, &renewal(epoch, done + 1)).await.unwrap();
                assert!(matches!(answer, Answer::Renewed { .. }), "{answer:?}");
                done += 1;
            }
            done
        });
    }
    let done: u64 = renewals.join_all().await.into_iter().sum();
    done as f64 / began.elapsed().as_secs_f64()
}

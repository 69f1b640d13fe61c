//! A database that is ill: somebody has locked its tables, or its links carry nothing. Statements
//! given up meanwhile must not stay behind on the server, where they would use up the connections
//! of every other application.

use crate::{
    stores::Counting,
    support::{Backend, OnMariaDb, OnPostgres, SHORT, Served, on, until},
};
use election_driver::{
    Store,
    conformance::{Kind, LinkState, Proxy},
    core::Epoch,
};
use election_tokio::{Election, Handle};
use futures_lite::future::or;
use sqlx::{Connection as _, Executor as _, MySqlConnection, PgConnection};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::task::block_in_place;

on! {
    nothing_piles_up_behind_a_cut_link: OnPostgres OnMariaDb;
}

/// The elector's own connection, the listener's, and one that is being given up.
const MOST: usize = 3;
const ELECTORS: [&str; 3] = ["a", "b", "c"];
/// Enough attempts to show a pile-up, however slowly it grows.
const ATTEMPTS: usize = 16;

/// An elector, and how often it has asked.
struct Counted {
    handle: Handle,
    asked: Arc<AtomicUsize>,
}

fn counted(store: impl Store, node: &str) -> Counted {
    let asked = Arc::new(AtomicUsize::new(0));
    let store = Counting(store, asked.clone());
    let election = Election::builder("test").node(node).ttl(SHORT).store(store).build().unwrap();
    Counted { handle: election.start(), asked }
}

/// How many sessions the electors have on the server, as its administrator sees it.
fn sessions<B: Served>(database: &B) -> usize {
    let (place, count) = match B::KIND {
        Kind::Postgres => (
            "postgres",
            "SELECT count(*) FROM pg_stat_activity \
             WHERE usename = 'election' AND application_name LIKE 'election%'",
        ),
        Kind::MariaDb => {
            ("mysql", "SELECT count(*) FROM information_schema.processlist WHERE user = 'election'")
        }
    };
    block_in_place(|| database.server().administer(place, count)).parse().unwrap()
}

/// Watches until every elector has asked that many times, and then some.
fn watched(electors: &[Counted], sessions: impl Fn() -> usize) -> usize {
    let before: Vec<_> = electors.iter().map(|each| each.asked.load(Ordering::Relaxed)).collect();
    let enough = || {
        let asked = electors.iter().map(|each| each.asked.load(Ordering::Relaxed));
        asked.zip(&before).all(|(asked, before)| asked - before >= ATTEMPTS)
    };
    let mut most = 0;
    while !enough() {
        most = most.max(sessions());
        assert!(most <= MOST * electors.len(), "{most} sessions of {} electors", electors.len());
    }
    most
}

async fn led(electors: &[Counted]) -> Epoch {
    let [a, b, c] = electors else { panic!("three electors") };
    let others = or(b.handle.elected(), c.handle.elected());
    or(a.handle.elected(), others).await.unwrap().epoch()
}

/// Three electors while somebody holds this lock, and after it.
async fn behind<B: Served, L>(database: &B, lock: impl AsyncFnOnce() -> L) {
    let electors = ELECTORS.map(|node| counted(database.store(), node));
    let before = led(&electors).await;
    let held = lock().await;
    let most = watched(&electors, || sessions(database));
    println!("{most} sessions at most");
    for each in &electors {
        // In the database's own words, not only that time has run out.
        let conflict = until(&each.handle, |status| status.error.is_some()).await.error.unwrap();
        println!("{conflict}");
    }
    drop(held);
    while led(&electors).await <= before {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_piles_up_behind_a_lock_on_postgresql() {
    let database = OnPostgres::start().await;
    let url = database.server().url_as("postgres", "");
    crate::support::patiently(behind(&database, async || {
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let lock = "BEGIN; LOCK TABLE election_leader IN ACCESS EXCLUSIVE MODE";
        connection.execute(sqlx::raw_sql(lock)).await.unwrap();
        connection
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_piles_up_behind_a_lock_on_mariadb() {
    let database = OnMariaDb::start().await;
    let url = database.server().url_as("root", "");
    for lock in [
        "LOCK TABLES election_leader WRITE, election_candidate WRITE",
        "FLUSH TABLES WITH READ LOCK",
        // Where nothing else waits, a metadata lock makes others wait for the one that waits for
        // it.
        "BEGIN; SELECT * FROM election_leader FOR UPDATE",
    ] {
        println!("{lock}");
        crate::support::patiently(behind(&database, async || {
            let mut connection = MySqlConnection::connect(&url).await.unwrap();
            connection.execute(sqlx::raw_sql(lock)).await.unwrap();
            connection
        }))
        .await;
    }
}

/// A link that swallows everything: statements that reach the server late, once the link is whole
/// again, end there too.
async fn nothing_piles_up_behind_a_cut_link<B: Served>(database: B) {
    let port = database.server().port();
    let link = Proxy::to(port);
    let electors = ELECTORS.map(|node| counted(database.store_at(link.port()), node));
    let before = led(&electors).await;
    link.set_whole(false);
    let most = watched(&electors, || sessions(&database));
    link.set_whole(true);
    while led(&electors).await <= before {
        let now = sessions(&database);
        assert!(now <= MOST * electors.len(), "{now} sessions after the link was cut");
    }
    println!("{most} sessions at most");
    let settled = Duration::from_secs(30);
    let done = async {
        while sessions(&database) > 2 * electors.len() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(settled, done).await.expect("what was cut off is still there");
}

/// A link that swallows what the server says, and carries what it is told: a listener that says
/// goodbye gets no answer, and its session would stay beside its successor's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_second_listener_behind_a_link_that_swallows_answers() {
    let database = OnPostgres::start().await;
    let link = Proxy::to(database.server().port());
    let electors = [counted(database.store_at(link.port()), "a")];
    until(&electors[0].handle, |status| status.listening).await;
    link.set(LinkState::Open, LinkState::Lost);
    crate::support::patiently(until(&electors[0].handle, |status| !status.listening)).await;
    let most = watched(&electors, || link.connections().max(sessions(&database)));
    println!("{most} sessions at most");
    link.set(LinkState::Open, LinkState::Open);
    let again = until(&electors[0].handle, |status| status.listening);
    crate::support::patiently(again).await;
    assert!(sessions(&database) <= MOST);
}

//! The suite that every runtime's adapter has to pass, on real databases in real time.
//!
//! An adapter calls [`on_sqlite`], and the other functions for its features, from its own tests.
//! Every check waits for conditions, never for time to pass; a check that cannot succeed panics
//! with what it saw.

mod administrator;
mod kind;
mod launch;
mod pooler;
pub mod process;
mod proxy;
mod quorum;
mod servers;
mod steered;

pub use administrator::Session;
pub use kind::Kind;
pub use pooler::Pooler;
pub use proxy::{LinkState, Proxy};
pub use quorum::{Place, on_quorum};
pub use servers::Server;
pub use steered::{CANDIDATE, LEADER, Plant, Steered, clock, steered};

use crate::{Election, Handle, Runtime, SqlStore, SqliteStore, Status, store::Client};
use election_core::{Change, Epoch, Loss};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(1);

/// Runs every check on a SQLite file.
///
/// # Panics
/// If a check fails.
pub async fn on_sqlite<R: Runtime + Default>() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = SqliteStore::open(directory.path().join("e.db")).expect("a plain path");
    all::<R, _>(store).await;
}

/// Runs every check on a PostgreSQL server of its own.
///
/// # Panics
/// If a check fails, or there is no PostgreSQL on this machine.
#[cfg(feature = "postgres")]
pub async fn on_postgres<R: Runtime + Default>() {
    let server = Server::start(Kind::Postgres);
    all::<R, _>(crate::PgStore::connect(&server.url()).expect("a URL")).await;
}

/// Runs every check on a MariaDB server of its own.
///
/// # Panics
/// If a check fails, or there is no MariaDB on this machine.
#[cfg(feature = "mysql")]
pub async fn on_mariadb<R: Runtime + Default>() {
    let server = Server::start(Kind::MariaDb);
    all::<R, _>(crate::MySqlStore::connect(&server.url()).expect("a URL")).await;
}

async fn all<R: Runtime + Default, C: Client>(mut store: SqlStore<C>) {
    store.ensure_schema().await.expect("a writable database");
    store.ensure_schema().await.expect("the same, once more");
    elects_renews_and_fails_over::<R, C>(&store).await;
    resigns_to_a_follower::<R, C>(&store).await;
    resigns_when_asked::<R, C>(&store).await;
    leader_work_is_cancelled_and_starts_elsewhere::<R, C>(&store).await;
}

fn candidate<R: Runtime + Default, C: Client>(
    store: &SqlStore<C>,
    election: &str,
    node: &str,
) -> Election<R, SqlStore<C>> {
    let builder = Election::<R>::builder(election).node(node).ttl(TTL).store(store.clone());
    builder.build().expect("a valid configuration")
}

async fn renewed<R: Runtime>(handle: &Handle<R>) {
    let lease = handle.lease().expect("a leader");
    let first = lease.until();
    let later = |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > first);
    let status = handle.watch().until(later).await;
    let tenure = status.tenure.expect("still leading");
    assert_eq!(tenure.term, *lease.term(), "a renewal keeps the term");
}

/// Elect, renew, and take over from a leader whose elector was dropped silently.
async fn elects_renews_and_fails_over<R: Runtime + Default, C: Client>(store: &SqlStore<C>) {
    let runtime = R::default();
    let (doomed, driver) = candidate::<R, C>(store, "fail over", "doomed").into_parts();
    let running = async_channel::bounded::<()>(1);
    let stop = running.1;
    runtime.spawn(futures_lite::future::or(driver, async move {
        let _ = stop.recv().await; // closing it drops the driver midway
    }));
    let first = doomed.elected().await.expect("an elector").epoch();
    renewed(&doomed).await;

    let heir = candidate::<R, C>(store, "fail over", "heir").start();
    let followed = heir.watch().until(|status| status.leader.is_some()).await;
    let followed = followed.leader.expect("it has just been seen");
    assert_eq!((followed.term.epoch, followed.own), (first, false));
    assert!(doomed.status().leader.is_some_and(|leader| leader.own));
    let mut changes = heir.changes();
    assert!(matches!(changes.next().await, Ok(Some(Change::Followed { .. }))));

    drop(running.0);
    assert!(doomed.watch().until(|status| status.closed).await.closed);
    assert!(!doomed.is_leader(), "nobody renews: nobody believes");
    let second = heir.elected().await.expect("an elector").epoch();
    assert!(second > first, "{second} after {first}");
    heir.shutdown().await;
    let next = || changes.try_next().expect("a reader in time");
    let rest = std::iter::from_fn(next).collect::<Vec<_>>();
    let last = rest.iter().rev().find(|change| !matches!(change, Change::Vacant));
    assert!(matches!(last, Some(Change::Lost { .. })), "{rest:?}");
}

/// A graceful resignation lets a follower lead under a new term, and the old leader follows.
async fn resigns_to_a_follower<R: Runtime + Default, C: Client>(store: &SqlStore<C>) {
    let a = candidate::<R, C>(store, "resign", "a").start();
    let first = a.elected().await.expect("an elector").epoch();
    let b = candidate::<R, C>(store, "resign", "b").start();
    b.watch().until(|status| status.leader.is_some()).await;
    a.resign().await.expect("an elector");
    let second = b.elected().await.expect("an elector").epoch();
    assert!(second > first);
    let status = a.watch().until(|status| status.leader.is_some()).await;
    assert_eq!(status.leader.map(|leader| leader.term.epoch), Some(second), "a follows b");
    a.shutdown().await;
    b.shutdown().await;
}

/// Another process asks the leader to resign, by its term.
async fn resigns_when_asked<R: Runtime + Default, C: Client>(store: &SqlStore<C>) {
    let mut outside = store.clone();
    let a = candidate::<R, C>(store, "asked", "a").start();
    let term = a.elected().await.expect("an elector").term().clone();
    let mut changes = a.changes();
    let election = &a.registration().namespace;
    let older = Epoch::new(term.epoch.get() - 1);
    let asked = outside.request_resign(election, older).await.expect("a database");
    assert!(!asked, "another term is not asked");
    assert!(outside.request_resign(election, term.epoch).await.expect("a database"));
    assert!(matches!(changes.next().await, Ok(Some(Change::Elected(_)))));
    match changes.next().await {
        Ok(Some(Change::Lost { term: lost, reason, .. })) => {
            assert_eq!((lost, reason), (term, Loss::ResignRequested));
        }
        other => panic!("{other:?}"),
    }
    a.shutdown().await;
}

/// Work that ignores its loss is dropped at the hard stop, and only then starts elsewhere.
async fn leader_work_is_cancelled_and_starts_elsewhere<R: Runtime + Default, C: Client>(
    store: &SqlStore<C>,
) {
    struct Running(async_channel::Sender<&'static str>);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.try_send("stopped");
        }
    }
    let (log, seen) = async_channel::unbounded();
    let a = candidate::<R, C>(store, "work", "a").start();
    let work = async |_| -> Result<(), String> {
        let _running = Running(log.clone());
        let _ = log.try_send("started");
        futures_lite::future::pending().await
    };
    let scenario = async {
        assert_eq!(seen.recv().await, Ok("started"));
        let b = candidate::<R, C>(store, "work", "b").start();
        b.watch().until(|status| status.leader.is_some()).await;
        a.resign().await.expect("an elector");
        assert_eq!(seen.try_recv(), Ok("stopped"), "released before its work had stopped");
        b.elected().await.expect("an elector");
        b.shutdown().await;
        a.shutdown().await;
    };
    // Both in this task: the work ends with the elector.
    let work = async {
        a.run_while_leader(work).await.expect("work that never fails");
        futures_lite::future::pending::<()>().await;
    };
    futures_lite::future::or(scenario, work).await;
}

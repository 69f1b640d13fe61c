//! What every runtime's adapter has to pass, on real SQLite files in real time.
//!
//! An adapter calls [`all`] from a test of its own. Every check waits for conditions, never for
//! time to pass; a check that cannot succeed panics with what it saw.

use crate::{Election, Handle, Runtime, SqliteStore, Status};
use election_core::Change;
use std::{path::Path, time::Duration};

const TTL: Duration = Duration::from_secs(1);

/// Runs every check, one after the other.
///
/// # Panics
/// If one fails.
pub async fn all<R: Runtime + Default>() {
    elects_renews_and_fails_over::<R>().await;
    resigns_to_a_follower_at_once::<R>().await;
    leader_work_is_cancelled_and_starts_elsewhere::<R>().await;
}

async fn candidate<R: Runtime + Default>(file: &Path, node: &str) -> Election<R, SqliteStore> {
    let mut store = SqliteStore::open(file).expect("a plain path");
    store.ensure_schema().await.expect("a writable directory");
    let builder = Election::<R>::builder("conformance").node(node).ttl(TTL).store(store);
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

/// Elect, renew, and take over from a leader whose elector was dropped without a word.
async fn elects_renews_and_fails_over<R: Runtime + Default>() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("e.db");
    let runtime = R::default();
    let (doomed, driver) = candidate::<R>(&file, "doomed").await.into_parts();
    let running = async_channel::bounded::<()>(1);
    let stop = running.1;
    runtime.spawn(futures_lite::future::or(driver, async move {
        let _ = stop.recv().await; // closing it drops the driver in mid-flight
    }));
    let first = doomed.elected().await.expect("an elector").epoch();
    renewed(&doomed).await;

    let heir = candidate::<R>(&file, "heir").await.start();
    let followed = heir.watch().until(|status| status.leader.is_some()).await;
    assert_eq!(followed.leader.map(|leader| leader.term.epoch), Some(first));
    let mut changes = heir.changes();
    assert!(matches!(changes.next().await, Some(Change::Followed { .. })));

    drop(running.0);
    assert!(doomed.watch().until(|status| status.closed).await.closed);
    assert!(!doomed.is_leader(), "nobody renews: nobody believes");
    let second = heir.elected().await.expect("an elector").epoch();
    assert!(second > first, "{second} after {first}");
    heir.shutdown().await;
    let rest = std::iter::from_fn(|| changes.try_next()).collect::<Vec<_>>();
    let last = rest.iter().rev().find(|change| !matches!(change, Change::Vacant));
    assert!(matches!(last, Some(Change::Lost { .. })), "{rest:?}");
}

/// A graceful resignation reaches a follower through the file, not through a poll.
async fn resigns_to_a_follower_at_once<R: Runtime + Default>() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("e.db");
    let a = candidate::<R>(&file, "a").await.start();
    let first = a.elected().await.expect("an elector").epoch();
    let b = candidate::<R>(&file, "b").await.start();
    b.watch().until(|status| status.leader.is_some()).await;
    a.resign().await.expect("an elector");
    let second = b.elected().await.expect("an elector").epoch();
    assert!(second > first);
    let status = a.watch().until(|status| status.leader.is_some()).await;
    assert_eq!(status.leader.map(|leader| leader.term.epoch), Some(second), "a follows b");
    a.shutdown().await;
    b.shutdown().await;
}

/// Work that ignores its loss is dropped at the hard stop, and only then starts elsewhere.
async fn leader_work_is_cancelled_and_starts_elsewhere<R: Runtime + Default>() {
    struct Running(async_channel::Sender<&'static str>);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.try_send("stopped");
        }
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("e.db");
    let (log, seen) = async_channel::unbounded();
    let a = candidate::<R>(&file, "a").await.start();
    let work = async |_| -> Result<(), String> {
        let _running = Running(log.clone());
        let _ = log.try_send("started");
        futures_lite::future::pending().await
    };
    let scenario = async {
        assert_eq!(seen.recv().await, Ok("started"));
        let b = candidate::<R>(&file, "b").await.start();
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

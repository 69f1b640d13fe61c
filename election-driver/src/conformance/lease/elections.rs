//! A leader is elected, renews, and is succeeded: after a crash, a resignation, a request.

use super::super::{
    database::{Backend, SHORT},
    tasks::spawn,
};
use crate::{Handle, Runtime, Status};
use election_core::{Change, Epoch, Loss};
use std::time::Duration;

async fn renewed<R: Runtime>(handle: &Handle<R>) {
    let lease = handle.lease().expect("a leader");
    let first = lease.until();
    let later = |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > first);
    let status = handle.watch().until(later).await;
    let tenure = status.tenure.expect("still leading");
    assert_eq!(tenure.term, *lease.term(), "a renewal keeps the term");
}

/// Elect, renew, and take over from a leader whose elector was dropped silently.
pub async fn elects_renews_and_fails_over<B: Backend>(database: B) {
    let (doomed, driver) = database.election("doomed", SHORT).into_parts();
    let driver = spawn::<B::Runtime, _>(driver);
    let lease = doomed.elected().await.expect("an elector");
    let (first, since) = (lease.epoch(), lease.since());
    renewed(&doomed).await;
    assert_eq!((lease.since(), lease.age() > Duration::ZERO), (since, true));
    assert_eq!(doomed.status().tenure.map(|tenure| tenure.since), Some(since), "since when");
    drop(lease);

    let heir = database.elector("heir", SHORT);
    let followed = heir.watch().until(|status| status.leader.is_some()).await;
    let followed = followed.leader.expect("it has just been seen");
    assert_eq!((followed.term.epoch, followed.own), (first, false));
    assert!(doomed.status().leader.is_some_and(|leader| leader.own));
    let since = database.row().await.expect("the database").elected_ms;
    assert_eq!((followed.elected_ms, since.is_some()), (since, true), "since when");
    let mut changes = heir.changes();
    let told = changes.next().await.expect("a reader in time");
    assert!(matches!(told, Some(Change::Followed { elected_ms, .. }) if elected_ms == since));

    driver.abort();
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
pub async fn resigns_to_a_follower<B: Backend>(database: B) {
    let a = database.elector("a", SHORT);
    let first = a.elected().await.expect("an elector").epoch();
    let b = database.elector("b", SHORT);
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
pub async fn resigns_when_asked<B: Backend>(database: B) {
    let a = database.elector("a", SHORT);
    let term = a.elected().await.expect("an elector").term().clone();
    let mut changes = a.changes();
    let older = Epoch::new(term.epoch.get() - 1);
    let asked = database.request_resign(older).await.expect("a database");
    assert!(!asked, "another term is not asked");
    assert!(database.request_resign(term.epoch).await.expect("a database"));
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
pub async fn leader_work_is_cancelled_and_starts_elsewhere<B: Backend>(database: B) {
    struct Running(async_channel::Sender<&'static str>);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.try_send("stopped");
        }
    }
    let (log, seen) = async_channel::unbounded();
    let a = database.elector("a", SHORT);
    let work = async |_| -> Result<(), String> {
        let _running = Running(log.clone());
        let _ = log.try_send("started");
        futures_lite::future::pending().await
    };
    let scenario = async {
        assert_eq!(seen.recv().await, Ok("started"));
        let b = database.elector("b", SHORT);
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

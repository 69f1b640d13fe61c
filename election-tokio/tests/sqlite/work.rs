//! `run_while_leader`: work is started when elected, told when lost, stopped by force in time.

use crate::support::*;
use election_tokio::{Handle, Lease, WorkError};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// A leader and a follower, with a lease so long that only a release can pass it on.
async fn two() -> (Place, Handle, Handle) {
    let place = Place::new().await;
    let a = place.start("a", LONG);
    let epoch = a.elected().await.unwrap().epoch();
    let b = place.start("b", LONG);
    assert_eq!(followed(&b).await, epoch);
    (place, a, b)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_done_resigns() {
    patiently(async {
        let (_place, a, b) = two().await;
        let done =
            a.run_while_leader(async |lease: Lease| lease.check().map_err(|lost| lost.to_string()));
        done.await.unwrap();
        assert!(!a.is_leader());
        b.elected().await.unwrap();
        a.shutdown().await;
        b.shutdown().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_fails_resigns_and_returns_the_error() {
    patiently(async {
        let (_place, a, b) = two().await;
        let failed = a.run_while_leader(async |_| Err::<(), _>("out of paper")).await;
        assert!(matches!(failed, Err(WorkError::Work("out of paper"))), "{failed:?}");
        assert_eq!(failed.unwrap_err().to_string(), "leader work failed: out of paper");
        b.elected().await.unwrap();
        a.shutdown().await;
        b.shutdown().await;
    })
    .await;
}

/// Other handles of the same elector live on, so nothing withdraws: the panic itself must give
/// leadership up, or the leader would stay and do nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_panics_resigns_and_the_panic_goes_on() {
    patiently(async {
        let (_place, a, b) = two().await;
        let mut changes = a.changes();
        let works =
            tokio::spawn(a.run_while_leader(async |_| -> Result<(), String> {
                panic!("a bug in leader work")
            }));
        let panic = works.await.unwrap_err().into_panic();
        assert_eq!(panic.downcast_ref(), Some(&"a bug in leader work"));
        assert_eq!(next_loss(&mut changes).await, Loss::Resigned);
        b.elected().await.unwrap();
        a.shutdown().await;
        b.shutdown().await;
    })
    .await;
}

/// Work that ignores its loss has its grace, and is then dropped; only then is the lease released.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_ignores_its_loss_is_stopped_by_force() {
    patiently(async {
        let place = Place::new().await;
        let journal = Journal::default();
        let builder = election_tokio::Election::builder("e").node("a").ttl(LONG);
        let grace = Duration::from_millis(200);
        let a = builder.grace(grace).store(place.store()).build().unwrap().start();
        let mut changes = a.changes();
        let works = lead(&a, &journal);
        let epoch = journal.until(|entries| entries.len() == 1).await[0].epoch;
        let b = place.start("b", LONG);
        assert_eq!(followed(&b).await, epoch);
        let before = now();
        a.set_healthy(false);
        let stop_by = loop {
            if let Ok(Some(Change::Lost { stop_by, .. })) = changes.next().await {
                break stop_by;
            }
        };
        assert!(stop_by >= before + grace, "work has its grace");
        let lease = b.elected().await.unwrap();
        let _working = journal.begin(lease.epoch());
        journal.assert_one_at_a_time();
        assert!(journal.entries()[0].to.unwrap() >= stop_by, "not before its grace was over");
        drop(lease);
        b.shutdown().await;
        a.shutdown().await;
        works.await.unwrap().unwrap();
    })
    .await;
}

/// Polite work has time to clean up, and nobody else is elected meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_told_may_clean_up_first() {
    patiently(async {
        let (_place, a, b) = two().await;
        let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
        let (clean, cleaned) = tokio::sync::watch::channel(false);
        let works = tokio::spawn(a.run_while_leader(async move |lease: Lease| {
            let _ = started.send(());
            let lost = lease.lost().await;
            let _ = started.send(());
            let mut cleaned = cleaned.clone();
            cleaned.wait_for(|clean| *clean).await.map_err(|error| error.to_string())?;
            Err(lost.to_string()) // ignored: the loss explains it
        }));
        starts.recv().await.unwrap();
        let mut resigning = std::pin::pin!(a.resign());
        assert!(futures_lite::future::poll_once(&mut resigning).await.is_none());
        starts.recv().await.unwrap();
        assert!(!a.is_leader() && !b.is_leader());
        clean.send_replace(true);
        resigning.await.unwrap();
        b.elected().await.unwrap();
        assert!(!works.is_finished(), "losing is not the end");
        a.shutdown().await;
        works.await.unwrap().unwrap();
        b.shutdown().await;
    })
    .await;
}

/// Losing is not the end: the next leadership calls the work again, with a guard of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_starts_again_with_the_next_leadership() {
    patiently(async {
        let (_place, a, b) = two().await;
        let journal = Journal::default();
        let works = journal.clone();
        let works = tokio::spawn(a.run_while_leader(async move |lease: Lease| {
            let _working = works.begin(lease.epoch());
            lease.lost().await;
            Ok::<(), String>(())
        }));
        journal.until(|entries| entries.len() == 1).await;
        a.resign().await.unwrap();
        let lease = b.elected().await.unwrap();
        // A node that resigned comes back when it has seen another leader.
        assert_eq!(followed(&a).await, lease.epoch());
        drop((journal.begin(lease.epoch()), lease));
        b.shutdown().await;
        journal.until(|entries| entries.len() == 3).await;
        journal.assert_one_at_a_time();
        a.shutdown().await;
        works.await.unwrap().unwrap();
    })
    .await;
}

/// Cancelling drops the work; the elector goes on until the handle is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_work_leaves_the_elector_running() {
    patiently(async {
        let (_place, a, b) = two().await;
        let journal = Journal::default();
        {
            let works = a.run_while_leader(async |lease: Lease| {
                let _working = journal.begin(lease.epoch());
                std::future::pending::<Result<(), String>>().await
            });
            let started = async { drop(journal.until(|entries| entries.len() == 1).await) };
            futures_lite::future::or(started, async { drop(works.await) }).await;
        }
        assert!(journal.entries()[0].to.is_some(), "the work is dropped with its future");
        assert!(a.is_leader());
        drop(a);
        b.elected().await.unwrap();
        b.shutdown().await;
    })
    .await;
}

/// The whole service in one expression, spawned; and its end, by dropping everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_election_runs_work_by_itself() {
    patiently(async {
        let place = Place::new().await;
        let runs = Arc::new(AtomicUsize::new(0));
        let count = runs.clone();
        let a =
            tokio::spawn(place.elector("a", LONG).run_while_leader(async move |lease: Lease| {
                count.fetch_add(1, Ordering::SeqCst);
                lease.check()
            }));
        a.await.unwrap().unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(place.row().await.holder, None, "left the election when it was done");

        let journal = Journal::default();
        let works = journal.clone();
        let b =
            tokio::spawn(place.elector("b", LONG).run_while_leader(async move |lease: Lease| {
                let _working = works.begin(lease.epoch());
                std::future::pending::<Result<(), String>>().await
            }));
        journal.until(|entries| entries.len() == 1).await;
        b.abort();
        assert!(b.await.unwrap_err().is_cancelled());
        // Released, since the last handle went with the future.
        place.start("c", LONG).elected().await.unwrap();
        journal.assert_one_at_a_time();
    })
    .await;
}

/// The future of a handle's work can be spawned as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handles_work_can_be_spawned() {
    patiently(async {
        let (_place, a, b) = two().await;
        let works = tokio::spawn(a.run_while_leader(async move |lease: Lease| {
            let _lease = lease.clone();
            tokio::task::yield_now().await;
            lease.check()
        }));
        works.await.unwrap().unwrap();
        let closures =
            tokio::spawn(b.run_while_leader(|lease: Lease| async move { lease.check() }));
        closures.await.unwrap().unwrap();
        a.shutdown().await;
        b.shutdown().await;
    })
    .await;
}

/// A service whose elector died must hear of it; one that was shut down must not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_whose_elector_died_is_an_error() {
    patiently(async {
        let place = Place::new().await;
        for told in [true, false] {
            let (a, driver) = place.elector("a", SHORT).into_parts();
            let driver = tokio::spawn(driver);
            let journal = Journal::default();
            let works = lead(&a, &journal);
            journal.until(|entries| entries.len() == 1).await;
            if told {
                a.shutdown().await;
            } else {
                driver.abort();
            }
            let ended = works.await.unwrap();
            let as_told = if told {
                matches!(ended, Ok(()))
            } else {
                matches!(ended, Err(WorkError::Stopped(_)))
            };
            assert!(as_told, "told: {told}, ended: {ended:?}");
            assert!(journal.entries()[0].to.is_some());
        }
    })
    .await;
}

//! `run_while_leader`: work is started when elected, told when lost, stopped by force in time.

use super::sqlite::*;
use super::tasks::{End, News};
use crate::{Election, Handle, Lease, WorkError};
use futures_lite::future::yield_now;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// A leader and a follower, with a lease so long that only a release can pass it on.
async fn two<R: Runtime + Default>(place: &InFile<R>) -> (Handle<R>, Handle<R>) {
    let a = place.start("a", LONG);
    let epoch = a.elected().await.unwrap().epoch();
    let b = place.start("b", LONG);
    assert_eq!(followed(&b).await, epoch);
    (a, b)
}

pub async fn work_that_is_done_resigns<R: Runtime + Default>(place: InFile<R>) {
    let (a, b) = two(&place).await;
    let done =
        a.run_while_leader(async |lease: Lease<R>| lease.check().map_err(|lost| lost.to_string()));
    done.await.unwrap();
    assert!(!a.is_leader());
    b.elected().await.unwrap();
    a.shutdown().await;
    b.shutdown().await;
}

pub async fn work_that_fails_resigns_and_returns_the_error<R: Runtime + Default>(place: InFile<R>) {
    let (a, b) = two(&place).await;
    let failed = a.run_while_leader(async |_| Err::<(), _>("out of paper")).await;
    assert!(matches!(failed, Err(WorkError::Work("out of paper"))), "{failed:?}");
    assert_eq!(failed.unwrap_err().to_string(), "leader work failed: out of paper");
    b.elected().await.unwrap();
    a.shutdown().await;
    b.shutdown().await;
}

/// Other handles of the same elector live on, so nothing withdraws: the panic itself must give
/// leadership up, or the leader would stay and do nothing.
pub async fn work_that_panics_resigns_and_the_panic_goes_on<R: Runtime + Default>(
    place: InFile<R>,
) {
    let (a, b) = two(&place).await;
    let mut changes = a.changes();
    let works = spawn::<R, _>(
        a.run_while_leader(async |_| -> Result<(), String> { panic!("a bug in leader work") }),
    );
    let Err(End::Panicked(panic)) = works.outcome().await else { panic!("the panic was caught") };
    assert_eq!(panic.downcast_ref(), Some(&"a bug in leader work"));
    assert_eq!(next_loss(&mut changes).await, Loss::Resigned);
    b.elected().await.unwrap();
    a.shutdown().await;
    b.shutdown().await;
}

/// Work that ignores its loss has its grace, and is then dropped; only then is the lease released.
pub async fn work_that_ignores_its_loss_is_stopped_by_force<R: Runtime + Default>(
    place: InFile<R>,
) {
    let journal = Journal::default();
    let builder = Election::<R>::builder("e").node("a").ttl(LONG);
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
    works.await.unwrap();
}

/// Polite work has time to clean up, and nobody else is elected meanwhile.
pub async fn work_that_is_told_may_clean_up_first<R: Runtime + Default>(place: InFile<R>) {
    let (a, b) = two(&place).await;
    let (started, starts) = async_channel::unbounded();
    let clean = Arc::new(News::new(false));
    let cleaned = clean.clone();
    let works = spawn::<R, _>(a.run_while_leader(async move |lease: Lease<R>| {
        let _ = started.try_send(());
        let lost = lease.lost().await;
        let _ = started.try_send(());
        cleaned.until(|clean| clean.then_some(())).await;
        Err(lost.to_string()) // ignored: the loss explains it
    }));
    starts.recv().await.unwrap();
    let mut resigning = std::pin::pin!(a.resign());
    assert!(futures_lite::future::poll_once(&mut resigning).await.is_none());
    starts.recv().await.unwrap();
    assert!(!a.is_leader() && !b.is_leader());
    clean.change(|clean| *clean = true);
    resigning.await.unwrap();
    b.elected().await.unwrap();
    assert!(!works.is_finished(), "losing is not the end");
    a.shutdown().await;
    works.await.unwrap();
    b.shutdown().await;
}

/// Losing is not the end: the next leadership calls the work again, with a guard of its own.
pub async fn work_starts_again_with_the_next_leadership<R: Runtime + Default>(place: InFile<R>) {
    let (a, b) = two(&place).await;
    let journal = Journal::default();
    let works = journal.clone();
    let works = spawn::<R, _>(a.run_while_leader(async move |lease: Lease<R>| {
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
    works.await.unwrap();
}

/// Cancelling drops the work; the elector goes on until the handle is gone.
pub async fn cancelled_work_leaves_the_elector_running<R: Runtime + Default>(place: InFile<R>) {
    let (a, b) = two(&place).await;
    let journal = Journal::default();
    {
        let works = a.run_while_leader(async |lease: Lease<R>| {
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
}

/// The whole service in one expression, spawned; and its end, by dropping everything.
pub async fn an_election_runs_work_by_itself<R: Runtime + Default>(place: InFile<R>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let a =
        spawn::<R, _>(place.elector("a", LONG).run_while_leader(async move |lease: Lease<R>| {
            count.fetch_add(1, Ordering::SeqCst);
            lease.check()
        }));
    a.await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(place.row().await.holder, None, "left the election when it was done");

    let journal = Journal::default();
    let works = journal.clone();
    let b =
        spawn::<R, _>(place.elector("b", LONG).run_while_leader(async move |lease: Lease<R>| {
            let _working = works.begin(lease.epoch());
            std::future::pending::<Result<(), String>>().await
        }));
    journal.until(|entries| entries.len() == 1).await;
    b.abort();
    assert!(matches!(b.outcome().await, Err(End::Aborted)));
    // Released, since the last handle went with the future.
    place.start("c", LONG).elected().await.unwrap();
    journal.assert_one_at_a_time();
}

/// The future of a handle's work can be spawned as it is.
pub async fn a_handles_work_can_be_spawned<R: Runtime + Default>(place: InFile<R>) {
    let (a, b) = two(&place).await;
    let works = spawn::<R, _>(a.run_while_leader(async move |lease: Lease<R>| {
        let _lease = lease.clone();
        yield_now().await;
        lease.check()
    }));
    works.await.unwrap();
    let closures =
        spawn::<R, _>(b.run_while_leader(|lease: Lease<R>| async move { lease.check() }));
    closures.await.unwrap();
    a.shutdown().await;
    b.shutdown().await;
}

/// A service whose elector died must hear of it; one that was shut down must not.
pub async fn work_whose_elector_died_is_an_error<R: Runtime + Default>(place: InFile<R>) {
    for told in [true, false] {
        let (a, driver) = place.elector("a", SHORT).into_parts();
        let driver = spawn::<R, _>(driver);
        let journal = Journal::default();
        let works = lead(&a, &journal);
        journal.until(|entries| entries.len() == 1).await;
        if told {
            a.shutdown().await;
        } else {
            driver.abort();
        }
        let ended = works.await;
        let as_told = if told {
            matches!(ended, Ok(()))
        } else {
            matches!(ended, Err(WorkError::Stopped(_)))
        };
        assert!(as_told, "told: {told}, ended: {ended:?}");
        assert!(journal.entries()[0].to.is_some());
    }
}

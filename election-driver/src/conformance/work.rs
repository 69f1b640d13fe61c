//! `run_while_leader`: work is started when elected, told when lost, stopped by force in time.

use super::sqlite::*;
use super::tasks::End;
use crate::{Election, Handle, Lease, NotElected, WorkError};
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
            matches!(ended, Err(WorkError::NotElected(NotElected::Stopped(_))))
        };
        assert!(as_told, "told: {told}, ended: {ended:?}");
        assert!(journal.entries()[0].to.is_some());
    }
}

//! The three races of a heartbeat row that is polled every 30 s and stale after 90 s (the common
//! home-grown pattern).

use crate::places::InFile;
use election_driver::{
    Status, Store as _,
    conformance::{sqlite::*, tasks::End},
};
use election_tokio::{Handle, Lease, Tokio};
use futures_lite::future::{block_on, or, yield_now};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// The one of two handles that is elected first, with its guard, and the other.
async fn first<'a>(a: &'a Handle, b: &'a Handle) -> (&'a Handle, Lease, &'a Handle) {
    let one = async { (a, a.elected().await.unwrap(), b) };
    or(one, async { (b, b.elected().await.unwrap(), a) }).await
}

/// Both ask at the same moment, on separate threads: one wins, the other learns who did.
async fn scenario_1_two_workers_try_to_become_leader_simultaneously(place: InFile) {
    for round in 0..30 {
        let namespace = Namespace::new(&format!("task-{round}")).unwrap();
        let line = Arc::new(Barrier::new(2));
        let worker = |id: &str| {
            let mut store = place.store();
            let (who, line) =
                (Registration { namespace: namespace.clone(), ..registration(id) }, line.clone());
            std::thread::spawn(move || {
                block_on(store.answer(&who, &Query::Observe)).unwrap(); // connected
                line.wait();
                let answer = block_on(store.answer(&who, &attempt(LONG))).unwrap();
                (who, answer)
            })
        };
        let workers = [worker("a"), worker("b")];
        let results = workers.map(|each| each.join().unwrap());
        let [(a, answer_a), (b, answer_b)] = results;
        let (winner, epoch, other) = match (answer_a, answer_b) {
            (Answer::Won { epoch, .. }, other) => (a, epoch, other),
            (other, Answer::Won { epoch, .. }) => (b, epoch, other),
            neither => panic!("nobody won: {neither:?}"),
        };
        let Answer::Seen(row) = other else { panic!("both won: {other:?}") };
        assert_eq!(row.live_holder().map(|holder| &holder.candidate), Some(&winner.candidate));
        assert_eq!(row.epoch, epoch, "the loser learns of the very term it lost to");
    }
}

/// The same with electors, and what follows: the loser follows, and retries later.
async fn scenario_1_the_loser_follows_and_retries_later(_: InFile) {
    for _ in 0..5 {
        let place = InFile::new().await;
        let (a, b) = (place.start("a", LONG), place.start("b", LONG));
        let (winner, lease, loser) = first(&a, &b).await;
        assert_eq!(followed(loser).await, lease.epoch());
        assert!(!loser.is_leader() && loser.lease().is_none());
        assert_eq!(loser.require().unwrap_err().leader.as_ref(), Some(lease.term()));
        let epoch = lease.epoch();
        drop(lease);
        winner.shutdown().await;
        assert!(loser.elected().await.unwrap().epoch() > epoch);
        loser.shutdown().await;
    }
}

/// The leader's elector is dropped silently. One of the two others takes over, and not before the
/// dead leader's work would have been stopped by force.
async fn scenario_2_leader_dies_two_workers_try_to_take_over(_: InFile) {
    for _ in 0..3 {
        let place = InFile::new().await;
        let (doomed, driver) = place.elector("doomed", SHORT).into_parts();
        let driver = spawn::<Tokio, _>(driver);
        let epoch = doomed.elected().await.unwrap().epoch();
        let (a, b) = (place.start("a", SHORT), place.start("b", SHORT));
        assert_eq!((followed(&a).await, followed(&b).await), (epoch, epoch));
        let stop_by = doomed.status().tenure.unwrap().stop_by;
        driver.abort();
        assert!(matches!(driver.outcome().await, Err(End::Aborted)));
        assert!(!doomed.is_leader(), "who is not renewed does not lead");
        let row = place.row().await;
        assert_eq!(row.epoch, epoch);
        assert!(row.holder.is_some(), "a leader that died has not resigned");

        let (_, lease, other) = first(&a, &b).await;
        assert!(now() >= stop_by, "elected before the dead leader's work had to be over");
        assert!(lease.epoch() > epoch);
        let died = doomed.watch().until(|status| status.closed).await;
        assert!(died.tenure.is_none());
        assert_eq!(followed_after(other, epoch).await, lease.epoch());
        assert!(!other.is_leader());
    }
}

/// The epoch that is followed once the old one is over.
async fn followed_after(handle: &Handle, old: Epoch) -> Epoch {
    let new =
        |status: &Status| status.leader.as_ref().is_some_and(|leader| leader.term.epoch != old);
    handle.watch().until(new).await.leader.unwrap().term.epoch
}

/// Both try at the moment an expired lease becomes available: the first statement wins, and the
/// second finds nothing stale any more.
async fn scenario_2_one_expired_lease_is_taken_once(place: InFile) {
    let dead = registration("dead");
    for _ in 0..20 {
        let mut store = place.store();
        let old = win(&mut store, &dead, Duration::from_millis(1)).await;
        while place.row().await.live_holder().is_some() {
            yield_now().await;
        }
        let take = |id: &str| {
            let (mut store, who) = (place.store(), registration(id));
            spawn::<Tokio, _>(async move {
                let answer = store.answer(&who, &attempt(LONG)).await.unwrap();
                (store, who, answer)
            })
        };
        let (a, b) = (take("a"), take("b"));
        let mut wins = 0;
        for (mut store, who, answer) in [a.await, b.await] {
            if let Answer::Won { epoch, .. } = answer {
                assert!(epoch > old);
                wins += 1;
                let resigned = store.answer(&who, &Query::Resign { epoch }).await.unwrap();
                assert_eq!(resigned, Answer::Released);
            }
        }
        assert_eq!(wins, 1);
    }
}

/// The leader cannot reach the database any more. Its work has ended *before* another leader's
/// begins (with a bare heartbeat row it goes on until it learns of its successor), and when it
/// comes back it learns that it lost.
async fn scenario_3(place: InFile, cut: State) {
    let (line, journal) = (Line::default(), Journal::default());
    let old = elector::<Tokio, _>(line.to(place.store()), "old", SHORT).start();
    let mut changes = old.changes();
    let work = lead(&old, &journal);
    let first = journal.until(|entries| entries.len() == 1).await[0].epoch;
    let new = place.start("new", SHORT);
    assert_eq!(followed(&new).await, first);

    line.set(cut);
    let lease = new.elected().await.unwrap();
    let _working = journal.begin(lease.epoch());
    let entries = journal.entries();
    assert!(entries[0].to.is_some(), "the old leader works although another leads: {entries:?}");
    assert!(!old.is_leader());
    journal.assert_one_at_a_time();
    assert_eq!(next_loss(&mut changes).await, Loss::Expired, "nobody could tell it more");

    line.set(State::Open);
    let mut watch = old.watch();
    let learnt = watch.until(|status| {
        status.leader.as_ref().is_some_and(|leader| leader.term.epoch == lease.epoch())
    });
    assert!(!learnt.await.leader.unwrap().own);
    // Statements of the old leader that may still be under way change nothing.
    let mut store = place.store();
    let renew = Query::Renew {
        epoch: first,
        ordinal: 1000,
        ttl: SHORT,
        clock_step: Duration::ZERO,
        leads: true,
    };
    assert_eq!(store.answer(old.registration(), &renew).await.unwrap(), Answer::Gone);
    let resign = Query::Resign { epoch: first };
    assert_eq!(store.answer(old.registration(), &resign).await.unwrap(), Answer::Released);
    let row = place.row().await;
    assert_eq!(
        (row.epoch, row.holder.map(|holder| holder.candidate)),
        (lease.epoch(), Some(new.registration().candidate.clone()))
    );
    old.shutdown().await;
    work.await.unwrap();
    assert_eq!(journal.entries().len(), 2, "the old leader never led again");
}

async fn scenario_3_network_partition_that_swallows_everything(place: InFile) {
    scenario_3(place, State::Hangs).await;
}

async fn scenario_3_network_partition_that_refuses_everything(place: InFile) {
    scenario_3(place, State::Fails).await;
}

tests! {
    scenario_1_two_workers_try_to_become_leader_simultaneously: in_file;
    scenario_1_the_loser_follows_and_retries_later: in_file;
    scenario_2_leader_dies_two_workers_try_to_take_over: in_file;
    scenario_2_one_expired_lease_is_taken_once: in_file;
    scenario_3_network_partition_that_swallows_everything: in_file;
    scenario_3_network_partition_that_refuses_everything: in_file;
}

//! What observers see: changes in order, the latest state, and a release for a waiting candidate.

use super::sqlite::*;
use crate::{Changes, Election, Handle};
use futures_lite::future::or;

/// Everything that has happened so far.
fn so_far(changes: &mut Changes) -> Vec<Change> {
    std::iter::from_fn(|| changes.try_next().unwrap()).collect()
}

/// `Elected` and `Lost` alternate, each loss is of the term before, and epochs grow.
fn assert_in_order(changes: &[Change]) -> usize {
    let mut leading = None;
    let mut highest = Epoch::NONE;
    let mut elections = 0;
    for change in changes {
        match change {
            Change::Elected(tenure) => {
                assert_eq!(leading, None, "elected while leading: {changes:?}");
                assert!(tenure.term.epoch > highest, "{changes:?}");
                leading = Some(tenure.term.epoch);
                highest = tenure.term.epoch;
                elections += 1;
            }
            Change::Lost { term, .. } => {
                assert_eq!(leading.take(), Some(term.epoch), "{changes:?}");
            }
            Change::Followed { term, .. } => {
                assert_eq!(leading, None, "{changes:?}");
                highest = highest.max(term.epoch);
            }
            Change::Vacant => assert_eq!(leading, None, "{changes:?}"),
            Change::Alert(alert) => panic!("a lease reports no alerts: {alert}"),
        }
    }
    elections
}

pub async fn changes_begin_with_the_state_and_keep_their_order<R: Runtime + Default>(
    place: InFile<R>,
) {
    let a = place.start("a", LONG);
    let mut from_the_start = a.changes();
    assert_eq!(from_the_start.try_next(), Ok(None), "nothing is known yet");
    let first = a.elected().await.unwrap().epoch();
    let mut late = a.changes();
    assert!(matches!(late.next().await, Ok(Some(Change::Elected(own))) if own.term.epoch == first));
    let b = place.start("b", LONG);
    assert_eq!(followed(&b).await, first);
    let mut follower = b.changes();
    assert!(
        matches!(follower.next().await, Ok(Some(Change::Followed { term, .. })) if term.epoch == first)
    );

    a.resign().await.unwrap();
    let second = b.elected().await.unwrap().epoch();
    a.watch().until(|status| status.leader.is_some()).await;
    b.shutdown().await;
    a.elected().await.unwrap();
    a.shutdown().await;
    let mut seen = Vec::new();
    while let Some(change) = late.next().await.unwrap() {
        seen.push(change);
    }
    assert!(
        matches!(&seen[0], Change::Lost { term, reason: Loss::Resigned, .. } if term.epoch == first)
    );
    let follows =
        |change: &Change| matches!(change, Change::Followed { term, .. } if term.epoch == second);
    assert!(seen.iter().any(follows), "{seen:?}");
    assert!(matches!(seen.last(), Some(Change::Lost { reason: Loss::Withdrawn, .. })));
    assert_eq!(assert_in_order(&so_far(&mut from_the_start)), 2);
    assert_eq!(assert_in_order(&so_far(&mut follower)), 1);
    assert_eq!(late.next().await, Ok(None), "it stays at its end");
    let mut later = a.changes();
    assert_eq!(later.next().await, Ok(Some(Change::Vacant)), "and so for who comes later");
    assert_eq!(later.next().await, Ok(None));
}

/// Passes leadership to and fro by resigning, each time to the waiting candidate.
async fn pass<R: Runtime>(a: &Handle<R>, b: &Handle<R>, moves: usize) {
    let either = or(async { a.elected().await.map(|_| (a, b)) }, async {
        b.elected().await.map(|_| (b, a))
    });
    let (mut leader, mut other) = either.await.unwrap();
    for _ in 0..moves {
        followed(other).await;
        leader.resign().await.unwrap();
        other.elected().await.unwrap();
        (leader, other) = (other, leader);
    }
}

/// A follower learns of every release from the file: the poll that would find it comes long after
/// the test has given up.
pub async fn every_release_reaches_the_follower<R: Runtime + Default>(place: InFile<R>) {
    let (a, b) = (place.start("a", LONG), place.start("b", LONG));
    pass(&a, &b, 40).await;
    a.shutdown().await;
    b.shutdown().await;
}

/// Nobody waits for readers that never read, and everything is there when they do.
pub async fn a_reader_that_never_reads_blocks_nobody<R: Runtime + Default>(_: InFile<R>) {
    const MOVES: usize = 12;
    let place = InFile::<R>::new().await;
    let (a, b) = (place.start("a", LONG), place.start("b", LONG));
    let (mut idle_a, mut idle_b) = (a.changes(), b.changes());
    let _watch = a.watch();
    pass(&a, &b, MOVES).await;
    a.shutdown().await;
    b.shutdown().await;
    let told = [so_far(&mut idle_a), so_far(&mut idle_b)];
    let elections: usize = told.iter().map(|changes| assert_in_order(changes)).sum();
    assert!(elections > MOVES, "{elections} elections were told of");
}

pub async fn a_watch_sees_the_latest_state<R: Runtime + Default>(place: InFile<R>) {
    let a = place.start("a", LONG);
    let mut watch = a.watch();
    let first = watch.changed().await;
    assert!(!first.closed, "the first call returns at once");
    let elected = watch.until(|status| status.tenure.is_some()).await;
    let tenure = elected.tenure.unwrap();
    assert_eq!(
        elected.leader.map(|leader| (leader.term, leader.own)),
        Some((tenure.term.clone(), true))
    );
    assert!(elected.reached && elected.error.is_none() && elected.unreleased);
    assert!(tenure.until < tenure.stop_by);
    assert_eq!(a.watch().get().tenure.map(|own| own.term), Some(tenure.term));

    let mut copy = watch.clone();
    a.shutdown().await;
    let last = copy.until(|status| status.tenure.is_none()).await;
    assert!(last.leader.is_none());
    assert!(watch.until(|_| false).await.closed, "the end ends every wait");
    assert!(watch.changed().await.closed, "and every later one");
}

/// A database that cannot be asked yet has not said that nobody leads.
pub async fn nothing_is_told_before_anybody_was_asked<R: Runtime + Default>(place: InFile<R>) {
    let away = place.file.with_extension("away");
    std::fs::rename(&place.file, &away).unwrap();
    let observer = Election::<R>::builder("e").node("watcher").ttl(SHORT).observer();
    let observer = observer.store(place.store()).build().unwrap().start();
    let mut changes = observer.changes();
    observer.watch().until(|status| status.error.is_some()).await;
    assert_eq!(changes.try_next(), Ok(None));
    let mut late = observer.changes();
    std::fs::rename(&away, &place.file).unwrap();
    for changes in [&mut changes, &mut late] {
        assert_eq!(changes.next().await, Ok(Some(Change::Vacant)), "now it is known");
    }
    let a = place.start("a", LONG);
    let epoch = a.elected().await.unwrap().epoch();
    for changes in [&mut changes, &mut late] {
        let next = changes.next().await.unwrap();
        assert!(matches!(next, Some(Change::Followed { term, .. }) if term.epoch == epoch));
    }
    a.shutdown().await;
}

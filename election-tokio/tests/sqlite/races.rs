//! A leader that is cut off from its database, one of the races of a heartbeat row that is polled every 30 s
//! and stale after 90 s (the common home-grown pattern).

use crate::places::InFile;
use election_driver::conformance::sqlite::*;
use election_tokio::Tokio;

/// The leader cannot reach the database any more. Its work has ended *before* another leader's
/// begins (with a bare heartbeat row it goes on until it learns of its successor), and when it
/// comes back it learns that it lost.
async fn a_leader_that_is_cut_off_stops_before_the_next_begins(_: InFile) {
    for cut in [State::Hangs, State::Fails] {
        is_cut_off(InFile::new().await, cut).await;
    }
}

async fn is_cut_off(place: InFile, cut: State) {
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
    old.shutdown().await;
    work.await.unwrap();
    assert_eq!(journal.entries().len(), 2, "the old leader never led again");
}

tests! {
    a_leader_that_is_cut_off_stops_before_the_next_begins: in_file;
}

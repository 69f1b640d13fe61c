//! LISTEN/NOTIFY on PostgreSQL, and elections without it.
//!
//! Where a lease lasts fifteen minutes and a poll comes after five, only a notification
//! can make something happen within the four minutes that a test waits.

use crate::database::{Backend, LONG, SHORT, candidacy, until};
use election_core::Loss;
use election_driver::Status;
use election_tokio::Election;

async fn a_resignation_wakes_the_followers<B: Backend>(database: B) {
    let leader = database.elector("a", LONG);
    leader.elected().await.unwrap();
    let follower = database.elector("b", LONG);
    until(&follower, |status| status.leader.is_some()).await;
    leader.resign().await.unwrap();
    follower.elected().await.unwrap();
}

async fn a_request_to_resign_is_heard_at_once<B: Backend>(database: B) {
    let leader = database.elector("a", LONG);
    let lease = leader.elected().await.unwrap();
    assert!(database.request_resign(lease.epoch()).await.unwrap());
    assert_eq!(lease.lost().await.reason, Loss::ResignRequested);
}

async fn a_win_call_by_call_is_heard_at_once<B: Backend>(database: B) {
    let election = Election::builder("test").node("watcher").ttl(LONG).observer();
    let observer = election.store(database.store()).build().unwrap().start();
    let mut store = database.sql();
    for number in 1..=2 {
        let mut candidate = candidacy(number, LONG);
        let won = store.elect(&mut candidate).await.unwrap().epoch;
        let seen =
            |status: &Status| status.leader.as_ref().is_some_and(|led| led.term.epoch == won);
        until(&observer, seen).await;
        store.unregister_candidate(&mut candidate).await.unwrap();
        until(&observer, |status| status.leader.is_none()).await;
    }
    observer.shutdown().await;
}

/// river#134: listening on the wrong channel, everything works, but later.
async fn polling_does_it_where_no_notification_arrives<B: Backend>(database: B) {
    let leader = database.deaf_elector("a", SHORT);
    leader.elected().await.unwrap();
    let follower = database.deaf_elector("b", SHORT);
    until(&follower, |status| status.leader.is_some()).await;
    leader.resign().await.unwrap();
    let lease = follower.elected().await.unwrap();
    assert!(database.request_resign(lease.epoch()).await.unwrap());
    assert_eq!(lease.lost().await.reason, Loss::ResignRequested, "by the renewal's answer");
}

tests! {
    a_resignation_wakes_the_followers: sqlite postgres;
    a_request_to_resign_is_heard_at_once: sqlite postgres;
    a_win_call_by_call_is_heard_at_once: sqlite;
    polling_does_it_where_no_notification_arrives: sqlite postgres mariadb;
}

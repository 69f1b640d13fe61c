//! LISTEN/NOTIFY on PostgreSQL, and elections without it.
//!
//! Where a lease lasts fifteen minutes and a poll comes after five, only a notification
//! can make something happen within the four minutes that a test waits.

use super::super::database::{Backend, LONG, SHORT, until};
use election_core::Loss;

pub async fn a_resignation_wakes_the_followers<B: Backend>(database: B) {
    let leader = database.elector("a", LONG);
    leader.elected().await.unwrap();
    let follower = database.elector("b", LONG);
    until(&follower, |status| status.leader.is_some()).await;
    leader.resign().await.unwrap();
    follower.elected().await.unwrap();
}

pub async fn a_request_to_resign_is_heard_at_once<B: Backend>(database: B) {
    let leader = database.elector("a", LONG);
    let lease = leader.elected().await.unwrap();
    assert!(database.request_resign(lease.epoch()).await.unwrap());
    assert_eq!(lease.lost().await.reason, Loss::ResignRequested);
}

/// river#134: listening on the wrong channel, everything works, but later.
pub async fn polling_does_it_where_no_notification_arrives<B: Backend>(database: B) {
    let leader = database.deaf_elector("a", SHORT);
    leader.elected().await.unwrap();
    let follower = database.deaf_elector("b", SHORT);
    until(&follower, |status| status.leader.is_some()).await;
    leader.resign().await.unwrap();
    let lease = follower.elected().await.unwrap();
    assert!(database.request_resign(lease.epoch()).await.unwrap());
    assert_eq!(lease.lost().await.reason, Loss::ResignRequested, "by the renewal's answer");
}

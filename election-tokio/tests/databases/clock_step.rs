//! Leases that allow for steps of the database's clock. Here the row ends earlier instead: a step
//! forward does the same to it.

use crate::database::{Backend, LONG, SHORT, Tx, until};
use election_driver::{Fenced, conformance::tasks::spawn};
use election_tokio::{Election, Handle, Tokio};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

fn election<B: Backend>(
    database: &B,
    node: &str,
    ttl: Duration,
    step: Duration,
) -> Election<B::Store> {
    let election = Election::builder("test").node(node).ttl(ttl).clock_step(step);
    election.store(database.store()).build().unwrap()
}

/// The database's clock has stepped forward, to it.
async fn steps<B: Backend>(database: &B, by: Duration) {
    let by = by.as_millis();
    database.execute(&format!("UPDATE election_leader SET expires_ms = expires_ms - {by}")).await;
}

/// It has been renewed so often since.
async fn renewals<B: Backend>(database: &B, more: u64) {
    let renewals = async || database.row().await.unwrap().renewals;
    let before = renewals().await;
    while renewals().await < before + more {
        tokio::time::sleep(SHORT / 10).await;
    }
}

async fn follows<B: Backend>(handle: &Handle) {
    let led =
        |status: &election_driver::Status| status.leader.as_ref().is_some_and(|leader| !leader.own);
    assert!(!until(handle, led).await.closed);
}

/// However often it steps, as long as the row is renewed in between.
async fn steps_forward_cost_nobody_the_lease<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    // A busy machine must not cost the lease either.
    const TTL: Duration = Duration::from_secs(4);
    let leader = election(&database, "leader", TTL, HOUR).start();
    let lease = leader.elected().await.unwrap();
    let follower = election(&database, "follower", TTL, HOUR).start();
    let other = database.elector("without", TTL);
    follows::<B>(&follower).await;
    follows::<B>(&other).await;
    for _ in 0..3 {
        steps(&database, HOUR - TTL).await;
        let mut transaction = database.begin(B::ISOLATIONS[0]).await;
        lease.fence(&mut transaction).await.unwrap();
        transaction.commit().await.unwrap();
        renewals(&database, 2).await;
        assert!(leader.is_leader() && !follower.is_leader() && !other.is_leader());
        let row = database.row().await.unwrap();
        assert!(row.epoch == lease.epoch() && row.remaining > HOUR && row.ttl == TTL, "{row:?}");
    }
    drop(lease);
    leader.resign().await.unwrap();
    for handle in [leader, follower, other] {
        handle.shutdown().await;
    }
}

/// The others go by their own clocks, with and without an allowance of their own.
async fn who_is_silent_is_taken_over_from_long_before_its_row_ends<B: Backend>(database: B) {
    for step in [HOUR, Duration::ZERO] {
        let (doomed, driver) = election(&database, "doomed", SHORT, HOUR).into_parts();
        let driver = spawn::<Tokio, _>(driver);
        let first = doomed.elected().await.unwrap().epoch();
        let heir = election(&database, "heir", SHORT, step).start();
        follows::<B>(&heir).await;
        driver.abort();
        let second = heir.elected().await.unwrap().epoch();
        assert!(second > first && !doomed.is_leader(), "two lead");
        heir.shutdown().await;
    }
}

/// It has no memory, so it waits for both.
async fn an_election_call_by_call_waits_for_the_allowance<B: Backend>(database: B) {
    let mut store = database.sql();
    let mut one = crate::database::candidacy(1, SHORT).clock_step(HOUR).unwrap();
    let mut two = crate::database::candidacy(2, LONG);
    let row = store.elect(&mut one).await.unwrap();
    assert!(one.leads(&row) && row.remaining <= SHORT, "{row:?}");
    let row = store.elect(&mut two).await.unwrap();
    assert!(!two.leads(&row) && one.leads(&row), "{row:?}");
    steps(&database, HOUR).await;
    let row = store.elect(&mut two).await.unwrap();
    assert!(!two.leads(&row), "the step that was allowed for: {row:?}");
    steps(&database, SHORT).await;
    let row = store.elect(&mut two).await.unwrap();
    assert!(two.leads(&row), "another one: {row:?}");
}

tests! {
    steps_forward_cost_nobody_the_lease: sqlite postgres mariadb;
    who_is_silent_is_taken_over_from_long_before_its_row_ends: sqlite postgres mariadb;
    an_election_call_by_call_waits_for_the_allowance: sqlite postgres mariadb;
}

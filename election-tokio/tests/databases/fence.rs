//! Fenced transactions.

use crate::database::{Backend, LONG, SHORT, Tx, candidacy, until};
use election_core::lease::Failure;
use election_driver::{FenceError, Fenced, conformance::tasks::spawn};
use election_tokio::{Handle, Lease, Tokio};
use futures_lite::future::zip;

async fn led<B: Backend>(database: &B, ttl: std::time::Duration) -> (Handle, Lease) {
    let leader = database.deaf_elector("leader", ttl);
    let lease = leader.elected().await.unwrap();
    database.execute("CREATE TABLE IF NOT EXISTS work (epoch BIGINT NOT NULL)").await;
    (leader, lease)
}

async fn vacate<B: Backend>(database: &B, leader: Handle) {
    leader.shutdown().await;
    let vacate = "UPDATE election_leader SET leader_id = NULL, incarnation = NULL";
    database.execute(vacate).await;
}

async fn write<B: Backend>(transaction: &mut Tx<B>, lease: &Lease) -> Result<(), sqlx::Error> {
    B::run(transaction, &format!("INSERT INTO work VALUES ({})", lease.epoch())).await
}

/// Another process takes over behind the elector's back, as while that elector is stopped.
async fn usurp<B: Backend>(database: &B) {
    let other = "UPDATE election_leader SET epoch = epoch + 1, leader_id = 'usurper', \
                 incarnation = '00000000-0000-0000-0000-000000000000'";
    database.execute(other).await;
}

async fn a_fenced_transaction_holds_up_the_next_term<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    let (leader, driver) = database.election("leader", SHORT).into_parts();
    let driver = spawn::<Tokio, _>(driver);
    let lease = leader.elected().await.unwrap();
    database.execute("CREATE TABLE work (epoch BIGINT NOT NULL)").await;
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    lease.fence(&mut transaction).await.unwrap();
    // On PostgreSQL it would end itself; the other two do not know the setting.
    let _ = B::run(&mut transaction, "SET LOCAL idle_in_transaction_session_timeout = 0").await;
    driver.abort(); // a crash: nobody renews and nobody releases
    let heir = database.elector("heir", SHORT);
    let locked = |kind| kind == Failure::Conflict;
    until(&heir, |status| status.error.as_ref().is_some_and(|error| locked(error.kind))).await;
    assert_eq!(database.row().await.unwrap().epoch, lease.epoch(), "no new term yet");
    write::<B>(&mut transaction, &lease).await.unwrap();
    transaction.commit().await.unwrap();
    let next = heir.elected().await.unwrap();
    assert!(next.epoch() > lease.epoch());
    let mut after = database.begin(B::ISOLATIONS[0]).await;
    next.fence(&mut after).await.unwrap();
    let newest = B::number(&mut after, "SELECT max(epoch) FROM work").await.unwrap();
    assert_eq!(u64::try_from(newest).unwrap(), lease.epoch().get());
}

async fn what_a_stale_leader_wrote_is_refused<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    for isolation in B::ISOLATIONS {
        let (leader, lease) = led(&database, LONG).await;
        let mut transaction = database.begin(isolation).await;
        lease.fence(&mut transaction).await.unwrap_or_else(|error| panic!("{isolation}: {error}"));
        write::<B>(&mut transaction, &lease).await.unwrap();
        transaction.commit().await.unwrap();
        usurp(&database).await;
        assert!(lease.is_held(), "it does not know");
        let mut transaction = database.begin(isolation).await;
        let outcome = lease.fence(&mut transaction).await;
        assert!(matches!(outcome, Err(FenceError::Over(_))), "{isolation}: {outcome:?}");
        drop(transaction);
        lease.lost().await; // the refusal has woken the elector up
        drop(lease);
        vacate(&database, leader).await;
    }
}

/// Yuzu#4015: under REPEATABLE READ a plain read still sees the old leader.
async fn a_snapshot_from_before_the_take_over_is_refused<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    for isolation in B::ISOLATIONS.iter().filter(|level| **level != "BEGIN IMMEDIATE") {
        let (leader, lease) = led(&database, LONG).await;
        let mut transaction = database.begin(isolation).await;
        B::number(&mut transaction, "SELECT count(*) FROM work").await.unwrap();
        usurp(&database).await;
        match lease.fence(&mut transaction).await {
            Err(FenceError::Over(_)) => {}
            Err(FenceError::Store(error)) if error.kind == Failure::Conflict => {}
            other => panic!("{isolation}: {other:?}"),
        }
        drop((transaction, lease));
        vacate(&database, leader).await;
    }
}

/// The lease looks valid to everybody but the transaction that ends it.
async fn a_fence_waits_for_a_term_that_is_about_to_begin<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    for isolation in B::ISOLATIONS {
        let (leader, lease) = led(&database, LONG).await;
        let mut next = database.begin(B::ISOLATIONS[0]).await;
        B::run(&mut next, "UPDATE election_leader SET expires_ms = 1000").await.unwrap();
        let won = database.elect_in(&mut next, &candidacy(9, LONG)).await.unwrap();
        assert!(won.peek().epoch > lease.epoch());
        let mut transaction = database.begin(isolation).await;
        let (fenced, committed) = zip(lease.fence(&mut transaction), next.commit()).await;
        committed.unwrap();
        match fenced {
            Err(FenceError::Over(_)) => {}
            Err(FenceError::Store(error)) if error.kind == Failure::Conflict => {}
            other => panic!("{isolation}: {other:?}"),
        }
        drop((transaction, lease));
        vacate(&database, leader).await;
    }
}

async fn renewals_go_on_beside_a_fenced_transaction<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    let (leader, lease) = led(&database, SHORT).await;
    // What SERIALIZABLE means on MySQL is that every read locks.
    for isolation in &B::ISOLATIONS[..2] {
        let mut transaction = database.begin(isolation).await;
        lease.fence(&mut transaction).await.unwrap();
        for _ in 0..3 {
            let known = lease.until();
            until(&leader, |status| status.tenure.as_ref().is_none_or(|own| own.until > known))
                .await;
            lease.check().unwrap_or_else(|lost| panic!("{isolation}: {lost}"));
            B::number(&mut transaction, "SELECT count(*) FROM work").await.unwrap();
        }
        write::<B>(&mut transaction, &lease).await.unwrap();
        transaction.commit().await.unwrap();
    }
}

async fn an_idle_fenced_transaction_ends_itself<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    let (leader, driver) = database.election("leader", SHORT).into_parts();
    let driver = spawn::<Tokio, _>(driver);
    let lease = leader.elected().await.unwrap();
    database.execute("CREATE TABLE work (epoch BIGINT NOT NULL)").await;
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    lease.fence(&mut transaction).await.unwrap();
    write::<B>(&mut transaction, &lease).await.unwrap();
    driver.abort();
    let heir = database.elector("heir", SHORT);
    heir.elected().await.unwrap();
    write::<B>(&mut transaction, &lease).await.expect_err("the server has ended it");
    let mut after = database.begin(B::ISOLATIONS[0]).await;
    let count = B::number(&mut after, "SELECT count(*) FROM work").await.unwrap();
    assert_eq!(count, 0, "what it wrote is gone");
}

async fn bounds_of_the_caller_that_are_tighter_stay<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    let (_leader, lease) = led(&database, LONG).await;
    let bound = |name| {
        format!("SELECT (extract(epoch from current_setting('{name}')::interval)*1000)::bigint")
    };
    let statement = bound("statement_timeout");
    let idle = bound("idle_in_transaction_session_timeout");
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    B::run(&mut transaction, "SET LOCAL statement_timeout = '7s'").await.unwrap();
    lease.fence(&mut transaction).await.unwrap();
    assert_eq!(B::number(&mut transaction, &statement).await.unwrap(), 7000);
    let left = B::number(&mut transaction, &idle).await.unwrap();
    assert!((800_000..=900_000).contains(&left), "{left} ms of a lease of 900 s");
    transaction.commit().await.unwrap();
}

/// A crash between the two statements that set a namespace up leaves it without one.
async fn the_row_that_is_locked_makes_itself<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    let (_leader, lease) = led(&database, LONG).await;
    database.execute("DELETE FROM election_fence").await;
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    lease.fence(&mut transaction).await.unwrap();
    transaction.commit().await.unwrap();
    usurp(&database).await;
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    let outcome = lease.fence(&mut transaction).await;
    assert!(matches!(outcome, Err(FenceError::Over(_))), "{outcome:?}");
}

/// The transaction is open on another database than that of the lease: to make the tables there would
/// help nobody.
async fn where_no_tables_are_nothing_is_fenced<B: Backend>(database: B)
where
    Tx<B>: Fenced,
{
    let (leader, lease) = led(&database, LONG).await;
    database.execute("ALTER TABLE election_leader RENAME TO elsewhere").await;
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    let Err(FenceError::Store(error)) = lease.fence(&mut transaction).await else {
        panic!("fenced by nothing")
    };
    drop(transaction);
    assert_eq!(error.kind, Failure::Fatal, "{error}");
    let text = error.to_string();
    assert!(text.contains("open it on the lease's database"), "{text}");
    assert!(!text.contains("schema"), "the wrong remedy: {text}");
    database.execute("ALTER TABLE elsewhere RENAME TO election_leader").await;
    drop(lease);
    leader.shutdown().await;
}

tests! {
    a_fenced_transaction_holds_up_the_next_term: sqlite postgres mariadb;
    what_a_stale_leader_wrote_is_refused: sqlite postgres mariadb;
    a_snapshot_from_before_the_take_over_is_refused: sqlite postgres mariadb;
    a_fence_waits_for_a_term_that_is_about_to_begin: postgres;
    where_no_tables_are_nothing_is_fenced: sqlite postgres mariadb;
    renewals_go_on_beside_a_fenced_transaction: postgres mariadb;
    an_idle_fenced_transaction_ends_itself: postgres;
    bounds_of_the_caller_that_are_tighter_stay: postgres;
    the_row_that_is_locked_makes_itself: mariadb;
}

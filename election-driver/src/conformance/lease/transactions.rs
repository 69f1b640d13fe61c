//! Elections inside the caller's own transactions.

use super::super::database::{Backend, LONG, candidacy};
use election_core::lease::Failure::Conflict;
use futures_lite::future::zip;
use std::time::Duration;

const BRIEF: Duration = Duration::from_millis(300);

/// oban#1488: two leaders for nineteen days, because belief outlived a rollback.
pub async fn what_is_rolled_back_never_led<B: Backend>(database: B) {
    let [a, b] = [1, 2].map(|number| candidacy(number, LONG));
    for isolation in B::ISOLATIONS {
        let mut transaction = database.begin(isolation).await;
        let won = database.elect_in(&mut transaction, &a).await.unwrap();
        assert!(a.leads(won.peek()), "{isolation}");
        assert!(database.is_leader_in(&mut transaction, &a).await.unwrap().committed());
        transaction.rollback().await.unwrap();
        assert!(!database.is_leader(&a).await.unwrap(), "{isolation}");
    }
    let second = database.elect(&b).await.unwrap();
    assert!(b.leads(&second));
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    let _left = database.leave_in(&mut transaction, &b).await.unwrap();
    transaction.rollback().await.unwrap();
    assert!(database.is_leader(&b).await.unwrap(), "nor did it leave");
}

/// ShedLock#3683.
pub async fn an_election_neither_commits_nor_loses_the_callers_data<B: Backend>(database: B) {
    database.execute("CREATE TABLE work (epoch BIGINT NOT NULL)").await;
    let a = candidacy(1, LONG);
    for (commits, expected) in [(false, 0), (true, 1)] {
        let mut transaction = database.begin(B::ISOLATIONS[0]).await;
        B::run(&mut transaction, "INSERT INTO work VALUES (1)").await.unwrap();
        let won = database.elect_in(&mut transaction, &a).await.unwrap();
        if commits {
            transaction.commit().await.unwrap();
            let won = won.committed();
            assert_eq!(database.row().await.unwrap().epoch, won.epoch);
        } else {
            transaction.rollback().await.unwrap();
        }
        let mut after = database.begin(B::ISOLATIONS[0]).await;
        let rows = B::number(&mut after, "SELECT count(*) FROM work").await.unwrap();
        assert_eq!(rows, expected);
        assert_eq!(database.is_leader(&a).await.unwrap(), commits);
    }
}

/// ShedLock#3577 and #3682: `now()` stands still for as long as the transaction lasts.
pub async fn the_clock_goes_on_in_a_long_transaction<B: Backend>(database: B) {
    let [a, b] = [1, 2].map(|number| candidacy(number, BRIEF));
    let first = database.elect(&a).await.unwrap();
    // On SQLite a transaction that writes would keep others from doing so; this one only reads.
    let isolation = B::ISOLATIONS.iter().find(|level| **level == "BEGIN");
    let mut transaction = database.begin(isolation.unwrap_or(&B::ISOLATIONS[0])).await;
    let held = database.is_leader_in(&mut transaction, &a).await.unwrap();
    assert!(held.committed(), "the transaction began while a led");
    while database.is_leader(&a).await.unwrap() {}
    let won = database.elect_in(&mut transaction, &b).await.unwrap();
    transaction.commit().await.unwrap();
    let won = won.committed();
    assert!(b.leads(&won) && won.epoch > first.epoch, "{won:?}");
    assert_eq!(won.remaining, BRIEF, "as of the call, not of the transaction's begin");
}

pub async fn nobody_else_wins_before_the_commit<B: Backend>(database: B) {
    let [a, b] = [1, 2].map(|number| candidacy(number, LONG));
    database.elect(&a).await.unwrap();
    database.unregister(&a).await.unwrap();
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    let won = database.elect_in(&mut transaction, &a).await.unwrap();
    let rival = async {
        loop {
            match database.elect(&b).await {
                Ok(row) => return row,
                Err(error) => assert_eq!(error.kind, Conflict, "{error}"),
            }
        }
    };
    let commit = async {
        assert!(!database.is_leader(&a).await.unwrap(), "nobody sees it yet");
        transaction.commit().await.unwrap();
    };
    let (told, ()) = zip(rival, commit).await;
    assert_eq!(told.epoch, won.committed().epoch);
}

pub async fn the_callers_settings_stay<B: Backend>(database: B) {
    let a = candidacy(1, LONG);
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    B::run(&mut transaction, "SET LOCAL lock_timeout = '7s'").await.unwrap();
    let setting = "SELECT (extract(epoch from current_setting('lock_timeout')::interval))::bigint";
    let _won = database.elect_in(&mut transaction, &a).await.unwrap();
    assert_eq!(B::number(&mut transaction, setting).await.unwrap(), 7);
    transaction.commit().await.unwrap();
}

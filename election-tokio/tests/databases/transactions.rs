//! Elections inside the caller's own transactions.

use crate::database::{Backend, LONG, Tx, candidacy};
use election_core::{
    Epoch,
    lease::Failure::{self, Conflict},
};
use election_driver::{Fenced, now};
use futures_lite::future::{yield_now, zip};
use std::time::Duration;

const BRIEF: Duration = Duration::from_millis(300);

/// ShedLock#3577 and #3682: `now()` stands still for as long as the transaction lasts.
async fn the_clock_goes_on_in_a_long_transaction<B: Backend>(database: B) {
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
    let won = won.peek();
    assert!(b.leads(won) && won.epoch > first.epoch, "{won:?}");
    assert_eq!(won.remaining, BRIEF, "as of the call, not of the transaction's begin");
}

/// A lease counts from the call. What is left of it after the commit can be nothing, and somebody
/// else may lead then.
async fn a_win_that_has_run_out_by_the_commit_is_none<B: Backend>(database: B) {
    let (mut a, b) = (candidacy(1, BRIEF), candidacy(2, LONG));
    let store = database.sql();
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    let mut on = store.on(&mut transaction);
    let won = on.elect(&mut a).await.unwrap();
    let held = on.is_leader(&a).await.unwrap();
    let seen = on.leader(&a.registration().namespace).await.unwrap();
    let all = on.list_elections().await.unwrap();
    assert!(a.leads(won.peek()) && *held.peek() && a.leads(seen.peek()));
    assert!(a.leads(&all.peek()[0].row));
    while *on.is_leader(&a).await.unwrap().peek() {}
    transaction.commit().await.unwrap();
    let next = database.elect(&b).await.unwrap();
    assert!(b.leads(&next));
    let epoch = won.peek().epoch;
    assert!(next.epoch > epoch);
    assert!(!held.committed(), "beside another leader");
    for row in [won.committed(), seen.committed(), all.committed().remove(0).row] {
        assert_eq!((a.leads(&row), row.epoch), (false, epoch), "{row:?}");
    }
}

/// A snapshot in which it leads outlives its leadership: at most a refusal tells it so.
async fn a_snapshot_tells_nobody_that_it_leads_still<B: Backend>(database: B) {
    let [a, b] = [1, 2].map(|number| candidacy(number, LONG));
    database.execute(B::WORK).await;
    for isolation in B::ISOLATIONS.iter().filter(|level| **level != "BEGIN IMMEDIATE") {
        database.elect(&a).await.unwrap();
        let mut transaction = database.begin(isolation).await;
        B::number(&mut transaction, "SELECT count(*) FROM work").await.unwrap();
        database.unregister(&a).await.unwrap();
        let next = database.elect(&b).await.unwrap();
        match database.elect_in(&mut transaction, &a).await {
            Ok(row) => assert_eq!(row.peek().epoch, next.epoch, "{isolation}: {row:?}"),
            Err(error) => assert_eq!(error.kind, Conflict, "{isolation}: {error}"),
        }
        transaction.rollback().await.unwrap();
        database.unregister(&b).await.unwrap();
    }
}

/// A server can end a transaction without being told: what comes next would be committed at once.
async fn a_transaction_that_is_over_elects_nobody<B: Backend>(database: B)
where
    Tx<B>: Fenced<Client = B::Client>,
{
    let mut a = candidacy(1, LONG);
    let store = database.sql();
    database.execute("CREATE TABLE one (number INTEGER PRIMARY KEY)").await;
    database.execute("INSERT INTO one VALUES (1)").await;
    for end in B::ENDS {
        let mut transaction = database.begin(B::ISOLATIONS[0]).await;
        let _ = B::run(&mut transaction, end).await;
        let mut on = store.on(&mut transaction);
        for refused in [
            on.elect(&mut a).await.map(|_| ()),
            on.is_leader(&a).await.map(|_| ()),
            on.register_candidate(&a).await,
        ] {
            let error = refused.expect_err(end);
            assert_eq!(error.kind, Failure::Fatal, "{end}: {error}");
            assert!(error.to_string().contains("begin another"), "{end}: {error}");
        }
        let error = store.fence(&mut transaction, &a, Epoch::new(7)).await.expect_err(end);
        assert!(error.to_string().contains("begin another"), "{end}: {error}");
        drop(transaction);
        assert!(!database.is_leader(&a).await.unwrap(), "{end}");
        assert!(database.list().await.unwrap().is_empty(), "{end}");
    }
}

/// PostgreSQL undoes nothing by itself after an error, and takes no other statement.
async fn a_transaction_that_has_failed_says_so<B: Backend>(database: B) {
    let mut a = candidacy(1, LONG);
    let store = database.sql();
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    B::number(&mut transaction, "SELECT 1 / 0").await.unwrap_err();
    let mut on = store.on(&mut transaction);
    for refused in [
        on.elect(&mut a).await.map(|_| ()),
        on.is_leader(&a).await.map(|_| ()),
        on.unregister_candidate(&mut a).await.map(|_| ()),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind, Failure::Fatal, "{error}");
        assert!(error.to_string().contains("failed; roll it back"), "{error}");
    }
}

/// With `innodb_snapshot_isolation`, the default of newer versions, a row that has changed since
/// the snapshot costs the whole transaction.
async fn a_record_that_has_changed_is_a_conflict<B: Backend>(database: B) {
    let [a, b] = [1, 2].map(|number| candidacy(number, LONG));
    database.execute(B::WORK).await;
    let mut transaction = database.begin("REPEATABLE READ").await;
    B::run(&mut transaction, "SET SESSION innodb_snapshot_isolation = 1").await.unwrap();
    B::number(&mut transaction, "SELECT count(*) FROM work").await.unwrap();
    database.elect(&b).await.unwrap();
    database.unregister(&b).await.unwrap();
    let error = database.elect_in(&mut transaction, &a).await.unwrap_err();
    assert_eq!(error.kind, Conflict, "{error}");
    assert!(error.to_string().contains("roll back"), "{error}");
    let error = database.elect_in(&mut transaction, &a).await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal, "the server has ended it: {error}");
}

async fn a_call_waits_for_a_lock_no_longer_than_elsewhere<B: Backend>(database: B) {
    let [mut a, mut b] = [1, 2].map(|number| candidacy(number, LONG));
    let store = database.sql();
    let namespace = a.registration().namespace.clone();
    database.elect(&a).await.unwrap();
    let mut holder = database.begin(B::ISOLATIONS[0]).await;
    let renewed = store.on(&mut holder).elect(&mut a).await.unwrap();
    for call in 0..2 {
        let mut transaction = database.begin(B::ISOLATIONS[0]).await;
        let mut on = store.on(&mut transaction);
        let refused = match call {
            0 => on.request_resign_of_leader(&namespace).await.map(|_| ()),
            _ => on.unregister_candidate(&mut a.clone()).await.map(|_| ()),
        };
        let error = refused.expect_err("it has waited for the lock all the same");
        assert_eq!(error.kind, Conflict, "{error}");
        assert!(error.to_string().contains("holds the leader row"), "{error}");
    }
    // Who only wants to know waits for nobody.
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    let told = store.on(&mut transaction).elect(&mut b).await.unwrap();
    assert!(a.leads(told.peek()));
    transaction.commit().await.unwrap();
    holder.commit().await.unwrap();
    assert_eq!(database.row().await.unwrap().renewals, renewed.committed().renewals);
}

async fn nobody_else_wins_before_the_commit<B: Backend>(database: B) {
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

/// The database counts the lease from the call, however long it waits for a lock.
async fn the_time_that_a_call_waits_is_taken_off_the_lease<B: Backend>(database: B) {
    const SLOW: Duration = Duration::from_millis(300);
    let [a, b] = [1, 2].map(|number| candidacy(number, LONG));
    database.elect(&a).await.unwrap();
    database.unregister(&a).await.unwrap();
    let mut holder = database.begin(B::ISOLATIONS[0]).await;
    B::run(&mut holder, "SELECT * FROM election_leader FOR UPDATE").await.unwrap();
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    let began = now();
    let release = async {
        while now().since(began) < SLOW {
            yield_now().await;
        }
        holder.rollback().await.unwrap();
    };
    let (won, ()) = zip(database.elect_in(&mut transaction, &b), release).await;
    transaction.commit().await.unwrap();
    let row = won.unwrap().committed();
    assert!(b.leads(&row) && row.remaining <= LONG - SLOW, "{row:?}");
}

async fn a_call_leaves_settings_as_it_found_them<B: Backend>(database: B) {
    let a = candidacy(1, LONG);
    for (set, lock) in [("SELECT 1", "0"), ("SET LOCAL lock_timeout = '7s'", "7s")] {
        let mut transaction = database.begin(B::ISOLATIONS[0]).await;
        B::run(&mut transaction, set).await.unwrap();
        let _won = database.elect_in(&mut transaction, &a).await.unwrap();
        let left = format!(
            "SELECT (current_setting('lock_timeout') = '{lock}' \
             AND current_setting('row_security') = 'on')::int::bigint"
        );
        assert_eq!(B::number(&mut transaction, &left).await.unwrap(), 1, "{set}");
        transaction.commit().await.unwrap();
    }
}

tests! {
    the_clock_goes_on_in_a_long_transaction: sqlite postgres mariadb;
    a_win_that_has_run_out_by_the_commit_is_none: sqlite postgres mariadb;
    a_snapshot_tells_nobody_that_it_leads_still: sqlite postgres mariadb;
    a_transaction_that_is_over_elects_nobody: sqlite mariadb;
    a_transaction_that_has_failed_says_so: postgres;
    a_record_that_has_changed_is_a_conflict: mariadb;
    a_call_waits_for_a_lock_no_longer_than_elsewhere: postgres;
    nobody_else_wins_before_the_commit: postgres mariadb;
    the_time_that_a_call_waits_is_taken_off_the_lease: postgres mariadb;
    a_call_leaves_settings_as_it_found_them: postgres;
}

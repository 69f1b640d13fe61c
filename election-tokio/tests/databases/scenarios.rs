//! Failures that others have reported in database elections, each on every database it concerns.
//!
//! More are tested with their subjects: a clock that stands still in a transaction (ShedLock#3577)
//! in `transactions`; a call that commits the caller's data (ShedLock#3683), belief that outlives a
//! rollback (oban#1488) in `calls`; a snapshot that passes a stale leader (Yuzu#4015) in `fence`; the
//! wrong channel (river#134), one's own resignation (river#286), wake-ups that block (river#1205)
//! in `notifications`; pool starvation (river#695), a jump of the database's clock, a hung server
//! (kopiur#319) in `faults`; the client's wall clock (kubernetes#125761, ShedLock#231) in the
//! command's tests. The simulator plays those that need no database.

use crate::database::{Backend, LONG, OnSqlite, SHORT, Tx, candidacy, until};
use async_lock::Barrier;
use election_core::{Tenure, lease::Failure};
use election_driver::{
    conformance::tasks::{join_all, spawn},
    now,
};
use election_tokio::Tokio;
use futures_lite::future::poll_once;
use std::{pin::pin, sync::Arc};

/// synapse-ce#437; and a failover that loses the row.
async fn the_token_outlives_its_row<B: Backend>(database: B) {
    let leader = database.elector("leader", SHORT);
    let mut newest = leader.elected().await.unwrap().epoch();
    for _ in 0..3 {
        database.execute(B::FORGET).await;
        let known = newest;
        let newer = |own: &Tenure| own.term.epoch > known;
        let elected = until(&leader, |status| status.tenure.as_ref().is_some_and(newer));
        newest = elected.await.tenure.unwrap().term.epoch;
    }
}

/// MySQL's gap locks; and kubernetes#77585, where the first leader waited for a whole lease.
async fn a_cold_start_neither_deadlocks_nor_waits_a_lease<B: Backend>(database: B) {
    let database = Arc::new(database);
    for _ in 0..10 {
        let barrier = Arc::new(Barrier::new(16));
        let starting = (0..16).map(|number| {
            let (database, barrier) = (database.clone(), barrier.clone());
            spawn::<Tokio, _>(async move {
                let me = candidacy(number + 1, LONG);
                barrier.wait().await;
                let began = now();
                let row = database.elect(&me).await.unwrap_or_else(|error| {
                    panic!("{error}: {:?}", error.source);
                });
                (row.live_term().unwrap(), now().since(began))
            })
        });
        let told = join_all(starting.collect()).await;
        assert!(told.windows(2).all(|pair| pair[0].0 == pair[1].0), "{told:?}");
        assert!(told.iter().all(|(_, took)| *took < LONG / 10), "{told:?}");
        database.execute(B::FORGET).await;
    }
}

/// A deadlock lost by a statement that is a transaction of its own loses nothing.
async fn a_deadlock_is_no_answer<B: Backend>(database: B) {
    let first = candidacy(1, LONG);
    database.elect(&first).await.unwrap();
    database.unregister(&first).await.unwrap();
    database.execute(B::WORK).await;
    // Heavier than its opponent, so that InnoDB fails the other.
    let mut heavy = database.begin("READ COMMITTED").await;
    B::run(&mut heavy, "INSERT INTO work (epoch) VALUES (1), (2), (3), (4)").await.unwrap();
    let shared = "SELECT count(*) FROM election_leader LOCK IN SHARE MODE";
    assert_eq!(B::number(&mut heavy, shared).await.unwrap(), 1);
    let second = candidacy(2, LONG);
    let mut electing = pin!(database.elect(&second));
    while status::<B>(&mut heavy, "INNODB_ROW_LOCK_CURRENT_WAITS").await == 0 {
        assert!(poll_once(&mut electing).await.is_none());
    }
    B::run(&mut heavy, "UPDATE election_leader SET updated_ms = updated_ms + 1").await.unwrap();
    assert_eq!(status::<B>(&mut heavy, "INNODB_DEADLOCKS").await, 1);
    heavy.rollback().await.unwrap();
    assert!(second.leads(&electing.await.unwrap()));

    async fn status<B: Backend>(transaction: &mut Tx<B>, name: &str) -> i64 {
        let sql = format!(
            "SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status \
             WHERE variable_name = '{name}'"
        );
        B::number(transaction, &sql).await.unwrap()
    }
}

/// A transaction that has read before somebody else wrote cannot begin to write: SQLite says so at
/// once, whatever its busy timeout, and the remedy is another way to begin.
async fn a_deferred_transaction_on_sqlite_is_refused_at_once(database: OnSqlite) {
    let me = candidacy(1, LONG);
    let mut deferred = database.begin("BEGIN").await;
    OnSqlite::number(&mut deferred, "SELECT count(*) FROM election_leader").await.unwrap();
    database.execute("CREATE TABLE work (epoch BIGINT NOT NULL)").await;
    let error = database.elect_in(&mut deferred, &me).await.unwrap_err();
    assert_eq!(error.kind, Failure::Conflict, "{error}");
    assert!(error.to_string().contains("begin with BEGIN IMMEDIATE"), "{error}");
    deferred.rollback().await.unwrap();
    let mut immediate = database.begin("BEGIN IMMEDIATE").await;
    let won = database.elect_in(&mut immediate, &me).await.unwrap();
    immediate.commit().await.unwrap();
    assert!(me.leads(&won.committed()));
}

tests! {
    the_token_outlives_its_row: sqlite postgres mariadb;
    a_cold_start_neither_deadlocks_nor_waits_a_lease: sqlite postgres mariadb;
    a_deadlock_is_no_answer: mariadb;
    a_deferred_transaction_on_sqlite_is_refused_at_once: sqlite;
}

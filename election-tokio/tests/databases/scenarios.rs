//! Failures that others have reported in database elections, each on every database it concerns.
//!
//! More are tested with their subjects: a clock that stands still in a transaction (ShedLock#3577),
//! a call that commits the caller's data (ShedLock#3683), belief that outlives a rollback
//! (oban#1488) in `transactions`; a snapshot that passes a stale leader (Yuzu#4015) in `fence`; the
//! wrong channel (river#134), one's own resignation (river#286), wake-ups that block (river#1205)
//! in `notifications`; pool starvation (river#695), a jump of the database's clock, a hung server
//! (kopiur#319) in `faults`; the client's wall clock (kubernetes#125761, ShedLock#231) in the
//! command's tests. The simulator plays those that need no database.

use crate::database::{Backend, LONG, OnSqlite, SHORT, Tx, candidacy, namespace, until};
use async_lock::Barrier;
use election_core::{
    Candidate, Change, Incarnation, Loss, NodeId, Tenure,
    lease::{Answer, Config, Failure, Query, Registration},
    sql::Statements,
};
use election_driver::{
    Store, StoreError,
    conformance::tasks::{join_all, spawn},
    now,
};
use election_tokio::{Election, Tokio};
use futures_lite::future::poll_once;
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use uuid::Uuid;

/// river#1213: a late renewal or resignation.
async fn an_old_term_touches_no_new_one_of_the_same_candidate<B: Backend>(database: B) {
    let me = candidacy(1, LONG);
    let first = database.elect(&me).await.unwrap().epoch;
    database.unregister(&me).await.unwrap();
    let second = database.elect(&me).await.unwrap().epoch;
    let mut store = database.store();
    let renew = Query::Renew {
        epoch: first,
        ordinal: 99,
        ttl: LONG * 2,
        clock_step: Duration::ZERO,
        leads: true,
    };
    assert_eq!(store.answer(me.registration(), &renew).await.unwrap(), Answer::Gone);
    let resign = Query::Resign { epoch: first };
    assert_eq!(store.answer(me.registration(), &resign).await.unwrap(), Answer::Released);
    let row = database.row().await.unwrap();
    assert!(me.leads(&row) && row.epoch == second && row.renewals == 0, "{row:?}");
    assert!(row.remaining <= LONG);
}

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

/// oban-py#32: host names as identities gave several leaders. CURATOR-696: an old identity came
/// back to life.
async fn one_name_twice_is_two_candidates<B: Backend>(database: B) {
    // Long enough for a server that is slow to answer on a busy machine.
    let a = database.elector("same", SHORT * 3);
    let lease = a.elected().await.unwrap();
    let b = database.elector("same", SHORT * 3);
    let status = until(&b, |status| status.leader.is_some()).await;
    let leader = status.leader.unwrap();
    assert!(!leader.own && leader.term.epoch == lease.epoch(), "{leader:?}");
    assert!(!b.is_leader());
    b.shutdown().await; // nor does it take the other's lease with it
    for _ in 0..2 {
        let known = lease.until();
        until(&a, |status| status.tenure.as_ref().is_none_or(|own| own.until > known)).await;
        lease.check().unwrap();
    }
    let reborn = Candidate {
        id: NodeId::new("same").unwrap(),
        incarnation: Incarnation::new(Uuid::from_u128(3)),
    };
    let reborn = Registration { namespace: namespace(), candidate: reborn, label: None };
    let renew = Query::Renew {
        epoch: lease.epoch(),
        ordinal: 1_000,
        ttl: LONG,
        clock_step: Duration::ZERO,
        leads: true,
    };
    let answer = database.store().answer(&reborn, &renew).await.unwrap();
    assert_eq!(answer, Answer::Gone, "a new life continues no old term");
}

/// Fails each renewal once before it lets it through.
struct Stumbling<S>(S, Arc<AtomicBool>);

impl<S: Store> Store for Stumbling<S> {
    fn prepare(&mut self, config: &Config) {
        self.0.prepare(config);
    }

    async fn answer(&mut self, who: &Registration, query: &Query) -> Result<Answer, StoreError> {
        let renewal = matches!(query, Query::Renew { .. });
        if renewal && !self.1.fetch_xor(true, Ordering::Relaxed) {
            return Err(StoreError::new(Failure::Transient, "stumbled"));
        }
        self.0.answer(who, query).await
    }

    fn statements(&self) -> Option<Arc<Statements>> {
        self.0.statements()
    }
}

async fn one_failed_renewal_does_not_cost_the_lease<B: Backend>(database: B) {
    let failed = Arc::new(AtomicBool::new(false));
    let store = Stumbling(database.store(), failed.clone());
    // Long enough for a server that is slow to answer on a busy machine.
    let builder = Election::builder("test").node("a").ttl(SHORT * 3).store(store);
    let leader = builder.build().unwrap().start();
    let mut changes = leader.changes();
    let lease = leader.elected().await.unwrap();
    for _ in 0..5 {
        let known = lease.until();
        until(&leader, |status| status.tenure.as_ref().is_none_or(|own| own.until > known)).await;
        lease.check().unwrap();
    }
    drop(lease);
    leader.shutdown().await;
    let rest = std::iter::from_fn(|| changes.try_next().unwrap()).collect::<Vec<_>>();
    let losses = rest.iter().filter_map(|change| match change {
        Change::Lost { reason, .. } => Some(*reason),
        _ => None,
    });
    assert_eq!(losses.collect::<Vec<_>>(), [Loss::Withdrawn], "{rest:?}");
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
    assert!(error.to_string().contains("begin it with BEGIN IMMEDIATE"), "{error}");
    deferred.rollback().await.unwrap();
    let mut immediate = database.begin("BEGIN IMMEDIATE").await;
    let won = database.elect_in(&mut immediate, &me).await.unwrap();
    immediate.commit().await.unwrap();
    assert!(me.leads(&won.committed()));
}

tests! {
    an_old_term_touches_no_new_one_of_the_same_candidate: sqlite postgres mariadb;
    the_token_outlives_its_row: sqlite postgres mariadb;
    a_cold_start_neither_deadlocks_nor_waits_a_lease: sqlite postgres mariadb;
    a_deadlock_is_no_answer: mariadb;
    one_name_twice_is_two_candidates: sqlite postgres mariadb;
    one_failed_renewal_does_not_cost_the_lease: sqlite postgres mariadb;
    a_deferred_transaction_on_sqlite_is_refused_at_once: sqlite;
}

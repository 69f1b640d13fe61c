//! Programs of different releases on one set of tables: what the guide promises about upgrades. The
//! old ones say what is recorded in `recorded`.

use crate::{
    database::{Backend, LONG, SHORT, candidacy, until},
    recorded::{OldStore, Recorded},
};
use async_lock::Barrier;
use election_core::{
    Change, Epoch, Loss,
    lease::{Answer, Failure, Query},
    sql::{Dialect, Schema, Tables},
};
use election_driver::{
    Store, StoreError,
    conformance::{
        inside::Client,
        tasks::{join_all, spawn},
    },
    now,
};
use election_tokio::{Election, Handle, Tokio};
use std::{sync::Arc, time::Duration};

fn recorded<B: Backend>() -> Recorded {
    Recorded::version_1(<B::Client as Client>::DIALECT)
}

/// A table whose rows need another's goes first.
async fn drop_the_tables<B: Backend>(database: &B) {
    if <B::Client as Client>::DIALECT == Dialect::MySql {
        database.execute("DROP TABLE election_fence").await;
    }
    for table in ["leader", "candidate", "schema"] {
        database.execute(&format!("DROP TABLE election_{table}")).await;
    }
    database.execute("DROP TABLE IF EXISTS election_server").await;
}

/// The tables of version 1, as that program makes them.
async fn make_the_old_tables<B: Backend>(database: &B) {
    drop_the_tables(database).await;
    for statement in recorded::<B>().tables {
        database.execute(statement).await;
    }
}

fn old_election<B: Backend>(database: &B, node: &str) -> Election<OldStore<B>> {
    election(OldStore::new(database), node, SHORT)
}

fn election<S: Store>(store: S, node: &str, ttl: Duration) -> Election<S> {
    Election::builder("test").node(node).ttl(ttl).store(store).build().unwrap()
}

/// The next leader, by whose account the one before has stopped.
async fn succeeds<B: Backend>(heir: &Handle, before: &Handle) -> Epoch {
    let epoch = heir.elected().await.unwrap().epoch();
    assert!(!before.is_leader(), "two lead");
    epoch
}

async fn follows<B: Backend>(handle: &Handle, epoch: Epoch) {
    let led = until(handle, |status| {
        status.leader.as_ref().is_some_and(|leader| !leader.own && leader.term.epoch == epoch)
    });
    assert!(!led.await.closed);
}

/// There and back again: after a crash, after a resignation, at the other's request.
async fn an_old_program_and_this_one_relieve_each_other<B: Backend>(database: B) {
    make_the_old_tables(&database).await;
    let (doomed, driver) = old_election(&database, "doomed").into_parts();
    let driver = spawn::<Tokio, _>(driver);
    let first = doomed.elected().await.unwrap().epoch();

    database.sql().ensure_schema().await.unwrap();
    assert!(doomed.is_leader(), "an upgrade costs nobody the lease");
    let new = database.elector("new", SHORT);
    follows::<B>(&new, first).await;
    driver.abort();
    let second = succeeds::<B>(&new, &doomed).await;
    assert!(second > first, "{second} after {first}");

    let old = old_election(&database, "old").start();
    follows::<B>(&old, second).await;
    new.resign().await.unwrap();
    let third = succeeds::<B>(&old, &new).await;
    assert!(third > second, "{third} after {second}");

    follows::<B>(&new, third).await;
    assert!(database.request_resign(third).await.unwrap(), "this one asks the old leader");
    let fourth = succeeds::<B>(&new, &old).await;
    assert!(fourth > third, "{fourth} after {third}");

    follows::<B>(&old, fourth).await;
    let mut changes = new.changes();
    OldStore::new(&database).ask_leader(candidacy(1, LONG).registration()).await.unwrap();
    let lost = loop {
        if let Some(Change::Lost { reason, .. }) = changes.next().await.unwrap() {
            break reason;
        }
    };
    assert_eq!(lost, Loss::ResignRequested, "the old one asks this one");
    let fifth = succeeds::<B>(&old, &new).await;
    assert!(fifth > fourth, "{fifth} after {fourth}");
    old.shutdown().await;
    new.shutdown().await;
}

/// A process of either release dies while one of the other follows.
async fn a_crash_amid_an_upgrade_costs_one_lease<B: Backend>(database: B) {
    make_the_old_tables(&database).await;
    database.sql().ensure_schema().await.unwrap();
    let (old, new) = (OldStore::new(&database), database.store());
    dies_before::<B, _, _>(&database, old, new).await;
    let (old, new) = (OldStore::new(&database), database.store());
    dies_before::<B, _, _>(&database, new, old).await;
}

async fn dies_before<B: Backend, S: Store, T: Store>(database: &B, first: S, second: T) {
    let ttl = 2 * SHORT;
    let (doomed, driver) = election(first, "doomed", ttl).into_parts();
    let driver = spawn::<Tokio, _>(driver);
    let epoch = doomed.elected().await.unwrap().epoch();
    let heir = election(second, "heir", ttl).start();
    follows::<B>(&heir, epoch).await;
    driver.abort();
    let ends = now() + database.row().await.unwrap().remaining;
    assert!(succeeds::<B>(&heir, &doomed).await > epoch);
    let gap = now().since(ends);
    assert!(gap < ttl, "nobody led for {gap:?} after the lease");
    heir.shutdown().await;
}

const CONTENDERS: u128 = 4;
const ROUNDS: u32 = 10;

/// Half of them each: one wins a term, the others see who, and only the winner can keep it or let go.
async fn old_and_new_contend_for_every_term<B: Backend>(database: B) {
    make_the_old_tables(&database).await;
    database.sql().ensure_schema().await.unwrap();
    let mut newest = Epoch::NONE;
    for _ in 0..ROUNDS {
        let start = Arc::new(Barrier::new(2 * CONTENDERS as usize));
        let old = (0..CONTENDERS).map(|n| {
            let (store, start) = (OldStore::new(&database), start.clone());
            spawn::<Tokio, _>(contend(store, 2 * n, start))
        });
        let new = (0..CONTENDERS).map(|n| {
            let (store, start) = (database.store(), start.clone());
            spawn::<Tokio, _>(contend(store, 2 * n + 1, start))
        });
        let told = join_all(old.chain(new).collect()).await;
        let won: Vec<_> =
            told.iter().filter_map(|(number, epoch)| epoch.map(|epoch| (*number, epoch))).collect();
        let [(winner, epoch)] = won[..] else { panic!("{won:?} of {told:?}") };
        assert!(epoch > newest, "{epoch} after {newest}");
        newest = epoch;

        for number in 0..2 * CONTENDERS {
            let renewed = renew(&database, number, epoch).await;
            let kept = matches!(renewed, Answer::Renewed { resign_requested: false, .. });
            assert_eq!(kept, number == winner, "{renewed:?} for {number}");
        }
        for number in (0..2 * CONTENDERS).filter(|number| *number != winner).chain([winner]) {
            assert!(database.row().await.unwrap().holder.is_some(), "another's lease is released");
            ask(&database, number, &Query::Resign { epoch }).await;
        }
        assert!(database.row().await.unwrap().holder.is_none(), "its own is");
    }
}

async fn contend<S: Store>(
    mut store: S,
    number: u128,
    start: Arc<Barrier>,
) -> (u128, Option<Epoch>) {
    let me = candidacy(number, LONG);
    start.wait().await;
    let query = Query::Attempt { seen: Epoch::NONE, ttl: LONG, clock_step: Duration::ZERO };
    loop {
        match store.answer(me.registration(), &query).await {
            Ok(Answer::Won { epoch, .. }) => return (number, Some(epoch)),
            Ok(Answer::Seen(row)) if row.live_holder().is_some() => {
                assert!(row.ttl == LONG && row.remaining <= LONG && row.renewals == 0, "{row:?}");
                return (number, None);
            }
            Ok(Answer::Seen(_)) => {}
            Err(StoreError { kind: Failure::Conflict, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Of these numbers the even ones are the old program's.
async fn ask<B: Backend>(database: &B, number: u128, query: &Query) -> Answer {
    let me = candidacy(number, LONG);
    let answer = if number % 2 == 0 {
        OldStore::new(database).answer(me.registration(), query).await
    } else {
        database.store().answer(me.registration(), query).await
    };
    answer.unwrap()
}

async fn renew<B: Backend>(database: &B, number: u128, epoch: Epoch) -> Answer {
    let renew =
        Query::Renew { epoch, ordinal: 1, ttl: LONG, clock_step: Duration::ZERO, leads: true };
    ask(database, number, &renew).await
}

/// A release to come has added a column. Programs of this one go on, start, and are put back.
async fn tables_of_a_newer_version_are_used<B: Backend>(database: B) {
    let leader = database.elector("leader", SHORT);
    let first = leader.elected().await.unwrap().epoch();
    database.execute("ALTER TABLE election_leader ADD COLUMN later TEXT").await;
    let newer = Schema::VERSION + 1;
    database.execute(&format!("INSERT INTO election_schema VALUES ({newer}, 0)")).await;
    assert!(leader.is_leader());
    let old = old_election(&database, "old").start();
    follows::<B>(&old, first).await;
    leader.resign().await.unwrap();
    let second = succeeds::<B>(&old, &leader).await;
    assert!(second > first);

    let version = database.sql().ensure_schema().await.unwrap();
    assert_eq!(version, newer, "what the tables are at");
    let again = database.elector("again", SHORT);
    follows::<B>(&again, second).await;
    leader.shutdown().await;
    old.shutdown().await;
    assert!(again.elected().await.unwrap().epoch() > second);
    again.shutdown().await;
    let mut transaction = database.begin(B::ISOLATIONS[0]).await;
    let versions = "SELECT MAX(version) FROM election_schema";
    let version = B::number(&mut transaction, versions).await.unwrap();
    assert_eq!(version, newer, "a newer one stays");
    drop(transaction);

    let unusable = Schema::NEWEST_USABLE + 1;
    database.execute(&format!("INSERT INTO election_schema VALUES ({unusable}, 0)")).await;
    let error = database.sql().ensure_schema().await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal);
    assert!(error.to_string().contains("update the program"), "{error}");
}

/// Its process has ended after any statement, and two others come at once.
async fn a_making_that_stopped_halfway_is_finished<B: Backend>(database: B) {
    let script = recorded::<B>().tables;
    let schema = Schema::new(<B::Client as Client>::DIALECT, &Tables::default());
    for done in 0..script.len() {
        drop_the_tables(&database).await;
        let mut transaction = database.begin(B::ISOLATIONS[0]).await;
        for statement in &script[..done] {
            B::run(&mut transaction, statement).await.unwrap();
        }
        database.kill(transaction).await;
        let makers = (0..2).map(|_| {
            let mut store = database.sql();
            spawn::<Tokio, _>(async move { store.ensure_schema().await })
        });
        for made in join_all(makers.collect()).await {
            let made = made.unwrap_or_else(|error| panic!("after {done} statements: {error}"));
            // On MySQL the other may be between two versions, of which either will do.
            assert!(schema.suits(made), "{made}");
        }
        assert!(database.elect(&candidacy(1, LONG)).await.unwrap().epoch > Epoch::NONE);
        let mut transaction = database.begin(B::ISOLATIONS[0]).await;
        let versions = "SELECT COUNT(*) FROM election_schema";
        assert_eq!(B::number(&mut transaction, versions).await.unwrap(), Schema::VERSION);
    }
}

/// The table of versions says that all is there. An elector points to `ensure_schema`, which says more.
async fn tables_that_lack_a_column_are_refused<B: Backend>(database: B) {
    database.execute("ALTER TABLE election_leader RENAME COLUMN epoch TO term").await;
    let refused = database.elect(&candidacy(1, LONG)).await.unwrap_err();
    assert_eq!(refused.kind, Failure::Fatal);
    assert!(refused.to_string().contains("older version, upgrade it with `ensure_schema`"));
    let error = database.sql().ensure_schema().await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal);
    let text = error.to_string();
    assert!(text.contains("a column is missing") && text.contains("create them anew"), "{text}");
}

tests! {
    an_old_program_and_this_one_relieve_each_other: sqlite postgres mariadb;
    a_crash_amid_an_upgrade_costs_one_lease: sqlite postgres mariadb;
    old_and_new_contend_for_every_term: sqlite postgres mariadb;
    tables_of_a_newer_version_are_used: sqlite postgres mariadb;
    a_making_that_stopped_halfway_is_finished: sqlite postgres mariadb;
    tables_that_lack_a_column_are_refused: sqlite postgres mariadb;
}

//! Programs of different releases on one set of tables: what the guide promises about upgrades.

use crate::database::{Backend, LONG, SHORT, candidacy, until};
use election_core::{
    Epoch,
    lease::Failure,
    sql::{Dialect, Schema, Tables},
};
use election_driver::conformance::{
    inside::Client,
    tasks::{join_all, spawn},
};
use election_tokio::{Handle, Tokio};

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

/// A release to come has added a column. Programs of this one go on, start, and are put back.
async fn tables_of_a_newer_version_are_used<B: Backend>(database: B) {
    let leader = database.elector("leader", SHORT);
    let first = leader.elected().await.unwrap().epoch();
    database.execute("ALTER TABLE election_leader ADD COLUMN later TEXT").await;
    let newer = Schema::VERSION + 1;
    database.execute(&format!("INSERT INTO election_schema VALUES ({newer}, 0)")).await;
    assert!(leader.is_leader());
    let old = database.elector("old", SHORT);
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
    let script = Schema::new(<B::Client as Client>::DIALECT, &Tables::default()).script();
    let script: Vec<_> = script.split_terminator(";\n").collect();
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
            assert_eq!(made, Schema::VERSION);
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
    assert!(text.contains("a column is missing") && text.contains("create them again"), "{text}");
}

tests! {
    tables_of_a_newer_version_are_used: sqlite postgres mariadb;
    a_making_that_stopped_halfway_is_finished: sqlite postgres mariadb;
    tables_that_lack_a_column_are_refused: sqlite postgres mariadb;
}

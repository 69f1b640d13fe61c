//! The tables: created once, by the first process, beside anything that exists already.

use super::again::{again, assert_passed};
use crate::on::OnNothing;
use crate::places::InFile;
use async_lock::Barrier;
use election_core::sql::{Dialect, Schema, Statements, Tables};
use election_driver::{
    SqliteStore,
    conformance::{
        sqlite::*,
        tasks::{join_all, timeout},
    },
};
use election_tokio::Tokio;
use std::{collections::BTreeSet, env, process::Stdio, sync::Arc, time::Duration};

const MINE: &str = "SELECT sql FROM sqlite_schema WHERE name LIKE 'election%' ORDER BY name";
const MODE: &str = "PRAGMA journal_mode";

async fn assert_usable(place: &InFile) {
    let mut raw = place.raw().await;
    assert_eq!(texts(&mut raw, MODE).await, ["wal"], "a new database reads while it is written");
    assert_eq!(texts(&mut raw, "SELECT CAST(version AS TEXT) FROM election_schema").await, ["1"]);
    assert_eq!(texts(&mut raw, "PRAGMA integrity_check").await, ["ok"]);
    win(&mut place.store(), &registration("a"), LONG).await;
}

async fn made_twice_is_made_once(_: OnNothing) {
    let place = InFile::empty();
    let mut store = place.store();
    store.ensure_schema().await.unwrap();
    let first = texts(&mut place.raw().await, MINE).await;
    assert_eq!(first.len(), 3);
    let epoch = win(&mut store, &registration("a"), LONG).await;
    store.ensure_schema().await.unwrap();
    place.store().ensure_schema().await.unwrap();
    assert_eq!(texts(&mut place.raw().await, MINE).await, first);
    assert_eq!(place.row().await.epoch, epoch, "what stood in the tables still stands there");
}

async fn eight_tasks_make_it_at_once(_: OnNothing) {
    for round in 0..10 {
        let place = InFile::empty();
        if round % 2 == 1 {
            // Tables of an older version: all processes read them, and one may upgrade them.
            let versions = Schema::new(Dialect::Sqlite, &Tables::default());
            let mut raw = place.raw().await;
            execute(&mut raw, "PRAGMA journal_mode = wal").await;
            execute(&mut raw, versions.create_version_table().sql).await;
        }
        let start = Arc::new(Barrier::new(8));
        let mut makers = Vec::new();
        for _ in 0..8 {
            let (mut store, start) = (place.store(), start.clone());
            makers.push(spawn::<Tokio, _>(async move {
                start.wait().await;
                store.ensure_schema().await
            }));
        }
        for made in join_all(makers).await {
            made.unwrap();
        }
        assert_usable(&place).await;
    }
}

const FILE: &str = "ELECTION_TEST_SCHEMA_FILE";

/// In a child: makes the tables in the file that it is given.
async fn eight_processes_make_it_at_once(_: OnNothing) {
    if let Some(file) = env::var_os(FILE) {
        SqliteStore::open(file).unwrap().ensure_schema().await.unwrap();
        return;
    }
    for _ in 0..3 {
        let place = InFile::empty();
        let maker = || again(&[]).env(FILE, &place.file).stdout(Stdio::piped()).spawn().unwrap();
        let makers: Vec<_> = (0..8).map(|_| maker()).collect();
        for maker in makers {
            assert_passed(&maker.wait_with_output().unwrap(), "of eight");
        }
        assert_usable(&place).await;
    }
}

/// An application's own database, in the mode the application chose.
async fn an_applications_database_stays_as_it_is(_: OnNothing) {
    for mode in ["delete", "truncate", "wal"] {
        let place = InFile::empty();
        let mut raw = place.raw().await;
        execute(&mut raw, &format!("PRAGMA journal_mode = {mode}")).await;
        execute(&mut raw, "CREATE TABLE invoices (id INTEGER PRIMARY KEY, sum TEXT)").await;
        execute(&mut raw, "INSERT INTO invoices VALUES (1, '12.50')").await;
        let schema = "SELECT sql FROM sqlite_schema WHERE name = 'invoices'";
        let before = texts(&mut raw, schema).await;
        place.store().ensure_schema().await.unwrap();

        // Elections work in every mode, handover included.
        let a = place.start("a", LONG);
        let epoch = a.elected().await.unwrap().epoch();
        let b = place.start("b", LONG);
        assert_eq!(followed(&b).await, epoch);
        a.resign().await.unwrap();
        assert!(b.elected().await.unwrap().epoch() > epoch);
        a.shutdown().await;
        b.shutdown().await;

        // The rollback modes differ in memory only; the file knows wal or not.
        let kept = texts(&mut place.raw().await, MODE).await;
        assert_eq!(kept, [if mode == "wal" { "wal" } else { "delete" }]);
        assert_eq!(texts(&mut raw, schema).await, before);
        assert_eq!(texts(&mut raw, "SELECT sum FROM invoices").await, ["12.50"]);
    }
}

/// The script for a migration tool makes what `ensure_schema` makes.
async fn the_script_makes_the_same_tables(_: OnNothing) {
    let (place, scripted) = (InFile::new().await, InFile::empty());
    let mut raw = scripted.raw().await;
    let script = Schema::new(Dialect::Sqlite, &Tables::default()).script();
    sqlx::raw_sql(sqlx::AssertSqlSafe(script)).execute(&mut raw).await.unwrap();
    assert_eq!(texts(&mut raw, MINE).await, texts(&mut place.raw().await, MINE).await);
    scripted.store().ensure_schema().await.unwrap();
    win(&mut scripted.store(), &registration("a"), LONG).await;
}

async fn tables_of_other_names_are_other_elections(place: InFile) {
    let tables = Tables::new("ops_", None).unwrap();
    let mut other = SqliteStore::open_tables(&place.file, &tables).unwrap();
    other.ensure_schema().await.unwrap();
    let names = texts(&mut place.raw().await, "SELECT name FROM sqlite_schema").await;
    let tables = names.iter().map(String::as_str).filter(|name| !name.starts_with("sqlite_"));
    let expected = ["candidate", "leader", "schema"];
    let expected = expected.map(|name| [format!("election_{name}"), format!("ops_{name}")]);
    assert_eq!(
        tables.collect::<BTreeSet<_>>(),
        expected.iter().flatten().map(String::as_str).collect()
    );
    let a = registration("a");
    win(&mut place.store(), &a, LONG).await;
    win(&mut other, &a, LONG).await;
}

/// A temporary name in the file must not survive a migration that fails half-way.
async fn a_migration_that_fails_leaves_nothing_behind(_: OnNothing) {
    let place = InFile::empty();
    let mut raw = place.raw().await;
    execute(&mut raw, "CREATE TABLE election_candidate (something TEXT)").await;
    let error = place.store().ensure_schema().await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal);
    assert!(message(&error).contains("already exists"), "{}", message(&error));
    let names = texts(&mut raw, "SELECT name FROM sqlite_schema").await;
    assert_eq!(names, ["election_candidate"]);
    execute(&mut raw, "DROP TABLE election_candidate").await;
    place.store().ensure_schema().await.unwrap();
    win(&mut place.store(), &registration("a"), LONG).await;
}

/// Nothing is attached to the elector's own connection, so no schema but the file's own is there.
async fn a_schema_that_the_elector_cannot_see_is_refused(place: InFile) {
    let tables = Tables::new("election_", Some("app")).unwrap();
    for refused in [
        SqliteStore::open_tables(&place.file, &tables).map(|_| ()),
        place.store().with_tables(&tables).map(|_| ()),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind, Failure::Fatal);
        assert!(message(&error).contains("name the file"), "{}", message(&error));
    }
    let main = Tables::new("election_", Some("main")).unwrap();
    win(&mut place.store().with_tables(&main).unwrap(), &registration("a"), LONG).await;
}

/// A caller that runs the statements on its own connection may have attached the file to it.
async fn the_statements_reach_an_attached_database(_: OnNothing) {
    let (main, attached) = (InFile::empty(), InFile::empty());
    let mut raw = main.raw().await;
    let attach = format!("ATTACH '{}' AS \"the order\"", attached.file.display());
    execute(&mut raw, &attach).await;
    let tables = Tables::new("election_", Some("the order")).unwrap();
    let script = Schema::new(Dialect::Sqlite, &tables).script();
    sqlx::raw_sql(sqlx::AssertSqlSafe(script)).execute(&mut raw).await.unwrap();
    let none = "SELECT name FROM sqlite_schema";
    assert!(texts(&mut main.raw().await, none).await.is_empty());
    win(&mut attached.store(), &registration("a"), LONG).await;
    let statements = Statements::new(Dialect::Sqlite, &tables);
    let read = statements.read(&registration("a").namespace).sql.replace("?1", "ns");
    assert_eq!(texts(&mut raw, &format!("SELECT leader_id FROM ({read})")).await, ["a"]);
}

/// The table of versions stands for the others; the error says so if those were dropped.
async fn tables_that_were_dropped_are_missed(place: InFile) {
    execute(&mut place.raw().await, "DROP TABLE election_candidate").await;
    let error = place.store().ensure_schema().await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal);
    assert!(message(&error).contains("election_schema"), "{}", message(&error));
    execute(&mut place.raw().await, "DROP TABLE election_schema").await;
    execute(&mut place.raw().await, "DROP TABLE election_leader").await;
    place.store().ensure_schema().await.unwrap();
    assert_usable(&place).await;
}

/// A creation of tables that was given up must not go on in later calls.
async fn a_making_that_was_given_up_leaves_no_transaction(_: OnNothing) {
    let place = InFile::empty();
    let mut raw = place.raw().await;
    execute(&mut raw, "CREATE TABLE invoices (id INTEGER)").await;
    execute(&mut raw, "BEGIN IMMEDIATE").await;
    let mut store = place.store();
    let moment = Duration::from_millis(300);
    let making = timeout::<Tokio, _>(moment, store.ensure_schema()).await;
    assert!(making.is_none(), "somebody else writes");
    execute(&mut raw, "ROLLBACK").await;
    store.ensure_schema().await.unwrap();
    execute(&mut raw, "BEGIN IMMEDIATE").await;
    execute(&mut raw, "ROLLBACK").await;
    win(&mut place.store(), &registration("a"), LONG).await;
}

tests! {
    made_twice_is_made_once: by_itself;
    eight_tasks_make_it_at_once: by_itself;
    eight_processes_make_it_at_once: by_itself;
    an_applications_database_stays_as_it_is: by_itself;
    the_script_makes_the_same_tables: by_itself;
    tables_of_other_names_are_other_elections: in_file;
    a_migration_that_fails_leaves_nothing_behind: by_itself;
    a_schema_that_the_elector_cannot_see_is_refused: in_file;
    the_statements_reach_an_attached_database: by_itself;
    tables_that_were_dropped_are_missed: in_file;
    a_making_that_was_given_up_leaves_no_transaction: by_itself;
}

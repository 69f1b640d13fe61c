//! The tables: created once, by the first process, beside anything that exists already.

use crate::support::*;
use election_driver::core::sql::{Dialect, Schema, Statements, Tables};
use election_tokio::SqliteStore;
use std::{collections::BTreeSet, process::Command};
use tokio::task::JoinSet;

const MINE: &str = "SELECT sql FROM sqlite_schema WHERE name LIKE 'election%' ORDER BY name";
const MODE: &str = "PRAGMA journal_mode";

async fn assert_usable(place: &Place) {
    let mut raw = place.raw().await;
    assert_eq!(texts(&mut raw, MODE).await, ["wal"], "a new database reads while it is written");
    assert_eq!(texts(&mut raw, "SELECT CAST(version AS TEXT) FROM election_schema").await, ["1"]);
    assert_eq!(texts(&mut raw, "PRAGMA integrity_check").await, ["ok"]);
    win(&mut place.store(), &registration("a"), LONG).await;
}

#[tokio::test]
async fn made_twice_is_made_once() {
    let place = Place::empty();
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_tasks_make_it_at_once() {
    patiently(async {
        for round in 0..10 {
            let place = Place::empty();
            if round % 2 == 1 {
                // Tables of an older version: all processes read them, and one may upgrade them.
                let versions = Schema::new(Dialect::Sqlite, &Tables::default());
                let mut raw = place.raw().await;
                execute(&mut raw, "PRAGMA journal_mode = wal").await;
                execute(&mut raw, versions.create_version_table().sql).await;
            }
            let start = std::sync::Arc::new(tokio::sync::Barrier::new(8));
            let mut makers = JoinSet::new();
            for _ in 0..8 {
                let (mut store, start) = (place.store(), start.clone());
                makers.spawn(async move {
                    start.wait().await;
                    store.ensure_schema().await
                });
            }
            for made in makers.join_all().await {
                made.unwrap();
            }
            assert_usable(&place).await;
        }
    })
    .await;
}

const FILE: &str = "ELECTION_TEST_SCHEMA_FILE";

/// The child's part of the test below; it does nothing unless that test started it.
#[tokio::test]
async fn eight_processes_child() {
    if let Some(file) = std::env::var_os(FILE) {
        SqliteStore::open(file).unwrap().ensure_schema().await.unwrap();
    }
}

#[tokio::test]
async fn eight_processes_make_it_at_once() {
    for _ in 0..3 {
        let place = Place::empty();
        let maker = || {
            let program = std::env::current_exe().unwrap();
            let mut command = Command::new(program);
            command.args(["--exact", "schema::eight_processes_child"]).env(FILE, &place.file);
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        };
        let makers: Vec<_> = (0..8).map(|_| maker()).collect();
        for maker in makers {
            let output = maker.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
        }
        assert_usable(&place).await;
    }
}

#[tokio::test]
async fn newer_tables_are_refused_and_left_alone() {
    let place = Place::new().await;
    let mut raw = place.raw().await;
    execute(&mut raw, "INSERT INTO election_schema VALUES (2, 0)").await;
    let error = place.store().ensure_schema().await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal);
    let text = message(&error);
    assert!(text.contains("version 2") && text.contains("update the program"), "{text}");
    let versions = "SELECT CAST(version AS TEXT) FROM election_schema ORDER BY version";
    assert_eq!(texts(&mut raw, versions).await, ["1", "2"]);
    // The refusal leaves no transaction behind.
    execute(&mut raw, "BEGIN IMMEDIATE").await;
    execute(&mut raw, "ROLLBACK").await;
}

/// An application's own database, in the mode the application chose.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_applications_database_stays_as_it_is() {
    patiently(async {
        for mode in ["delete", "truncate", "wal"] {
            let place = Place::empty();
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
    })
    .await;
}

/// The script for a migration tool makes what `ensure_schema` makes.
#[tokio::test]
async fn the_script_makes_the_same_tables() {
    let (place, scripted) = (Place::new().await, Place::empty());
    let mut raw = scripted.raw().await;
    let script = Schema::new(Dialect::Sqlite, &Tables::default()).script();
    sqlx::raw_sql(sqlx::AssertSqlSafe(script)).execute(&mut raw).await.unwrap();
    assert_eq!(texts(&mut raw, MINE).await, texts(&mut place.raw().await, MINE).await);
    scripted.store().ensure_schema().await.unwrap();
    win(&mut scripted.store(), &registration("a"), LONG).await;
}

#[tokio::test]
async fn tables_of_other_names_are_other_elections() {
    let place = Place::new().await;
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
#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_behind() {
    let place = Place::empty();
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
#[tokio::test]
async fn a_schema_that_the_elector_cannot_see_is_refused() {
    let place = Place::new().await;
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
#[tokio::test]
async fn the_statements_reach_an_attached_database() {
    let (main, attached) = (Place::empty(), Place::empty());
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
#[tokio::test]
async fn tables_that_were_dropped_are_missed() {
    let place = Place::new().await;
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
#[tokio::test]
async fn a_making_that_was_given_up_leaves_no_transaction() {
    let place = Place::empty();
    let mut raw = place.raw().await;
    execute(&mut raw, "CREATE TABLE invoices (id INTEGER)").await;
    execute(&mut raw, "BEGIN IMMEDIATE").await;
    let mut store = place.store();
    let moment = std::time::Duration::from_millis(300);
    let making = tokio::time::timeout(moment, store.ensure_schema()).await;
    assert!(making.is_err(), "somebody else writes");
    execute(&mut raw, "ROLLBACK").await;
    store.ensure_schema().await.unwrap();
    execute(&mut raw, "BEGIN IMMEDIATE").await;
    execute(&mut raw, "ROLLBACK").await;
    win(&mut place.store(), &registration("a"), LONG).await;
}

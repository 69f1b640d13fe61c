//! Files that cannot be a database, or are none: a typed error that names the remedy.

use crate::on::OnNothing;
use crate::places::InFile;
use election_driver::{SqliteStore, StoreError, conformance::sqlite::*};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use std::path::Path;

#[track_caller]
fn assert_says(error: &StoreError, kind: Failure, words: &[&str]) {
    let text = message(error);
    assert_eq!(error.kind, kind, "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}

async fn what_cannot_be_shared_is_refused_at_once(_: OnNothing) {
    let place = InFile::empty();
    let open = |path: &Path| SqliteStore::open(path).map(|_| ()).unwrap_err();
    for memory in [":memory:", "file::memory:", "file:x?mode=memory&cache=shared"] {
        assert_says(&open(Path::new(memory)), Failure::Fatal, &["in-memory", "use a file"]);
    }
    assert_says(&open(Path::new("")), Failure::Fatal, &["no database file", "sqlite:PATH"]);
    let directory = place.directory().to_str().unwrap();
    assert_says(&open(place.directory()), Failure::Fatal, &[directory, "name a file in it"]);
    for uri in ["file:e.db", "file:///tmp/e.db"] {
        assert_says(&open(Path::new(uri)), Failure::Fatal, &["URI", "path"]);
    }
    assert_says(&open(Path::new("a\0b.db")), Failure::Fatal, &["NUL"]);
    #[cfg(unix)]
    {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
        let path = Path::new(OsStr::from_bytes(b"\xff.db"));
        assert_says(&open(path), Failure::Fatal, &["UTF-8"]);
    }
}

async fn an_applications_pool_names_the_file(place: InFile) {
    let pool = |options| SqlitePoolOptions::new().connect_lazy_with(options);
    let options = SqliteConnectOptions::new().filename(&place.file);
    let mut store = SqliteStore::from_pool(&pool(options)).unwrap();
    assert_eq!(store.path(), place.file);
    win(&mut store, &registration("a"), LONG).await;
    for memory in ["sqlite::memory:", "sqlite:x.db?mode=memory"] {
        let options = memory.parse::<SqliteConnectOptions>().unwrap();
        let error = SqliteStore::from_pool(&pool(options)).map(|_| ()).unwrap_err();
        assert_says(&error, Failure::Fatal, &["in-memory", "use a file"]);
    }
}

async fn a_missing_directory_is_named(_: OnNothing) {
    let place = InFile::empty();
    let file = place.directory().join("missing").join("e.db");
    let mut store = SqliteStore::open(&file).unwrap();
    let path = file.to_str().unwrap();
    let error = store.ensure_schema().await.unwrap_err();
    assert_says(&error, Failure::Fatal, &[path, "its directory does not exist"]);
    let error = store.leader(&Namespace::default()).await.unwrap_err();
    assert_says(&error, Failure::Fatal, &[path, "its directory does not exist"]);
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    store.ensure_schema().await.unwrap();
}

/// Only `ensure_schema` creates files: a mistyped path must not become a new election.
async fn a_missing_file_is_not_made_by_an_elector(_: OnNothing) {
    let place = InFile::empty();
    let elector = place.start("a", SHORT);
    let text = complaint(&elector, Failure::Fatal).await;
    assert!(
        text.contains(place.file.to_str().unwrap()) && text.contains("ensure_schema"),
        "{text}"
    );
    assert!(!place.file.exists());
    assert!(!elector.status().reached);
    place.store().ensure_schema().await.unwrap();
    elector.elected().await.unwrap();
    let status = elector.status();
    assert!(status.reached && status.error.is_none(), "mended: {status:?}");
    elector.shutdown().await;
}

async fn missing_tables_are_named_and_waited_for(_: OnNothing) {
    let place = InFile::empty();
    execute(&mut place.raw().await, "CREATE TABLE other (x)").await;
    let mut store = place.store();
    let words = [place.file.to_str().unwrap(), "tables are missing", "ensure_schema"];
    let namespace = Namespace::default();
    let error = store.leader(&namespace).await.unwrap_err();
    assert_says(&error, Failure::Fatal, &words);
    let error = store.list_candidates(&namespace).await.unwrap_err();
    assert_says(&error, Failure::Fatal, &words);
    let error = store.request_resign(&namespace, Epoch::new(1)).await.unwrap_err();
    assert_says(&error, Failure::Fatal, &words);

    let elector = place.start("a", SHORT);
    let text = complaint(&elector, Failure::Fatal).await;
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
    store.ensure_schema().await.unwrap();
    elector.elected().await.unwrap();
    elector.shutdown().await;
}

async fn a_file_that_is_no_database_is_left_alone(_: OnNothing) {
    let place = InFile::empty();
    let precious = "my thesis, the only copy\n".repeat(400);
    std::fs::write(&place.file, &precious).unwrap();
    let path = place.file.to_str().unwrap();
    let error = place.store().ensure_schema().await.unwrap_err();
    assert_says(
        &error,
        Failure::Fatal,
        &[path, "not a SQLite database", "another file", "restore"],
    );
    let error = place.store().leader(&Namespace::default()).await.unwrap_err();
    assert_says(
        &error,
        Failure::Fatal,
        &[path, "not a SQLite database", "another file", "restore"],
    );
    let elector = place.start("a", SHORT);
    assert!(complaint(&elector, Failure::Fatal).await.contains("not a SQLite database"));
    elector.shutdown().await;
    assert_eq!(std::fs::read_to_string(&place.file).unwrap(), precious);
}

/// Tables of the right name and the wrong shape.
async fn foreign_tables_are_told_apart(_: OnNothing) {
    let place = InFile::empty();
    execute(&mut place.raw().await, "CREATE TABLE election_leader (name TEXT)").await;
    let error = place.store().leader(&Namespace::default()).await.unwrap_err();
    assert_says(&error, Failure::Fatal, &["another program"]);
}

/// A row written by hand is an error with the column's number, not a panic.
async fn a_row_that_nobody_could_have_written_is_an_error(place: InFile) {
    win(&mut place.store(), &registration("a"), LONG).await;
    let mut raw = place.raw().await;
    execute(&mut raw, "UPDATE election_leader SET incarnation = 'not a uuid'").await;
    let error = place.store().leader(&Namespace::new("e").unwrap()).await.unwrap_err();
    assert_says(&error, Failure::Fatal, &["column 2", "UUID", "by hand"]);
    let vacant = "UPDATE election_leader SET leader_id = NULL, incarnation = NULL, epoch = -5";
    execute(&mut raw, vacant).await;
    let error = place.store().leader(&Namespace::new("e").unwrap()).await.unwrap_err();
    assert_says(&error, Failure::Fatal, &["-5", "term above zero"]);
}

tests! {
    what_cannot_be_shared_is_refused_at_once: by_itself;
    an_applications_pool_names_the_file: in_file;
    a_missing_directory_is_named: by_itself;
    a_missing_file_is_not_made_by_an_elector: by_itself;
    missing_tables_are_named_and_waited_for: by_itself;
    a_file_that_is_no_database_is_left_alone: by_itself;
    foreign_tables_are_told_apart: by_itself;
    a_row_that_nobody_could_have_written_is_an_error: in_file;
}

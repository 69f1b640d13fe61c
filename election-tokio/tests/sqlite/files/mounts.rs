//! Disks that are read-only or full: real ones, mounted where no other process sees them.
//!
//! Permission bits do not bind root, so these checks run a second time as a child process in a
//! mount namespace of its own (`unshare` from util-linux; as root or where users may make
//! namespaces). Where that is impossible they fail: a skipped check proves nothing.

use super::again::{again, assert_passed};
use crate::on::OnNothing;
use election_driver::{
    SqliteStore,
    conformance::{sqlite::*, tasks::End},
};
use election_tokio::Tokio;
use futures_lite::future::yield_now;
use std::{
    env, fs,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, symlink},
    path::{Path, PathBuf},
    thread,
};

const DIRECTORY: &str = "ELECTION_TEST_MOUNTED";

/// In the check: runs it again in a child that has `$DIR` mounted by `script`, after `prepare` was
/// done there. In the child: runs `body`.
async fn mounted(script: &str, prepare: impl AsyncFnOnce(&Path), body: impl AsyncFnOnce(PathBuf)) {
    if let Some(directory) = env::var_os(DIRECTORY) {
        return body(directory.into()).await;
    }
    let directory = tempfile::tempdir().unwrap();
    prepare(directory.path()).await;
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let script = format!("DIR=\"${DIRECTORY}\"; {script}; exec \"$@\"");
    let unshare = ["unshare", if root { "-m" } else { "-Urm" }, "sh", "-euc", &script, "sh"];
    let mut child = again(&unshare);
    child.env(DIRECTORY, directory.path());
    let (say, said) = async_channel::bounded(1);
    thread::spawn(move || say.try_send(child.output()));
    let output = said.recv().await.unwrap().expect("`unshare`, of the package util-linux");
    assert_passed(&output, "needs root, or user namespaces");
}

const READ_ONLY: &str = "mount --bind \"$DIR\" \"$DIR\"; mount -o remount,bind,ro \"$DIR\"";

/// Makes `e.db` with the tables, and a leader whose lease will soon be over.
async fn database(directory: &Path, mode: &str) {
    let file = directory.join("e.db");
    let mut raw = raw(&file).await;
    execute(&mut raw, &format!("PRAGMA journal_mode = {mode}")).await;
    execute(&mut raw, "CREATE TABLE application (x)").await;
    SqliteStore::open(&file).unwrap().ensure_schema().await.unwrap();
    drop(raw);
    // Threads close connections, and with the last of them the log goes, which could be read without writing.
    while directory.join("e.db-wal").exists() {
        yield_now().await;
    }
}

/// Names the file, and what would have to be granted.
#[track_caller]
fn assert_told(text: &str, file: &Path) {
    assert!(text.contains("writ") && text.contains(file.to_str().unwrap()), "{text}");
}

async fn assert_cannot_be_made(file: &Path) {
    let error = SqliteStore::open(file).unwrap().ensure_schema().await.unwrap_err();
    assert_eq!(error.kind, Failure::Fatal, "{}", message(&error));
    assert_told(&message(&error), file);
}

/// Nobody is elected, every process is told why, and nothing panics.
async fn assert_elects_nobody(file: &Path) {
    let elector = elector::<Tokio, _>(SqliteStore::open(file).unwrap(), "a", SHORT).start();
    assert_told(&complaint(&elector, Failure::Fatal).await, file);
    assert!(!elector.is_leader());
    elector.shutdown().await;
}

async fn a_directory_that_is_read_only(_: OnNothing) {
    mounted(
        READ_ONLY,
        async |directory| database(directory, "delete").await,
        async |directory| {
            let file = directory.join("e.db");
            assert_elects_nobody(&file).await;
            assert_cannot_be_made(&directory.join("new.db")).await;
            // Reading works all the same, and tables that are there need not be made.
            let mut store = SqliteStore::open(&file).unwrap();
            assert_eq!(store.leader(&Namespace::default()).await.unwrap(), Row::vacant());
            store.ensure_schema().await.unwrap();
        },
    )
    .await;
}

/// A write-ahead log cannot even be read without writing beside it.
async fn a_read_only_directory_with_a_write_ahead_log(_: OnNothing) {
    mounted(
        READ_ONLY,
        async |directory| database(directory, "wal").await,
        async |directory| {
            assert_elects_nobody(&directory.join("e.db")).await;
            assert_cannot_be_made(&directory.join("e.db")).await;
        },
    )
    .await;
}

/// What `docker run -v e.db:/e.db` does: the file has another path, and no directory in common.
async fn a_file_that_is_mounted_by_itself(_: OnNothing) {
    mounted(
        "mkdir \"$DIR/c\"; touch \"$DIR/c/e.db\"; mount --bind \"$DIR/e.db\" \"$DIR/c/e.db\"",
        async |directory| database(directory, "wal").await,
        async |directory| {
            let alone = directory.join("c/e.db");
            let link = directory.join("link.db");
            symlink(&alone, &link).unwrap();
            for file in [&alone, &link] {
                let error = SqliteStore::open(file).map(|_| ()).unwrap_err();
                assert_eq!(error.kind, Failure::Fatal);
                let text = message(&error);
                assert_told(&text, &alone);
                assert!(text.contains("mount the directory, not the file"), "{text}");
            }
            // Where it comes from nothing is wrong with it.
            let a =
                elector::<Tokio, _>(SqliteStore::open(directory.join("e.db")).unwrap(), "a", SHORT)
                    .start();
            a.elected().await.unwrap();
            a.shutdown().await;
        },
    )
    .await;
}

/// Mounted with its directory it is one election, by every path.
async fn a_directory_that_is_mounted_twice(_: OnNothing) {
    mounted(
        "mkdir \"$DIR/e\" \"$DIR/c\"; mount --bind \"$DIR/e\" \"$DIR/c\"",
        async |_| {},
        async |directory| {
            let store = |path: &str| SqliteStore::open(directory.join(path)).unwrap();
            store("e/e.db").ensure_schema().await.unwrap();
            let a = elector::<Tokio, _>(store("e/e.db"), "a", LONG).start();
            let epoch = a.elected().await.unwrap().epoch();
            let b = elector::<Tokio, _>(store("c/e.db"), "b", LONG).start();
            assert_eq!(followed(&b).await, epoch);
            a.shutdown().await;
            assert!(b.elected().await.unwrap().epoch() > epoch);
            b.shutdown().await;
        },
    )
    .await;
}

/// Fills what is left of a disk, to the last byte.
fn fill(ballast: &Path) {
    let mut file = fs::File::options().create(true).append(true).open(ballast).unwrap();
    for size in [64 * 1024, 4096, 1] {
        while file.write(&vec![0; size]).is_ok_and(|written| written > 0) {}
    }
}

const TINY: &str = "mount -t tmpfs -o size=1m tmpfs \"$DIR\"";

const TINIEST: &str = "mount -t tmpfs -o size=16k tmpfs \"$DIR\"";

/// There is room for the file, and none for what lies beside it.
async fn a_disk_without_room_for_a_database(_: OnNothing) {
    mounted(
        TINIEST,
        async |_| {},
        async |directory| {
            let mut store = SqliteStore::open(directory.join("e.db")).unwrap();
            let error = store.ensure_schema().await.unwrap_err();
            assert_eq!(error.kind, Failure::Fatal, "{}", message(&error));
            assert!(message(&error).contains("disk is full"), "{}", message(&error));
        },
    )
    .await;
}

/// Renewals fail; the leader steps down in time and says why; with space there is a leader again.
async fn a_full_disk(_: OnNothing) {
    mounted(
        TINY,
        async |_| {},
        async |directory| {
            let (file, ballast) = (directory.join("e.db"), directory.join("ballast"));
            let mut store = SqliteStore::open(&file).unwrap();
            store.ensure_schema().await.unwrap();
            let journal = Journal::default();
            let a = elector::<Tokio, _>(store.clone(), "a", SHORT).start();
            let mut changes = a.changes();
            let works = lead(&a, &journal);
            let epoch = journal.until(|entries| entries.len() == 1).await[0].epoch;
            let b = elector::<Tokio, _>(store.clone(), "b", SHORT).start();
            let b_works = lead(&b, &journal);
            assert_eq!(followed(&b).await, epoch);

            // SQLite frees a little now and then, for instance the log of a closed connection.
            let filling = {
                let ballast = ballast.clone();
                spawn::<Tokio, ()>(async move {
                    loop {
                        fill(&ballast);
                        yield_now().await;
                    }
                })
            };
            let stepped_down = journal.until(|entries| entries[0].to.is_some()).await;
            assert_eq!(stepped_down.len(), 1, "another led before: {stepped_down:?}");
            assert_eq!(next_loss(&mut changes).await, Loss::Expired);
            for handle in [&a, &b] {
                let text = complaint(handle, Failure::Fatal).await;
                assert!(text.contains("disk is full; free some space"), "{text}");
            }
            // So does the making of tables, in a new database and in one that an application has.
            let mut new = SqliteStore::open(directory.join("new.db")).unwrap();
            let error = new.ensure_schema().await.unwrap_err();
            assert_eq!(error.kind, Failure::Fatal, "{}", message(&error));
            assert!(message(&error).contains("disk is full"), "{}", message(&error));

            filling.abort();
            assert!(matches!(filling.outcome().await, Err(End::Aborted)));
            fs::remove_file(&ballast).unwrap();
            journal.until(|entries| entries.len() == 2).await;
            journal.assert_one_at_a_time();
            assert!(a.is_leader() != b.is_leader());
            a.shutdown().await;
            b.shutdown().await;
            works.await.unwrap();
            b_works.await.unwrap();
            journal.assert_one_at_a_time();
        },
    )
    .await;
}

tests! {
    a_directory_that_is_read_only: by_itself;
    a_read_only_directory_with_a_write_ahead_log: by_itself;
    a_file_that_is_mounted_by_itself: by_itself;
    a_directory_that_is_mounted_twice: by_itself;
    a_full_disk: by_itself;
    a_disk_without_room_for_a_database: by_itself;
}

//! A file that is reached by more than one path, and a path that leads to another file from one
//! moment to the next. (`mounts` has the paths that mounts make.)

use crate::on::OnNothing;
use crate::places::InFile;
use election_driver::{SqliteStore, conformance::sqlite::*};
use election_tokio::Tokio;
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
    time::Duration,
};

const ALONE: [&str; 3] = ["hard links", "write-ahead log", "remove the other links"];

#[track_caller]
fn assert_refused(text: &str, file: &Path) {
    assert!(text.contains(file.to_str().unwrap()), "{text}");
    for word in ALONE {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}

async fn a_file_of_two_names_is_refused_under_both(place: InFile) {
    let store = place.store();
    let other = place.directory().join("other.db");
    fs::hard_link(&place.file, &other).unwrap();
    for file in [&place.file, &other] {
        let error = SqliteStore::open(file).map(|_| ()).unwrap_err();
        assert_eq!(error.kind, Failure::Fatal);
        assert_refused(&message(&error), file);
    }
    // A store that was opened before is no better off.
    let error = store.clone().leader(&Namespace::default()).await.unwrap_err();
    assert_refused(&message(&error), &place.file);
    fs::remove_file(&other).unwrap();
    store.clone().leader(&Namespace::default()).await.unwrap();
}

/// No elector uses the other name, for they all refuse it. But if the first name is removed, the
/// other becomes the only one, and the log stays behind.
async fn a_leader_lets_go_of_a_file_that_gets_a_second_name(place: InFile) {
    let a = place.start("a", SHORT);
    let mut changes = a.changes();
    a.elected().await.unwrap();
    let other = place.directory().join("other.db");
    fs::hard_link(&place.file, &other).unwrap();
    assert_eq!(next_loss(&mut changes).await, Loss::Expired);
    assert_refused(&complaint(&a, Failure::Fatal).await, &place.file);
    fs::remove_file(&other).unwrap();
    a.elected().await.unwrap();
    a.shutdown().await;
}

/// SQLite follows links before it names its log.
async fn a_symbolic_link_leads_into_the_same_election(_: OnNothing) {
    let place = InFile::empty();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.db");
    symlink(&place.file, &link).unwrap();
    // Through the link, which leads nowhere yet.
    SqliteStore::open(&link).unwrap().ensure_schema().await.unwrap();
    assert_eq!(fs::metadata(&place.file).unwrap().mode() & 0o777, 0o600);
    let a = place.start("a", LONG);
    let epoch = a.elected().await.unwrap().epoch();
    let b = elector::<Tokio, _>(SqliteStore::open(&link).unwrap(), "b", LONG).start();
    assert_eq!(followed(&b).await, epoch);
    // It is woken too: no poll comes for minutes.
    a.shutdown().await;
    assert!(b.elected().await.unwrap().epoch() > epoch);
    b.shutdown().await;
    let beside = fs::read_dir(elsewhere.path()).unwrap().count();
    assert_eq!(beside, 1, "no log beside the link");
}

async fn a_link_that_is_turned_elsewhere_is_another_database(_: OnNothing) {
    let (one, two) = (InFile::new().await, InFile::new().await);
    let link = one.directory().join("link.db");
    symlink(&one.file, &link).unwrap();
    let mut store = SqliteStore::open(&link).unwrap();
    let epoch = win(&mut store, &registration("a"), LONG).await;
    assert_eq!(one.row().await.epoch, epoch);
    let next = one.directory().join("next.db");
    symlink(&two.file, &next).unwrap();
    fs::rename(&next, &link).unwrap();
    win(&mut store, &registration("b"), LONG).await;
    assert!(two.row().await.live_holder().is_some(), "won where the link leads now");
}

/// The file is replaced at any moment while it is being opened: a connection that is kept leads to
/// where the path leads, or none is kept.
async fn a_file_that_is_exchanged_while_it_is_opened_is_not_mistaken(_: OnNothing) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let (one, two) = (InFile::new().await, InFile::new().await);
    let mut epochs = Vec::new();
    for place in [&one, &two] {
        let mut raw = place.raw().await;
        execute(&mut raw, "PRAGMA journal_mode = DELETE").await;
        drop(raw);
        epochs.push(win(&mut place.store(), &registration("a"), LONG).await);
    }
    assert_ne!(epochs[0], epochs[1], "told apart by their milliseconds");
    let election = Namespace::new("e").unwrap();
    for round in 0..200_u32 {
        let mut store = one.store();
        let (here, there) = (one.file.clone(), two.file.clone());
        let exchange = std::thread::spawn(move || {
            let wait = Duration::from_micros(u64::from(round % 40) * 50);
            let began = std::time::Instant::now();
            while began.elapsed() < wait {
                std::hint::spin_loop();
            }
            renameat_with(CWD, &here, CWD, &there, RenameFlags::EXCHANGE).unwrap();
        });
        let _ = store.leader(&election).await;
        exchange.join().unwrap();
        epochs.swap(0, 1);
        let seen = store.leader(&election).await.unwrap().epoch;
        assert_eq!(seen, epochs[0], "round {round}: read from the other file");
    }
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

/// Whatever the umask: cargo-nextest runs every test in a process of its own, and here it is one
/// that removes no permission.
async fn what_is_made_is_its_owners_alone(_: OnNothing) {
    let before = rustix::process::umask(rustix::fs::Mode::empty());
    let place = InFile::new().await;
    let who = registration("a");
    let mut store = place.store();
    win(&mut store, &who, LONG).await;
    rustix::process::umask(before);
    for suffix in ["", "-wal", "-shm"] {
        let file = place.directory().join(format!("e.db{suffix}"));
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
}

async fn what_exists_keeps_its_mode(_: OnNothing) {
    let place = InFile::empty();
    for wanted in [0o660, 0o644] {
        let file = place.directory().join(format!("{wanted:o}.db"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(wanted)).unwrap();
        let mut store = SqliteStore::open(&file).unwrap();
        store.ensure_schema().await.unwrap();
        win(&mut store, &registration("a"), LONG).await;
        for suffix in ["", "-wal", "-shm"] {
            let file = place.directory().join(format!("{wanted:o}.db{suffix}"));
            assert_eq!(mode(&file), wanted, "{file:?}");
        }
    }
}

tests! {
    a_file_of_two_names_is_refused_under_both: in_file;
    a_leader_lets_go_of_a_file_that_gets_a_second_name: in_file;
    a_symbolic_link_leads_into_the_same_election: by_itself;
    a_link_that_is_turned_elsewhere_is_another_database: by_itself;
    a_file_that_is_exchanged_while_it_is_opened_is_not_mistaken: by_itself;
    what_is_made_is_its_owners_alone: by_itself;
    what_exists_keeps_its_mode: by_itself;
}

use super::*;
use election_core::{
    Epoch, Incarnation, NodeId,
    quorum::{Fingerprint, Maintenance, Position},
};
use rustix::fs::{CWD, mknodat};
use std::{fs::OpenOptions, os::unix::fs::PermissionsExt as _};
use uuid::Uuid;

fn open(path: &Path) -> Result<BallotFile, BallotError> {
    BallotFile::open(path, NodeId::new("n1").unwrap())
}

fn ballot(promised: u64) -> Ballot {
    Ballot {
        promised: Epoch::new(promised),
        voted_for: Some(NodeId::new("n2").unwrap()),
        incarnation: Incarnation::new(Uuid::from_u128(7)),
        members: Fingerprint::new(9),
        lists: crate::quorum::fake::members("a").first_lists(),
        floor: Position::default(),
        maintenance: Maintenance::default(),
        pause: None,
    }
}

#[test]
fn what_was_saved_is_read_again() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("state").join("ballot");
    let file = open(&path).unwrap();
    assert_eq!(file.read().0, Restored::Nothing);
    for promised in [3, 4] {
        file.save(&ballot(promised)).unwrap();
        assert_eq!(file.read().0, Restored::Ballot(ballot(promised)));
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert!(!path.with_file_name("ballot.new").exists(), "renamed");
    drop(file);
    assert_eq!(open(&path).unwrap().read().0, Restored::Ballot(ballot(4)));
}

#[test]
fn a_file_has_one_keeper() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ballot");
    let file = open(&path).unwrap();
    assert!(matches!(open(&path), Err(BallotError::InUse(_))));
    drop(file);
    open(&path).unwrap();
}

#[test]
fn a_torn_file_is_never_a_fresh_start() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ballot");
    let file = open(&path).unwrap();
    file.save(&ballot(3)).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let (restored, why) = file.read();
        assert_eq!(restored, Restored::Unusable, "{length} bytes");
        assert!(why.unwrap().to_string().contains("must not vote"));
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(file.read().0, Restored::Unusable, "a directory");
    drop(file);
    assert!(matches!(open(&path), Err(BallotError::NotAFile { .. })));
}

#[test]
fn what_a_crash_has_left_behind_is_overwritten() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ballot");
    let file = open(&path).unwrap();
    fs::write(path.with_file_name("ballot.new"), [0; 4096]).unwrap();
    file.save(&ballot(5)).unwrap();
    assert_eq!(file.read().0, Restored::Ballot(ballot(5)));
}

#[test]
fn obstacles_at_the_ballots_path_are_refused_at_once() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ballot");
    let file = open(&path).unwrap();
    file.save(&ballot(3)).unwrap();
    let new = path.with_file_name("ballot.new");
    let target = place.path().join("target");
    fs::write(&target, "another's").unwrap();
    std::os::unix::fs::symlink(&target, &new).unwrap();
    let said = file.save(&ballot(4)).unwrap_err().to_string();
    assert_eq!(said, "ballot.new beside it is not a regular file; remove it");
    assert_eq!(fs::read(&target).unwrap(), b"another's");
    fs::remove_file(&new).unwrap();
    fs::remove_file(&path).unwrap();
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(file.read().0, Restored::Unusable, "a pipe that nobody writes to");
}

#[test]
fn what_is_no_regular_file_is_refused_at_the_start() {
    // Behind a link, the ballot itself is a file like any other.
    for (suffix, may_link) in [("", true), (".lock", false), (".new", false)] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ballot");
        let there = place.path().join(format!("ballot{suffix}"));
        let said = |what: &str| {
            let error = open(&path).err().map(|error| error.to_string());
            let words = format!("ballot{suffix}: it is {what}, not a regular file; remove it");
            assert!(error.as_ref().is_some_and(|it| it.contains(&words)), "{error:?}");
        };
        for (kind, what) in [(FileType::Fifo, "a pipe"), (FileType::Socket, "a socket")] {
            mknodat(CWD, &there, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
            said(what);
            fs::remove_file(&there).unwrap();
        }
        fs::create_dir(&there).unwrap();
        said("a directory");
        fs::remove_dir(&there).unwrap();
        if !may_link {
            std::os::unix::fs::symlink(place.path().join("elsewhere"), &there).unwrap();
            said("a link");
            assert!(!place.path().join("elsewhere").exists());
            fs::remove_file(&there).unwrap();
        }
        open(&path).unwrap();
    }
    assert!(matches!(
        open(Path::new("/dev/null")),
        Err(BallotError::NotAFile { what: "a device", .. })
    ));
}

/// A pipe takes every byte and cannot be synced.
#[test]
fn what_cannot_be_made_durable_is_not_saved() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ballot");
    let file = open(&path).unwrap();
    file.save(&ballot(3)).unwrap();
    let pipe = path.with_file_name("ballot.new");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    file.save(&ballot(4)).unwrap_err();
    assert_eq!(file.read().0, Restored::Ballot(ballot(3)));
    fs::remove_file(&pipe).unwrap();
    file.save(&ballot(5)).unwrap();
    assert_eq!(file.read().0, Restored::Ballot(ballot(5)));
}

#[test]
fn an_unusable_path_says_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    let (link, target) = (place.path().join("link"), place.path().join("target"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert!(open(&link).is_err(), "a link that leads nowhere");
    open(&target).unwrap().save(&ballot(3)).unwrap();
    let behind = open(&link).unwrap();
    assert!(matches!(open(&target), Err(BallotError::InUse(_))), "one lock");
    behind.save(&ballot(4)).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink(), "the link stays");
    assert!(matches!(open(place.path()), Err(BallotError::NotAFile { .. })));
    let missing = place.path().join("no").join("such").join("ballot");
    let error = open(&missing).err().unwrap().to_string();
    assert!(error.contains("cannot create the directory"), "{error}");
    assert!(matches!(open(Path::new("")), Err(BallotError::NoFile(_))));
}

/// A directory that is moved takes its ballot and its lock along; what is put in its place gets
/// neither.
#[test]
fn a_directory_that_was_replaced_gets_no_ballot() {
    let place = tempfile::tempdir().unwrap();
    let (state, away) = (place.path().join("state"), place.path().join("away"));
    let path = state.join("ballot");
    let file = open(&path).unwrap();
    file.save(&ballot(3)).unwrap();
    fs::rename(&state, &away).unwrap();
    let gone = file.save(&ballot(4)).unwrap_err().to_string();
    assert!(gone.contains("put it back") && gone.contains("state/ballot"), "{gone}");
    fs::create_dir(&state).unwrap();
    let other = BallotFile::open(&path, NodeId::new("n2").unwrap()).unwrap();
    other.save(&ballot(9)).unwrap();
    file.save(&ballot(5)).unwrap_err();
    assert_eq!(other.read().0, Restored::Ballot(ballot(9)), "not overwritten");
    assert_eq!(file.read().0, Restored::Ballot(ballot(5)), "nor read");
    assert!(matches!(open(&away.join("ballot")), Err(BallotError::InUse(_))));
    drop(other);
    fs::remove_dir_all(&state).unwrap();
    fs::rename(&away, &state).unwrap();
    file.save(&ballot(6)).unwrap();
    drop(file);
    assert_eq!(open(&path).unwrap().read().0, Restored::Ballot(ballot(6)));
}

#[test]
fn a_lock_that_was_removed_is_missed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ballot");
    let file = open(&path).unwrap();
    file.save(&ballot(3)).unwrap();
    fs::remove_file(path.with_file_name("ballot.lock")).unwrap();
    let error = file.save(&ballot(4)).unwrap_err().to_string();
    assert!(error.contains("ballot.lock") && error.contains("restart this node"), "{error}");
    let second = open(&path).unwrap();
    file.save(&ballot(5)).unwrap_err();
    second.save(&ballot(6)).unwrap();
}

#[test]
fn a_ballot_that_was_copied_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (path, copy) = (place.path().join("ballot"), place.path().join("copy"));
    open(&path).unwrap().save(&ballot(3)).unwrap();
    fs::copy(&path, &copy).unwrap();
    let other = BallotFile::open(&copy, NodeId::new("n2").unwrap()).unwrap();
    let (restored, why) = other.read();
    assert_eq!(restored, Restored::Unusable);
    let why = why.unwrap().to_string();
    assert!(why.contains("belongs to n1, and this node is n2"), "{why}");
    assert_eq!(open(&path).unwrap().read().0, Restored::Ballot(ballot(3)));
}

//! The ballot on a disk, as [`record`](election_core::quorum::record) says that it has to be kept.

use super::disk;
use election_core::{
    NodeId,
    quorum::{
        Ballot, Restored,
        record::{Record, RecordError},
    },
};
use rustix::{
    fs::{
        AtFlags, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, renameat, stat, statat,
    },
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// What is read of a file at most; a record has less.
const MOST: u64 = 64 * 1024;

/// Why a ballot cannot be kept.
#[derive(Debug, Error)]
pub(super) enum BallotError {
    #[error(
        "{}: another process, or another node of this one, keeps this ballot; stop it, or give each \
         node a file of its own",
        .0.display()
    )]
    InUse(PathBuf),
    #[error("{}: {what}: {}", path.display(), disk::not_opened(source))]
    File { path: PathBuf, what: &'static str, source: io::Error },
    #[error("{:?} names no file", .0.display().to_string())]
    NoFile(PathBuf),
    #[error("{} is no regular file; name one, or one that is still to be made", .0.display())]
    NotAFile(PathBuf),
}

/// Why what is on the disk is no ballot.
#[derive(Debug, Error)]
pub(super) enum Unusable {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("the ballot cannot be read: {0}; this node must not vote. Look at the disk")]
    Disk(#[from] io::Error),
}

/// The file, locked against every other process as long as this lives.
///
/// Everything happens in the directory that was opened at the start, wherever that is moved and
/// whatever is put in its place. But a ballot is saved only if this node's next life will find it
/// under the configured path, and if nobody else can lock it there.
pub(super) struct BallotFile {
    node: NodeId,
    /// As it was configured.
    path: PathBuf,
    names: Names,
    directory: File,
    lock: File,
}

/// What a ballot consists of within its directory.
struct Names {
    ballot: OsString,
    temporary: OsString,
    lock: OsString,
}

impl BallotFile {
    /// Locks the file of this node; creates its directory if only that is missing. Blocks.
    pub(super) fn open(path: &Path, node: NodeId) -> Result<Self, BallotError> {
        let path = &*std::path::absolute(path).map_err(|_| BallotError::NoFile(path.to_owned()))?;
        let failed = |path: &Path, what| {
            let path = path.to_owned();
            move |source| BallotError::File { path, what, source }
        };
        let found = behind_link(path).map_err(failed(path, "the link leads nowhere"))?;
        if found.metadata().is_ok_and(|meta| !meta.is_file()) {
            return Err(BallotError::NotAFile(found));
        }
        let parts = found.parent().zip(found.file_name());
        let (parent, name) = parts.ok_or_else(|| BallotError::NoFile(found.clone()))?;
        match fs::DirBuilder::new().mode(0o700).create(parent) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(parent, "cannot create the directory")(error));
            }
            _ => {}
        }
        let beside = |suffix: &str| {
            let mut name = name.to_owned();
            name.push(suffix);
            name
        };
        let ballot = name.to_owned();
        let names = Names { ballot, temporary: beside(".new"), lock: beside(".lock") };
        let directory = File::open(parent).map_err(failed(parent, "cannot open the directory"))?;
        let lock = writable(&directory, &names.lock, OFlags::empty())
            .map_err(failed(&parent.join(&names.lock), "cannot open the lock"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(BallotError::InUse(found)),
            Err(error) => {
                return Err(failed(&parent.join(&names.lock), "cannot lock")(error.into()));
            }
        }
        Ok(Self { node, path: path.to_owned(), names, directory, lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What an earlier life has written. Blocks.
    pub(super) fn read(&self) -> (Restored, Option<Unusable>) {
        match self.ballot() {
            Ok(Some(ballot)) => (Restored::Ballot(ballot), None),
            Ok(None) => (Restored::Nothing, None),
            Err(error) => (Restored::Unusable, Some(error)),
        }
    }

    fn ballot(&self) -> Result<Option<Ballot>, Unusable> {
        let file = match openat(
            &self.directory,
            &self.names.ballot,
            OFlags::CLOEXEC, // and only to be read
            Mode::empty(),
        ) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(io::Error::from(error).into()),
        };
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        Ok(Some(Record::read(&bytes, &self.node)?))
    }

    /// Makes a ballot durable. After an error the old one or the new one is there. Blocks, for as
    /// long as the disk takes.
    pub(super) fn save(&self, ballot: &Ballot) -> io::Result<()> {
        let Names { ballot: name, temporary, .. } = &self.names;
        let mut file = writable(&self.directory, temporary, OFlags::TRUNC)?;
        file.write_all(Record::new(ballot, &self.node).as_bytes())?;
        file.sync_all()?;
        renameat(&self.directory, temporary, &self.directory, name)?;
        self.directory.sync_all()?;
        self.stays()
    }

    /// Whether the path still leads here, and the lock still locks. (A disk that is mounted over the
    /// directory hides both.)
    fn stays(&self) -> io::Result<()> {
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let found = behind_link(&self.path).ok();
        let there = found.as_deref().and_then(Path::parent).and_then(|parent| stat(parent).ok());
        if there.map(identity) != Some(identity(fstat(&self.directory)?)) {
            let path = self.path.display();
            return Err(io::Error::other(format!(
                "the directory of {path} was moved, replaced or mounted over while this node was \
                 running; put it back. Whoever starts without it has lost its ballot"
            )));
        }
        let lock = statat(&self.directory, &self.names.lock, AtFlags::SYMLINK_NOFOLLOW).ok();
        if lock.map(identity) != Some(identity(fstat(&self.lock)?)) {
            return Err(io::Error::other(format!(
                "{}, which keeps other processes from this ballot, was removed or replaced; stop \
                 every process that uses the ballot, and start this node again",
                self.path.with_file_name(&self.names.lock).display()
            )));
        }
        Ok(())
    }
}

/// A ballot behind a link is replaced where it is, not where the link is.
fn behind_link(path: &Path) -> io::Result<PathBuf> {
    match path.symlink_metadata() {
        Ok(_) => fs::canonicalize(path),
        Err(_) => Ok(path.to_owned()),
    }
}

fn writable(directory: &File, name: &OsStr, more: OFlags) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | more;
    Ok(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use election_core::{
        Epoch, Incarnation, NodeId,
        quorum::{Fingerprint, Maintenance, Position},
    };
    use rustix::fs::{CWD, FileType, mknodat};
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
        assert!(matches!(open(&path), Err(BallotError::NotAFile(_))));
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
        assert!(matches!(open(place.path()), Err(BallotError::NotAFile(_))));
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
        assert!(
            error.contains("ballot.lock") && error.contains("start this node again"),
            "{error}"
        );
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
        assert!(why.contains("that of n1, and this node is n2"), "{why}");
        assert_eq!(open(&path).unwrap().read().0, Restored::Ballot(ballot(3)));
    }
}

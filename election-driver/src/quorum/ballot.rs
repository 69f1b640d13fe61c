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
        AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, renameat,
        stat, statat,
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
        "{}: another process, or another node in this process, uses this ballot; stop it, or give \
         every node its own file",
        .0.display()
    )]
    InUse(PathBuf),
    #[error("{}: {what}: {}", path.display(), disk::not_opened(source))]
    File { path: PathBuf, what: &'static str, source: io::Error },
    #[error("{:?} does not name a file", .0.display().to_string())]
    NoFile(PathBuf),
    #[error(
        "{}: it is {what}, not a regular file; remove it, or name another file for the ballot",
        path.display()
    )]
    NotAFile { path: PathBuf, what: &'static str },
}

/// Why what is on the disk is no ballot.
#[derive(Debug, Error)]
pub(super) enum Unusable {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("the ballot cannot be read: {0}; this node must not vote. Check the disk")]
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
        let found = behind_link(path).map_err(failed(path, "the symbolic link is dangling"))?;
        if let Some(what) = stat(&found).ok().and_then(irregular) {
            return Err(BallotError::NotAFile { path: found, what });
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
        for name in [&names.lock, &names.temporary] {
            let there = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).ok();
            if let Some(what) = there.and_then(irregular) {
                return Err(BallotError::NotAFile { path: parent.join(name), what });
            }
        }
        let lock = writable(&directory, &names.lock, OFlags::NONBLOCK)
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
            OFlags::CLOEXEC | OFlags::NONBLOCK, // and only to be read
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
        file.sync_all()?; // on macOS F_FULLFSYNC, which empties the disk's cache, too
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
                 running; put it back. A node that starts without it has lost its ballot"
            )));
        }
        let lock = statat(&self.directory, &self.names.lock, AtFlags::SYMLINK_NOFOLLOW).ok();
        if lock.map(identity) != Some(identity(fstat(&self.lock)?)) {
            return Err(io::Error::other(format!(
                "{}, which locks this ballot, was removed or replaced; stop every process that \
                 uses the ballot, then restart this node",
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

/// Opens a file to write it. What is behind a link would be another node's.
fn writable(directory: &File, name: &OsStr, more: OFlags) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | more;
    match openat(directory, name, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(file.into()),
        Err(Errno::NXIO | Errno::ISDIR | Errno::LOOP) => {
            let name = name.to_string_lossy();
            Err(io::Error::other(format!("{name} beside it is not a regular file; remove it")))
        }
        Err(error) => Err(error.into()),
    }
}

/// What a file is instead of a regular one. (A mode has 16 bits on macOS, 32 on Linux.)
fn irregular(found: Stat) -> Option<&'static str> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        FileType::Symlink => Some("a link"),
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        _ => Some("a device"),
    }
}

#[cfg(test)]
mod tests;

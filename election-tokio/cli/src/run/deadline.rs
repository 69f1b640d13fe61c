//! The hard stop, in memory that elector, guard and starting job share.
//!
//! It is not sent in messages: those queue up while a process stands still, and a late reader would
//! judge by an old one. A reader of this memory always sees the newest.

use election_tokio::core::Timestamp;
use rustix::fs::{MemfdFlags, memfd_create};
use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::fs::FileExt as _,
    },
    path::{Path, PathBuf},
};

/// An instant that one process writes and others read.
pub(super) struct Deadline(File);

/// Set behind the instant once the deadline has passed before the job began.
const MISSED: u64 = 32;
/// Set behind that if the job could not begin for another reason.
const UNBEGUN: u64 = 33;

impl Deadline {
    pub(super) fn new(at: Timestamp) -> io::Result<Self> {
        let memory = memfd_create("election-deadline", MemfdFlags::CLOEXEC)?;
        let deadline = Self(memory.into());
        deadline.set(at)?;
        Ok(deadline)
    }

    pub(super) fn set(&self, at: Timestamp) -> io::Result<()> {
        let at = election_tokio::Deadline::at(at).to_bytes();
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&at);
        bytes[16..].copy_from_slice(&at.map(|byte| !byte));
        self.0.write_all_at(&bytes, 0)
    }

    /// The newest instant that was set, by this process's own clock. An instant that is just being
    /// written is read again; if none can be read, the time is over.
    pub(super) fn get(&self) -> Timestamp {
        const TRIES: usize = 1_000;
        let read = || -> Option<[u8; 16]> {
            let mut bytes = [0; 32];
            self.0.read_exact_at(&mut bytes, 0).ok()?;
            let (at, check) = bytes.split_at(16);
            let whole = at.iter().zip(check).all(|(byte, check)| *byte == !check);
            at.try_into().ok().filter(|_| whole)
        };
        let at = (0..TRIES).find_map(|_| read());
        at.map_or(Timestamp::ZERO, |at| election_tokio::Deadline::from_bytes(at).here())
    }

    /// Records that the process which was to become the job found the time over, and ends without
    /// having begun. It can tell nobody else: its own end looks like any other end by force.
    pub(super) fn was_missed(&self) -> io::Result<()> {
        self.0.write_all_at(&[1], MISSED)
    }

    /// Whether the job never began, because the time was over.
    pub(super) fn is_missed(&self) -> bool {
        let mut byte = [0];
        self.0.read_exact_at(&mut byte, MISSED).is_ok_and(|()| byte == [1])
    }

    /// Records that the process which was to become the job could not, and ends. Its exit code may be
    /// a job's as well.
    pub(super) fn could_not_begin(&self) -> io::Result<()> {
        self.0.write_all_at(&[1], UNBEGUN)
    }

    /// Whether nothing of the job has run, because it could not be executed.
    pub(super) fn is_unbegun(&self) -> bool {
        let mut byte = [0];
        self.0.read_exact_at(&mut byte, UNBEGUN).is_ok_and(|()| byte == [1])
    }

    /// The path where a child of this process finds it for as long as this process lives.
    pub(super) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }

    pub(super) fn open(path: &Path) -> io::Result<Self> {
        File::options().read(true).write(true).open(path).map(Self)
    }
}

impl From<OwnedFd> for Deadline {
    fn from(memory: OwnedFd) -> Self {
        Self(memory.into())
    }
}

impl AsFd for Deadline {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use election_tokio::now;
    use std::time::Duration;

    #[test]
    fn what_was_set_last_is_read() {
        // Never later than it was set; time that passes while two clocks are read shortens it.
        let about = |read: Timestamp, set: Timestamp| {
            read <= set && set.since(read) < Duration::from_secs(1)
        };
        let soon = now() + Duration::from_secs(7);
        let deadline = Deadline::new(soon).unwrap();
        let other = Deadline::open(&deadline.path()).unwrap();
        assert!(about(other.get(), soon));
        deadline.set(Timestamp::MAX).unwrap();
        assert!(about(other.get(), Timestamp::MAX));
        deadline.set(Timestamp::ZERO).unwrap();
        assert!(other.get() < now());
        assert!(!deadline.is_missed());
        other.was_missed().unwrap();
        assert!(deadline.is_missed());
        deadline.set(soon).unwrap();
        assert!(about(other.get(), soon) && deadline.is_missed());
        assert!(!deadline.is_unbegun());
        other.could_not_begin().unwrap();
        assert!(about(other.get(), soon) && deadline.is_unbegun());
    }

    #[test]
    fn what_was_half_written_is_not_believed() {
        let deadline = Deadline::new(Timestamp::from_nanos(7)).unwrap();
        deadline.0.write_all_at(&[1], 0).unwrap();
        assert_eq!(deadline.get(), Timestamp::ZERO);
    }
}

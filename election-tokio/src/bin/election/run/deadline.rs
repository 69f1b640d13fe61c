//! The hard stop, in memory that elector, guard and starting job share.
//!
//! Not in messages: those wait in line behind others while a process stands still, and whoever
//! reads late would judge by an old one. What is read here is always the newest.

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

impl Deadline {
    pub(super) fn new(at: Timestamp) -> io::Result<Self> {
        let memory = memfd_create("election-deadline", MemfdFlags::CLOEXEC)?;
        let deadline = Self(memory.into());
        deadline.set(at)?;
        Ok(deadline)
    }

    pub(super) fn set(&self, at: Timestamp) -> io::Result<()> {
        let at = at.as_nanos();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&at.to_ne_bytes());
        bytes[8..].copy_from_slice(&(!at).to_ne_bytes());
        self.0.write_all_at(&bytes, 0)
    }

    /// The newest instant that was set. One that is being written at this very moment is read
    /// again; where nothing can be read, the time is over.
    pub(super) fn get(&self) -> Timestamp {
        const TRIES: usize = 1_000;
        let read = || -> Option<u64> {
            let mut bytes = [0; 16];
            self.0.read_exact_at(&mut bytes, 0).ok()?;
            let (at, check) = bytes.split_at(8);
            let at = u64::from_ne_bytes(at.try_into().ok()?);
            let check = u64::from_ne_bytes(check.try_into().ok()?);
            (at == !check).then_some(at)
        };
        let at = (0..TRIES).find_map(|_| read());
        at.map_or(Timestamp::ZERO, Timestamp::from_nanos)
    }

    /// Where a child of this process finds it for as long as this process lives.
    pub(super) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }

    pub(super) fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
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

    #[test]
    fn what_was_set_last_is_read() {
        let deadline = Deadline::new(Timestamp::from_nanos(7)).unwrap();
        let other = Deadline::open(&deadline.path()).unwrap();
        assert_eq!(other.get(), Timestamp::from_nanos(7));
        deadline.set(Timestamp::from_nanos(u64::MAX)).unwrap();
        assert_eq!(other.get(), Timestamp::from_nanos(u64::MAX));
    }

    #[test]
    fn what_was_half_written_is_not_believed() {
        let deadline = Deadline::new(Timestamp::from_nanos(7)).unwrap();
        deadline.0.write_all_at(&[1], 0).unwrap();
        assert_eq!(deadline.get(), Timestamp::ZERO);
    }
}

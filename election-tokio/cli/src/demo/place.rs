//! Where a demo keeps its files: in a temporary directory, which goes when the demo ends.
//!
//! A demo that is killed cannot clear up. The next one does: each holds a lock in its directory, which
//! the system takes away with the process. A lock gets its name only once it is held, so a directory
//! with one that nobody holds is nobody's any more.

use crate::exit::Failed;
use rustix::{
    fs::{FlockOperation, flock},
    process::geteuid,
};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
};
use tempfile::TempDir;

const PREFIX: &str = "election-demo-";
const LOCK: &str = "lock";

pub(super) struct Place {
    directory: TempDir,
    _lock: File,
}

impl Place {
    /// A new one, among those that earlier demos may have left.
    pub(super) fn new() -> Result<Self, Failed> {
        Self::under(&std::env::temp_dir())
            .map_err(|error| Failed::of("temporary directory", &error))
    }

    fn under(parent: &Path) -> io::Result<Self> {
        clear(parent);
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let new = directory.path().join(".lock");
        let lock = File::create(&new)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(new, directory.path().join(LOCK))?;
        Ok(Self { directory, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes what this user's dead demos have left. What cannot be removed is in nobody's way.
fn clear(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(PREFIX) && is_abandoned(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(directory: &Path) -> bool {
    let own = |found: fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
    fs::symlink_metadata(directory).is_ok_and(own)
        && File::open(directory.join(LOCK))
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_demo_has_left_goes_with_the_next_one() {
        let parent = tempfile::tempdir().expect("a directory");
        let place = || Place::under(parent.path()).expect("a place");
        let (killed, alive) = (place(), place());
        let foreign = parent.path().join("election-demo-of-somebody");
        fs::create_dir(&foreign).expect("a directory");
        let Place { directory, _lock } = killed;
        let left = directory.keep();
        fs::write(left.join("cluster.toml"), "").expect("a file");
        let next = place();
        assert!(left.exists(), "its process may live as long as its lock is held");
        drop((next, _lock));
        let next = place();
        assert!(!left.exists());
        assert!(alive.path().exists() && next.path().exists(), "those that run are left alone");
        assert!(foreign.exists(), "and what has no lock");
        let path = next.path().to_owned();
        drop(next);
        assert!(!path.exists());
    }
}

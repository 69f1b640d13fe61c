//! The file under a SQLite database: what it may be, whether it is still the same, and when it
//! is written.

use crate::{Notifications, StoreError};
use election_core::lease::{Event, Failure};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::{
    ffi::OsString,
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Where a path leads now. A database whose file was deleted and made anew is another database,
/// and a connection to the deleted one would elect among ghosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl FileId {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let id = |meta: Metadata| Self(meta.dev(), meta.ino());
        std::fs::metadata(path).ok().map(id)
    }
}

/// Takes the path of a database file apart from what only looks like one.
pub(super) fn checked(path: &Path) -> Result<PathBuf, StoreError> {
    let refused = |why: &str| Err(StoreError::new(Failure::Fatal, why));
    let text = path.to_string_lossy();
    if text.is_empty() {
        return refused("no database file is named; use sqlite:PATH");
    }
    if text.contains(":memory:") || text.contains("mode=memory") {
        return refused(
            "an in-memory database is another one for every connection, so that everybody would \
             lead; use a file",
        );
    }
    if path.is_dir() {
        let why = format!("{} is a directory; name a file in it", path.display());
        return refused(&why);
    }
    std::path::absolute(path).map_err(|error| {
        let context = format!("{} cannot be made an absolute path", path.display());
        StoreError::new(Failure::Fatal, context).with_source(error)
    })
}

/// Refuses file systems whose locks do not hold between machines.
#[cfg(target_os = "linux")]
pub(super) fn refuse_network(path: &Path) -> Result<(), StoreError> {
    const NFS: i64 = 0x6969;
    const SMB: i64 = 0x517B;
    const CIFS: i64 = 0xFF53_4D42;
    const SMB2: i64 = 0xFE53_4D42;
    let directory = path.parent().unwrap_or(Path::new("/"));
    let Ok(system) = rustix::fs::statfs(directory) else { return Ok(()) };
    #[allow(clippy::useless_conversion)] // the field's type differs between architectures
    let kind = i64::from(system.f_type);
    if [NFS, SMB, CIFS, SMB2].contains(&kind) {
        let context = format!(
            "{} is on a network file system, where SQLite's locks cannot be trusted; use \
             PostgreSQL or MariaDB for processes on several machines",
            path.display()
        );
        return Err(StoreError::new(Failure::Fatal, context));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn refuse_network(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// Wakes the elector whenever the database, or its write-ahead log, is written. Where files
/// cannot be watched, nothing comes, and polling does it.
pub(super) fn writes(path: &Path) -> Notifications {
    let (sender, receiver) = async_channel::bounded(1);
    match watcher(path, sender) {
        Ok(watcher) => Box::pin(futures_lite::stream::unfold(
            (receiver, watcher),
            |(receiver, watcher)| async {
                receiver.recv().await.ok()?;
                Some((Event::Wake, (receiver, watcher)))
            },
        )),
        Err(error) => {
            tracing::warn!(%error, "the database file cannot be watched; polling only");
            Box::pin(futures_lite::stream::pending())
        }
    }
}

fn watcher(
    path: &Path,
    sender: async_channel::Sender<()>,
) -> Result<RecommendedWatcher, notify::Error> {
    let names = names(path);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        let written = event.kind.is_modify() || event.kind.is_create();
        let ours =
            |path: &PathBuf| path.file_name().is_some_and(|name| names.contains(&name.into()));
        if written && event.paths.iter().any(ours) {
            let _ = sender.try_send(()); // one that waits already says the same
        }
    })?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    watcher.watch(directory, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

/// The database itself and its write-ahead log. Not the `-shm` file, which readers write too.
fn names(path: &Path) -> [OsString; 2] {
    let name = path.file_name().unwrap_or_default().to_owned();
    let mut log = name.clone();
    log.push("-wal");
    [name, log]
}

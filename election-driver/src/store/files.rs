//! The file under a SQLite database: what it may be, whether it is still the same, and when it
//! is written.

use super::{Notice, Notifications};
use crate::StoreError;
use election_core::lease::Failure;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::ModifyKind};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use std::{
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
        return Err(in_memory());
    }
    let unreadable = "the path is not UTF-8, as SQLite needs it; choose another name";
    match path.to_str() {
        None => return refused(unreadable),
        Some(text) if text.contains('\0') => return refused("the path holds a NUL character"),
        // Relative to some directory, it would name a file; a URI is meant.
        Some(text) if text.starts_with("file:") => {
            return refused("a URI names the database; use the plain path of the file");
        }
        Some(_) => {}
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

pub(super) fn in_memory() -> StoreError {
    StoreError::new(
        Failure::Fatal,
        "an in-memory database is another one for every connection, so that everybody would \
         lead; use a file",
    )
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

/// Wakes everybody who watches the database, now that leadership has moved.
///
/// Watching the writes themselves would be too early and too often. A commit is seen by others
/// only after its log was flushed to the disk, but the log is noticed when it is written: who
/// reads the row in between reads the old one, and nothing wakes it again. And most writes are
/// renewals, or the application's own.
///
/// By path: to open and close the file here would drop the locks that SQLite holds on it.
pub(super) fn touch(path: &Path) {
    // Both times: the kernel reports a change of one alone as a read or a write.
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    if let Err(error) = utimensat(CWD, path, &times, AtFlags::empty()) {
        tracing::debug!(%error, "others will find out by polling");
    }
}

/// Wakes the elector whenever the database is touched. Where files cannot be watched, nothing
/// comes, and polling does it.
pub(super) fn touches(path: &Path) -> Notifications {
    let (sender, receiver) = async_channel::bounded(1);
    match watcher(path, sender) {
        Ok(watcher) => Box::pin(futures_lite::stream::unfold(
            (receiver, watcher),
            |(receiver, watcher)| async {
                receiver.recv().await.ok()?;
                Some((Notice::Wake, (receiver, watcher)))
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
    let name = path.file_name().map(ToOwned::to_owned);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        let ours = event.paths.iter().any(|path| path.file_name() == name.as_deref());
        if ours && touched(event.kind) {
            let _ = sender.try_send(()); // one that waits already says the same
        }
    })?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    watcher.watch(directory, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

/// Whether an event may be a [`touch`]: a change of metadata, where the system tells it apart from
/// writing. A file that was made anew counts too.
fn touched(kind: EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Metadata(_)) => true,
        EventKind::Modify(_) => cfg!(not(target_os = "linux")),
        _ => false,
    }
}

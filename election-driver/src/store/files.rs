//! The file of a SQLite database: which files are allowed, whether it is still the same file, and
//! when it is written.

use super::{
    Notice, filesystem,
    news::{News, NewsStream},
    scheme,
};
use crate::StoreError;
use election_core::lease::Failure;
use futures_lite::StreamExt as _;
use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, WatcherKind, event::ModifyKind,
};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use std::{
    fs::Metadata,
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The file that a path leads to now. A database whose file was deleted and created anew is another
/// database, and a connection to the deleted file would hold an election that nobody else sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl FileId {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let id = |meta: Metadata| Self(meta.dev(), meta.ino());
        std::fs::metadata(path).ok().map(id)
    }
}

/// The write-ahead log of a database and the index of that log.
pub(super) fn companions(path: &Path) -> [Option<(u64, u64)>; 2] {
    ["-wal", "-shm"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(name).ok().map(|meta| (meta.dev(), meta.ino()))
    })
}

/// Tells the path of a database file from other strings that look like one.
pub(super) fn checked(path: &Path) -> Result<PathBuf, StoreError> {
    let refused = |why: &str| Err(StoreError::new(Failure::Fatal, why));
    let text = path.to_string_lossy();
    if text.is_empty() {
        return refused("no database file is named; write its path (for `--store`, sqlite:PATH)");
    }
    if text.contains(":memory:") || text.contains("mode=memory") {
        return Err(in_memory());
    }
    let unreadable = "the path is not UTF-8, as SQLite requires; choose another name";
    match path.to_str() {
        None => return refused(unreadable),
        Some(text) if text.contains('\0') => return refused("the path contains a NUL character"),
        // Relative to some directory this would name a file, but a URI is meant.
        Some(text) if text.starts_with("file:") => {
            return refused("the database is named by a URI; use the plain path of the file");
        }
        Some(_) => {}
    }
    if let Some(why) = scheme::in_path(&text) {
        return refused(&why);
    }
    let shown = path.display();
    if path.is_dir() {
        return refused(&format!("{shown} is a directory; name a file in it"));
    }
    if text.ends_with('/') {
        let why = "ends with a slash, like a directory, but does not exist; name a file";
        return refused(&format!("{shown} {why}"));
    }
    if path.file_name().is_none() {
        return refused(&format!("{shown} leads to a directory; name a file in it"));
    }
    std::path::absolute(path).map_err(|error| {
        let context = format!("{} cannot be made an absolute path", path.display());
        StoreError::new(Failure::Fatal, context).with_source(error)
    })
}

pub(super) fn in_memory() -> StoreError {
    StoreError::new(
        Failure::Fatal,
        "an in-memory database belongs to one connection, so every process would lead; use a file",
    )
}

/// The path where SQLite will find the file, and after which it will name its log: SQLite follows
/// symbolic links. For a file that does not exist yet, the path where it will be; for one that
/// cannot exist, the path itself.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let mut end = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if let Ok(found) = std::fs::canonicalize(&end) {
            return found;
        }
        let directory = end.parent().unwrap_or(Path::new("/"));
        match (std::fs::read_link(&end), std::fs::canonicalize(directory), end.file_name()) {
            (Ok(target), Ok(directory), _) => end = directory.join(target),
            (Err(_), Ok(directory), Some(name)) => return directory.join(name),
            _ => break,
        }
    }
    path.to_path_buf()
}

/// As many links as Linux follows.
const MOST_LINKS: u32 = 40;

/// Refuses what is no file, and a file that not every process that opens it would share. Call it
/// with a [`resolved`] path, before every connection. A `trusted` file system may be any.
pub(super) fn refuse(path: &Path, trusted: bool) -> Result<(), StoreError> {
    if !trusted {
        refuse_unknown_filesystem(path)?;
    }
    refuse_other_kinds(path)?;
    refuse_links(path)?;
    refuse_mounted_alone(path)
}

/// SQLite's locks and the memory that its processes share have to reach every process that opens the
/// file. A file system that another machine, or another program (FUSE), stands behind keeps neither
/// promise on its own, and no list of those is ever complete. A trial proves nothing: it uses one
/// path, and two paths to one file are the danger.
fn refuse_unknown_filesystem(path: &Path) -> Result<(), StoreError> {
    let Some(name) = filesystem::unknown(path) else { return Ok(()) };
    if matches!(&*name, "proc" | "sysfs" | "cgroup" | "cgroup2") {
        return Err(unfit(
            path,
            "is on a virtual file system, which cannot hold a database; name a file in another, \
             writable directory",
        ));
    }
    let why = format!(
        "is on {name}, which is not a known local file system: SQLite's locks may not hold across \
         mounts or machines, so two processes could lead and the database could be damaged; use a \
         file on a local disk, or PostgreSQL or MariaDB for processes on several machines. If \
         every process reaches the file through this one mount, write \
         sqlite:PATH?filesystem=trusted (`SqliteStore::open_trusted`)"
    );
    Err(unfit(path, &why))
}

fn unfit(path: &Path, why: &str) -> StoreError {
    StoreError::new(Failure::Fatal, format!("{} {why}", path.display()))
}

/// Refuses a device, for instance, whose mode nobody should be told to change.
fn refuse_other_kinds(path: &Path) -> Result<(), StoreError> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Err(unfit(path, "is a directory; name a file in it")),
        Ok(meta) if !meta.is_file() => Err(unfit(
            path,
            "is not a regular file; name one, or a path where a new one can be created",
        )),
        _ => Ok(()),
    }
}

/// Refuses a file with several names, including one that gets another while it is in use.
pub(super) fn refuse_links(path: &Path) -> Result<(), StoreError> {
    match std::fs::metadata(path).map(|meta| meta.nlink()) {
        Ok(names) if names > 1 => {
            let why = format!(
                "is one of {names} hard links to its file: SQLite keeps a separate write-ahead log \
                 beside each, so two processes would lead and the database would be damaged; \
                 remove the other links (use `VACUUM INTO` to make a copy)"
            );
            Err(unfit(path, &why))
        }
        _ => Ok(()),
    }
}

/// Refuses a file that is mounted apart from its directory: elsewhere it has another path, and
/// another log beside it.
fn refuse_mounted_alone(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    match (filesystem::mount_of(path), filesystem::mount_of(directory)) {
        (Some(file), Some(directory)) if file != directory => Err(unfit(
            path,
            "is itself a mount point: SQLite keeps its write-ahead log in the directory, which is \
             then not shared, so two processes would lead and the database would be damaged; mount \
             the directory, not the file",
        )),
        _ => Ok(()),
    }
}

/// Creates an empty file that only its owner may read and write, unless it exists; SQLite gives its
/// log and its index the same mode. If that fails, SQLite will report it.
pub(super) fn make(path: &Path) -> Result<(), StoreError> {
    match made(path) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => {
            Err(StoreError::new(Failure::Fatal, "the disk is full; free some space")
                .with_source(error))
        }
        _ => Ok(()),
    }
}

/// Without opening the file, if possible: closing it drops the locks that this process holds on it,
/// and another thread may have found it already.
#[cfg(target_os = "linux")]
fn made(path: &Path) -> io::Result<()> {
    use rustix::{
        fs::{FileType, Mode, mknodat},
        io::Errno,
    };
    match mknodat(CWD, path, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        // Some file systems offer no other way.
        Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP) => made_by_opening(path),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn made(path: &Path) -> io::Result<()> {
    made_by_opening(path)
}

fn made_by_opening(path: &Path) -> io::Result<()> {
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(|_| ())
}

/// The permissions of a file that everybody on this machine can reach and read or write.
pub(super) fn exposed(path: &Path) -> Option<u32> {
    let mode = |path: &Path| std::fs::metadata(path).ok().map(|meta| meta.mode());
    let rights = mode(path).filter(|rights| rights & 0o006 != 0)?;
    let reachable = |directory| mode(directory).is_none_or(|rights| rights & 0o001 != 0);
    path.ancestors().skip(1).all(reachable).then_some(rights & 0o777)
}

/// Wakes every process that watches the database, once leadership has moved.
///
/// Watching the writes themselves would be too early and too often. Others see a commit only after
/// its log was flushed to the disk, but the watch reports the log when it is written: a process
/// that reads the row in between reads the old one, and nothing wakes it again. And most writes are
/// renewals, or the application's own.
///
/// By path: opening and closing the file here would drop the locks that SQLite holds on it.
pub(super) fn touch(path: &Path) {
    // Both times: the kernel reports a change of only one of them as a read or a write.
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    if let Err(error) = utimensat(CWD, path, &times, AtFlags::empty()) {
        tracing::debug!(%error, "other processes will find out by polling");
    }
}

/// Wakes the elector whenever another process touches the database. If files cannot be watched,
/// nothing comes, and the elector polls.
///
/// kqueue (the BSDs) opens what it watches, and whatever is new beside it: closing the database or
/// its index there would drop the locks that SQLite holds on them. So nothing is watched by it.
pub(super) fn touches(path: &Path) -> NewsStream {
    if RecommendedWatcher::kind() == WatcherKind::Kqueue {
        return Box::pin(futures_lite::stream::pending());
    }
    let (sender, receiver) = async_channel::bounded(1);
    match watcher(path, sender) {
        Ok(watcher) => {
            let touches =
                futures_lite::stream::unfold((receiver, watcher), |(receiver, watcher)| async {
                    receiver.recv().await.ok()?;
                    Some((News::All(Notice::Wake), (receiver, watcher)))
                });
            Box::pin(futures_lite::stream::once(News::All(Notice::Listening)).chain(touches))
        }
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

/// Whether an event may be a [`touch`]: a change of metadata, where the system distinguishes it
/// from a write. A file that was created anew counts too.
fn touched(kind: EventKind) -> bool {
    matches!(kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Metadata(_)))
        || cfg!(not(target_os = "linux")) && kind.is_modify()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// The place of a link says nothing about the file system that it leads to.
    #[test]
    fn a_link_is_judged_by_where_it_leads() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("e.db");
        let judge = || refuse_unknown_filesystem(&resolved(&link));
        symlink("/proc/self/comm", &link).unwrap();
        let why = judge().unwrap_err().to_string();
        assert!(why.contains("comm is on a virtual file system"), "{why}");
        // The same for a file that does not exist yet.
        std::fs::remove_file(&link).unwrap();
        symlink("/proc/no such file", &link).unwrap();
        assert_eq!(resolved(&link), Path::new("/proc/no such file"));
        judge().unwrap_err();
        std::fs::remove_file(&link).unwrap();
        judge().unwrap();
    }

    #[test]
    fn a_file_that_is_made_anew_is_noticed() {
        use futures_lite::{
            StreamExt as _,
            future::{block_on, poll_once},
        };
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("e.db");
        let mut notices = touches(&file);
        block_on(async {
            assert!(matches!(notices.next().await, Some(News::All(Notice::Listening))));
            assert!(poll_once(notices.next()).await.is_none());
            make(&file).unwrap();
            let long = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while poll_once(notices.next()).await.is_none() {
                assert!(std::time::Instant::now() < long, "nothing was noticed");
                std::thread::yield_now();
            }
        });
    }

    #[test]
    fn links_are_followed_to_their_end() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("directory")).unwrap();
        symlink("directory/e.db", root.join("one")).unwrap();
        symlink("one", root.join("two")).unwrap();
        assert_eq!(resolved(&root.join("two")), root.join("real/e.db"), "yet to be made");
        std::fs::write(root.join("real/e.db"), "").unwrap();
        assert_eq!(resolved(&root.join("two")), root.join("real/e.db"));
        symlink("round", root.join("round")).unwrap();
        assert_eq!(resolved(&root.join("round")), root.join("round"), "and never for ever");
        let nowhere = root.join("missing/e.db");
        assert_eq!(resolved(&nowhere), nowhere);
    }
}

//! Whether this process may start the threads and open the files without which it cannot go on. The
//! log and tokio panic where the system refuses one (`ulimit -u`, a control group's `pids.max`, `ulimit
//! -n`); a user is owed the name of the limit.

use crate::exit::Failed;
use std::{
    io::{self, ErrorKind},
    os::fd::{AsFd as _, OwnedFd},
    sync::Mutex,
    thread,
};

/// The log's, tokio's, the database's, and one for what blocks.
const THREADS: usize = 4;
/// Tokio's, a database's, and those of a job that is started.
const FILES: usize = 20;

/// Tries it.
///
/// # Errors
/// If the system refuses one of them now.
pub(crate) fn check() -> Result<(), Failed> {
    files(FILES).map_err(|error| {
        let what = "cannot open more files; raise `ulimit -n` (systemd's LimitNOFILE=)";
        Failed::of(what, &error)
    })?;
    start(THREADS).map_err(|error| {
        let remedy = match error.kind() {
            // A limit would say that something is short.
            ErrorKind::PermissionDenied => {
                "a filter forbids it, usually one from an old container runtime that does not know \
                 the system call clone3: update the runtime (Docker 20.10.10, libseccomp 2.5), or \
                 start the container without the filter (--security-opt seccomp=unconfined)"
            }
            _ => TOO_MANY,
        };
        Failed::of(&format!("cannot start a thread; {remedy}"), &error)
    })
}

/// Why a process could not be started.
pub(crate) fn refused(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock => format!("{error}; {TOO_MANY}"),
        _ => error.to_string(),
    }
}

/// Why the system has no room for another thread or process, and the remedy.
const TOO_MANY: &str = "this user or its control group has reached its limit: raise `ulimit -u`, \
                        or pids.max (systemd's TasksMax=)";

/// So many more at a time.
fn files(count: usize) -> io::Result<()> {
    let error = io::stderr();
    let open = || error.as_fd().try_clone_to_owned();
    (0..count).map(|_| open()).collect::<io::Result<Vec<OwnedFd>>>().map(drop)
}

/// So many at a time.
fn start(count: usize) -> io::Result<()> {
    let gate = Mutex::new(());
    thread::scope(|threads| {
        let shut = gate.lock();
        let wait = || thread::Builder::new().spawn_scoped(threads, || drop(gate.lock()));
        let started = (0..count).try_for_each(|_| wait().map(drop));
        drop(shut);
        started
    })
}

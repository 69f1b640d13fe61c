//! Whether this process may start the threads without which it cannot go on. The log's and tokio's
//! panic where the system refuses one (`ulimit -u`, a control group's `pids.max`); a user is owed the
//! name of the limit.

use crate::exit::Failed;
use std::{io, sync::Mutex, thread};

/// The log's, tokio's, the database's, and one for what blocks.
const NEEDED: usize = 4;

/// Tries it.
///
/// # Errors
/// If the system refuses one of them now.
pub(crate) fn room() -> Result<(), Failed> {
    start(NEEDED).map_err(|error| {
        let remedy = "this user or its control group may have no more of them: raise `ulimit -u`, or \
                      pids.max (systemd's TasksMax=)";
        Failed::of(&format!("cannot start a thread; {remedy}"), &error)
    })
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

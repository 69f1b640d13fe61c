//! The ended children of this process, its own and those it has adopted.
//!
//! Elector and guard are child subreapers: a process of the job whose parent has ended becomes
//! their child. So no process that the job has started gets lost, however it was started, and the
//! end of the last one is known exactly: a subreaper without children has no descendants.

use rustix::{
    io::Errno,
    process::{WaitOptions, getpid, set_child_subreaper, wait},
};
use std::{
    convert::Infallible, future::pending, io, os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Reaps children. There must be only one at a time: a child that it reaps, nobody else can.
pub(super) struct Reaper(Signal);

/// The result of reaping.
pub(super) enum Reaped {
    /// This child has ended, and is gone now.
    Child(i32, ExitStatus),
    /// There are children, and none has ended.
    Alive,
    /// There are no children, and so no descendants.
    Childless,
}

impl Reaper {
    /// Makes this process the parent of orphans below it.
    pub(super) fn adopting() -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        signal(SignalKind::child()).map(Self)
    }

    /// Reaps one child, if one has ended. Does not wait.
    pub(super) fn reap(&self) -> Reaped {
        loop {
            return match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    Reaped::Child(pid.as_raw_pid(), ExitStatus::from_raw(status.as_raw()))
                }
                Err(Errno::INTR) => continue,
                Err(Errno::CHILD) => Reaped::Childless,
                Ok(None) | Err(_) => Reaped::Alive,
            };
        }
    }

    /// Waits until a child has ended since the last call. Dropping the future loses nothing.
    pub(super) async fn stirred(&mut self) {
        if self.0.recv().await.is_none() {
            pending::<()>().await; // the runtime is going down
        }
    }
}

/// Reaps strangers while this process has no job, if it is the first of its PID namespace, as in a
/// container: the kernel makes it the parent of every orphan there, of a health check for instance,
/// and nobody else can bury those.
pub(super) async fn bury_strangers() -> Infallible {
    let Some(Ok(mut reaper)) = getpid().is_init().then(Reaper::adopting) else {
        return pending().await;
    };
    loop {
        while let Reaped::Child(..) = reaper.reap() {}
        reaper.stirred().await;
    }
}

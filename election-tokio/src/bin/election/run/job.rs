//! The job: a process group that lives no longer than the leadership it was started for.

use super::guard::Guard;
use election_tokio::Lease;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{ffi::OsString, io};
use tokio::process::{Child, Command};

/// A running job and its guard.
pub(super) struct Job {
    pub(super) child: Child,
    pub(super) guard: Guard,
}

impl Job {
    /// Starts the guard first, so that there is no moment in which the job runs unguarded.
    ///
    /// To be called from the main thread: the kernel ties the job's life to the thread that
    /// started it.
    pub(super) async fn start(
        job: &[OsString],
        name: &str,
        node: &str,
        lease: &Lease,
    ) -> io::Result<Self> {
        let guard = Guard::start(lease.stop_by()).await?;
        let child = Command::new("/proc/self/exe")
            .arg0("election")
            .args(["__exec", "--parent"])
            .arg(std::process::id().to_string())
            .arg("--")
            .args(job)
            .env("ELECTION_NAME", name)
            .env("ELECTION_NODE", node)
            .env("ELECTION_EPOCH", lease.epoch().to_string())
            .process_group(guard.group())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self { child, guard })
    }

    /// Sends a signal to every process of the job. The guard, in the same group, is deaf to all
    /// that can be heard.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.guard.group()) {
            // A group that is gone already needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Ends what the job has left behind in its group.
    pub(super) async fn finish(self) {
        self.guard.finish().await;
    }
}

//! The job: a process group that lives no longer than the leadership it was started for.

use super::guard::Guard;
use election_tokio::Lease;
use rustix::process::Signal;
use std::{ffi::OsString, io, time::Duration};
use tokio::process::{Child, Command};

/// A running job and its guard.
pub(super) struct Job {
    pub(super) child: Child,
    pub(super) guard: Guard,
}

impl Job {
    /// Starts the guard first, so that there is no moment in which the job runs unguarded. If
    /// this process stands still in between for so long that the guard has ended with the lease,
    /// the process that is to become the job finds its own time over: both know the same hard
    /// stop.
    ///
    /// To be called from the main thread: the kernel ties the job's life to the thread that
    /// started it.
    pub(super) async fn start(
        job: &[OsString],
        name: &str,
        node: &str,
        lease: &Lease,
        slice: Duration,
    ) -> io::Result<Self> {
        let stop_by = lease.stop_by();
        let guard = Guard::start(stop_by, slice).await?;
        let child = Command::new("/proc/self/exe")
            .arg0("election")
            .args(["__exec", "--parent"])
            .arg(std::process::id().to_string())
            .arg("--until")
            .arg(stop_by.as_nanos().to_string())
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

    /// Sends a signal to every process of the job.
    pub(super) fn signal(&self, signal: Signal) {
        self.guard.signal_group(signal);
    }

    /// Ends what the job has left behind in its group.
    pub(super) async fn finish(self) {
        self.guard.finish().await;
    }
}

//! The job's main process: the guard starts it, and its end is the end of the job.

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};
use std::{future::pending, os::fd::AsFd as _};
use tokio::{sync::oneshot, time::Instant};

/// The main process, until it is known to have ended.
pub(super) struct MainProcess {
    pub(super) pid: i32,
    /// Completes when the process has ended, if the kernel and this process can tell.
    end: Option<oneshot::Receiver<()>>,
    /// Since when the process is seen to have ended without a report from the guard.
    pub(super) unreported: Option<Instant>,
}

impl MainProcess {
    pub(super) fn of(pid: i32) -> Self {
        let process = Pid::from_raw(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        let end = process.and_then(Result::ok).and_then(|process| {
            let (sender, end) = oneshot::channel();
            // The wait ends with the process at the latest.
            let wait = move || {
                let mut ended = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
                while poll(&mut ended, None) == Err(Errno::INTR) {}
                let _ = sender.send(());
            };
            std::thread::Builder::new().name("job".to_owned()).spawn(wait).ok()?;
            Some(end)
        });
        Self { pid, end, unreported: None }
    }

    /// Waits until it is seen to end.
    async fn ends(&mut self) {
        match &mut self.end {
            Some(end) => drop(end.await),
            None => pending().await,
        }
        self.end = None;
        self.unreported = Some(Instant::now());
    }
}

/// Waits until a main process is seen to end: for ever if there is none.
pub(super) async fn ends(main: &mut Option<MainProcess>) {
    match main {
        Some(main) => main.ends().await,
        None => pending().await,
    }
}

//! The process that kills the job when its time is over, whatever the elector is doing.
//!
//! It leads the job's process group, so that the group's number cannot pass to strangers while
//! it lives, and to kill the group is to end itself too. The elector tells it the hard stop, line
//! by line, as renewals move it; the end of that pipe means that the elector is gone.

use super::signals;
use crate::exit::{Exit, Failed};
use election_tokio::core::Timestamp;
use rustix::process::{Signal, kill_current_process_group};
use std::{process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, Command},
    time::{sleep, timeout},
};

/// How long it sleeps without looking at the clock, which goes on while the machine is suspended
/// when timers do not.
const SLICE: Duration = Duration::from_millis(500);
/// How long a guard may take to start before something is wrong with the machine.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// The guard's own main function.
pub(crate) fn watch_over_job() -> Result<Exit, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failed::of("the guard cannot start", &error))?.block_on(watch())
}

async fn watch() -> Result<Exit, Failed> {
    // Signals for the job reach the whole group; they are not meant for its guard.
    let _deaf = signals::listen().map_err(|error| Failed::of("the guard cannot start", &error))?;
    println!("ready");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut stop_by = Timestamp::MAX;
    loop {
        let left = stop_by.since(election_tokio::now());
        if left.is_zero() {
            break;
        }
        tokio::select! {
            biased;
            line = lines.next_line() => match line {
                Ok(Some(line)) => match line.parse() {
                    Ok(nanos) => stop_by = Timestamp::from_nanos(nanos),
                    Err(_) => break,
                },
                Ok(None) | Err(_) => break,
            },
            () = sleep(left.min(SLICE)) => {}
        }
    }
    kill_current_process_group(Signal::KILL)
        .map_err(|error| Failed::of("the guard cannot kill the job", &error))?;
    Ok(Exit::TOOL_FAILED)
}

/// The elector's side of a guard.
pub(super) struct Guard {
    process: Child,
    orders: ChildStdin,
    group: i32,
}

impl Guard {
    /// Starts a guard and waits until it guards.
    pub(super) async fn start(stop_by: Timestamp) -> std::io::Result<Self> {
        let mut process = Command::new("/proc/self/exe")
            .arg0("election")
            .arg("__guard")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let lost = || std::io::Error::other("the guard ended as soon as it was started");
        let group = process.id().and_then(|id| i32::try_from(id).ok()).ok_or_else(lost)?;
        let orders = process.stdin.take().ok_or_else(lost)?;
        let ready = process.stdout.take().ok_or_else(lost)?;
        let mut guard = Self { process, orders, group };
        guard.extend(stop_by).await;
        let mut line = String::new();
        timeout(START_TIMEOUT, BufReader::new(ready).read_line(&mut line)).await??;
        if line == "ready\n" { Ok(guard) } else { Err(lost()) }
    }

    /// The process group that the job is to join.
    pub(super) fn group(&self) -> i32 {
        self.group
    }

    /// Moves the hard stop. That a guard is gone shows in [`ended`](Self::ended).
    pub(super) async fn extend(&mut self, stop_by: Timestamp) {
        let order = format!("{}\n", stop_by.as_nanos());
        let _ = self.orders.write_all(order.as_bytes()).await;
    }

    /// Completes when the guard has ended, which it does by itself only together with the job.
    pub(super) async fn ended(&mut self) {
        let _ = self.process.wait().await;
    }

    /// Kills whatever is left in the group, the guard included, and waits for the guard's end.
    pub(super) async fn finish(mut self) {
        drop(self.orders);
        let _ = self.process.wait().await;
    }
}

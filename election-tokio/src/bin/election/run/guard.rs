//! The process that kills the job when its time is over, whatever the elector is doing.
//!
//! It leads the job's process group, so that the group's number cannot pass to strangers while
//! it lives, and to kill the group is to end itself too. It is born with the hard stop, and the
//! elector tells it, line by line, as renewals move it; the end of that pipe means that the elector
//! is gone.

use super::signals;
use crate::{
    arguments::Guard as Arguments,
    exit::{Exit, Failed, print},
};
use election_tokio::core::Timestamp;
use rustix::process::{
    Pid, Signal, kill_current_process_group, kill_process_group, test_kill_process_group,
};
use std::{process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, Command},
    time::{sleep, timeout},
};

/// How long a guard that stood still looks for orders that came meanwhile, before it judges.
const CATCH_UP: Duration = Duration::from_millis(20);
/// How long the elector waits for killed processes to be gone.
const LAST_BREATH: Duration = Duration::from_secs(1);
/// How long a guard may take to start before something is wrong with the machine.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the elector waits for room in the pipe to a guard that does not read.
const ORDER_TIMEOUT: Duration = Duration::from_millis(20);

/// The guard's own main function.
pub(crate) fn watch_over_job(guard: &Arguments) -> Result<Exit, Failed> {
    let stop_by = Timestamp::from_nanos(guard.until);
    let slice = Duration::from_nanos(guard.slice);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .map_err(|error| Failed::of("the guard cannot start", &error))?
        .block_on(watch(stop_by, slice))
}

/// Sleeps no longer than `slice` without looking at the clock, which goes on while the machine is
/// suspended when timers do not.
async fn watch(mut stop_by: Timestamp, slice: Duration) -> Result<Exit, Failed> {
    // Signals for the job reach the whole group; they are not meant for its guard.
    let _deaf = signals::listen().map_err(|error| Failed::of("the guard cannot start", &error))?;
    print("ready")?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut looked = election_tokio::now();
    let mut catching_up = false;
    loop {
        let now = election_tokio::now();
        let left = stop_by.since(now);
        // One that was stopped for a while may find orders that say the lease went on.
        catching_up |= now.since(looked) > slice * 2;
        looked = now;
        if left.is_zero() && !catching_up {
            break;
        }
        let wait = if catching_up { CATCH_UP } else { left.min(slice) };
        tokio::select! {
            biased;
            line = lines.next_line() => match line {
                Ok(Some(line)) => match line.parse() {
                    Ok(nanos) => stop_by = Timestamp::from_nanos(nanos),
                    Err(_) => break,
                },
                Ok(None) | Err(_) => break,
            },
            () = sleep(wait) => catching_up = false,
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
    pub(super) async fn start(stop_by: Timestamp, slice: Duration) -> std::io::Result<Self> {
        let mut process = Command::new("/proc/self/exe")
            .arg0("election")
            // From its birth: this process may be stopped before it can give its first order.
            .args(["__guard", "--until", &stop_by.as_nanos().to_string()])
            .args(["--slice", &slice.as_nanos().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Not killed with its handle: it ends by the end of its pipe, and the group with it.
            .process_group(0)
            .spawn()?;
        let lost = || std::io::Error::other("the guard ended as soon as it was started");
        let group = process.id().and_then(|id| i32::try_from(id).ok()).ok_or_else(lost)?;
        let orders = process.stdin.take().ok_or_else(lost)?;
        let ready = process.stdout.take().ok_or_else(lost)?;
        let guard = Self { process, orders, group };
        let mut line = String::new();
        timeout(START_TIMEOUT, BufReader::new(ready).read_line(&mut line)).await??;
        if line == "ready\n" { Ok(guard) } else { Err(lost()) }
    }

    /// The process group that the job is to join.
    pub(super) fn group(&self) -> i32 {
        self.group
    }

    /// Moves the hard stop. That a guard is gone shows in [`ended`](Self::ended); one that stands
    /// still gets no more orders when its pipe is full, and must not hold up the elector.
    pub(super) async fn extend(&mut self, stop_by: Timestamp) {
        let order = format!("{}\n", stop_by.as_nanos());
        // So short an order goes into the pipe as a whole or not at all.
        let _ = timeout(ORDER_TIMEOUT, self.orders.write_all(order.as_bytes())).await;
    }

    /// Completes when the guard has ended, which it does by itself only together with the job.
    pub(super) async fn ended(&mut self) {
        let _ = self.process.wait().await;
    }

    /// Sends a signal to the group. The guard is deaf to all that can be heard.
    pub(super) fn signal_group(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.group) {
            // A group that is gone already needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Kills whatever is left in the group, the guard included, and waits for the guard's end.
    ///
    /// Not left to the guard, which may stand still. The group's number is still its own: nobody
    /// has waited for the guard. If somebody has, the group was killed then.
    pub(super) async fn finish(mut self) {
        self.kill_group();
        let _ = self.process.wait().await;
        // Killed is not gone: a process in the middle of a write finishes it first.
        let Some(group) = Pid::from_raw(self.group) else { return };
        let gone = async {
            while test_kill_process_group(group).is_ok() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        if timeout(LAST_BREATH, gone).await.is_err() {
            tracing::warn!("what the job has left behind was killed and is not gone yet");
        }
    }

    fn kill_group(&self) {
        if self.process.id().is_some() {
            self.signal_group(Signal::KILL);
        }
    }
}

/// However the elector comes to lose its guard, by a panic even, the job does not stay behind.
impl Drop for Guard {
    fn drop(&mut self) {
        self.kill_group();
    }
}

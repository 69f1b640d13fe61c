//! `election run`: the job runs here whenever this process leads, and nowhere else.
//!
//! Three processes work together, so that no single accident leaves two jobs running:
//!
//! ```text
//!   elector            holds the lease; adopts what a killed guard leaves behind
//!    └─ guard          knows the hard stop; adopts what the job abandons
//!        └─ job        and whatever it starts, wherever that moves to
//! ```
//!
//! * The **elector** (the process the user started) holds the lease and starts the guard.
//! * The **guard** starts the job and ends only when nothing of it is left. It kills the whole tree
//!   at the hard stop, even if the elector was stopped (SIGSTOP), starved or wedged, and at once if
//!   the elector is gone.
//! * The **job** is everything below the guard. Both others are child subreapers, so that no
//!   process of the job gets lost to another parent: not by `setsid`, not by a double fork.
//!
//! `election serve` is an elector alone. The work that goes with its leadership is done by programs
//! that it does not know: they ask at its HTTP port whether it leads.
//!
//! `election hold` is one, too. The work is whatever a script does that waits for its line, and
//! either ends it or sees it end.
//!
//! Hooks run below a process of their own (`hooks`), each like a job, with a guard.
//!
//! In a cluster the lease is what a majority of the members vouches for. All else is the same.
//!
//! The lease is released only when nothing of the job is left. If a process cannot be killed (it
//! runs as another user, or waits in the kernel for a device), the lease runs out.
//!
//! The job's process group is never the terminal's foreground: the kernel would stop a job that reads
//! from it, for good. So its input is empty where this process's is a terminal.
//!
//! If guard and elector are killed together, the kernel kills the job's first process; the rest of it
//! only with `--isolate` ([`isolate`]), or when a guard finds it later ([`cgroup`]).
//!
//! These cases remain: a guard and an elector that are both stopped, or killed without that; a machine
//! that stops and goes on after the lease has passed; work that the job has others do for it
//! (`docker run`, `systemd-run`, `at`), or has moved into a PID namespace that was there before it
//! (`nsenter`, unless it has a control group). Fence those by `ELECTION_EPOCH`.

mod backend;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod deadline;
mod elector;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod exec;
#[cfg(target_os = "linux")]
mod guard;
mod hold;
#[cfg(target_os = "linux")]
mod hooks;
mod input;
#[cfg(target_os = "linux")]
mod ipc;
#[cfg(target_os = "linux")]
mod isolate;
#[cfg(target_os = "linux")]
mod job;
#[cfg(target_os = "linux")]
mod killing;
#[cfg(target_os = "linux")]
mod main_process;
#[cfg(target_os = "linux")]
mod process_tree;
#[cfg(target_os = "linux")]
mod reach;
#[cfg(target_os = "linux")]
mod reaper;
mod signals;
mod start;
#[cfg(target_os = "linux")]
mod supervisor;
mod without_job;

#[cfg(not(target_os = "linux"))]
use elsewhere::{self as exec, self as guard, self as hooks, self as process_tree, self as reaper};

pub(crate) use elector::{hold, run, serve};
pub(crate) use exec::become_job;
pub(crate) use guard::watch_over_job;
pub(crate) use hooks::run_hooks;
pub(crate) use process_tree::is_visible;

use crate::{exit::Exit, systemd};
use std::process::ExitStatus;

/// How a leadership ended, from the job's point of view.
pub(super) enum End {
    /// The job ended by itself, or because this process was told to end.
    Job(ExitStatus),
    /// A signal told this process to end, and no job had to. This process exits with this.
    Left(Exit),
    /// Leadership was lost, and the job was stopped for it.
    Lost,
    /// A process of the job can be neither ended nor waited for any longer. This process exits with
    /// this.
    Stuck(Exit),
    /// The job could not be started, and nothing of it has run. How its process ended, or why there
    /// was none.
    Unbegun(Result<ExitStatus, String>),
    /// The job could not be run or guarded.
    Failed(String),
}

/// This program once more, in another role. What the service manager has said is for this process.
fn itself() -> std::process::Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new("/proc/self/exe");
    command.arg0("election");
    systemd::keep_from(&mut command);
    command
}

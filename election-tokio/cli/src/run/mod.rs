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
mod cgroup;
mod deadline;
mod elector;
mod exec;
mod guard;
mod hold;
mod hooks;
mod input;
mod ipc;
mod isolate;
mod job;
mod killing;
mod main_process;
mod process_tree;
mod reach;
mod reaper;
mod signals;
mod start;
mod supervisor;
mod without_job;

pub(crate) use elector::{hold, run, serve};
pub(crate) use exec::become_job;
pub(crate) use guard::watch_over_job;
pub(crate) use hooks::run_hooks;

use crate::systemd;

/// This program once more, in another role. What the service manager has said is for this process.
fn itself() -> std::process::Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new("/proc/self/exe");
    command.arg0("election");
    systemd::keep_from(&mut command);
    command
}

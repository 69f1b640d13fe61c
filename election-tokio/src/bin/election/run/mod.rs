//! `election run`: the job runs here whenever this process leads, and nowhere else.
//!
//! Three processes work together, so that no single accident leaves two jobs running:
//!
//! * the **elector** (the process the user started) holds the lease and starts the job;
//! * the **guard** knows the hard stop and kills the job's process group at that instant, even if
//!   the elector was stopped (SIGSTOP), starved or wedged, and at once if the elector is gone;
//! * the **job** asked the kernel to be killed when the elector dies, should the guard be gone.
//!
//! The job has a process group of its own, which is never the terminal's foreground: a job that
//! reads from a terminal is stopped by the kernel. Give it a pipe or a file.
//!
//! What is left: a guard killed by force together with an elector stopped by force; processes the
//! job moved into another process group; a machine that stops and goes on after the lease passed.
//! Fencing by `ELECTION_EPOCH` is the answer to those.

mod elector;
mod exec;
mod guard;
mod job;
mod signals;

pub(crate) use elector::run;
pub(crate) use exec::become_job;
pub(crate) use guard::watch_over_job;

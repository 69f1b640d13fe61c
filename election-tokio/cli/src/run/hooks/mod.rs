//! Commands that run when leadership begins, ends, or moves.
//!
//! ```text
//!   elector            tells what has happened; keeps the lease while a hook `--on-lead` runs
//!    └─ runner         runs the hooks one after the other, in order
//!        └─ guard      kills the hook at the hard stop, whatever the others do
//!            └─ hook   sh -c CMD, and whatever it starts
//! ```
//!
//! A hook is a job of the runner's: guarded, contained, and killed in time by the same code. The
//! runner is a process of its own since only one job at a time can be told from other children. What
//! happens to it happens neither to the elector nor to the elector's job.

mod hook_events;
mod message;
mod output;
mod runner;

pub(super) use hook_events::{Hooks, Manner};
pub(crate) use runner::run_hooks;

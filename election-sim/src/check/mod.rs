//! What must hold: one file per invariant, all of them on in every run.
//!
//! A checker sees what happens (the hooks of [`Check`]) and the true state of the world
//! ([`Scene`]), which no node can see. It keeps its own books: where it recomputes what the core
//! computes, it does so from the rule and not from the core's state.

mod audit;
mod changes;
#[allow(clippy::module_inception)] // what a checker is, beside the checkers
mod check;
mod exclusion;
mod fencing;
mod lease;
mod pace;
mod quorum;

pub(crate) use audit::Audit;
pub use check::Violation;
pub(crate) use check::{Check, Scene, Told, Verdict, scene};
pub(crate) use lease::LeaseChecks;
pub(crate) use quorum::QuorumChecks;

/// The names of the invariants of the lease.
pub const NAMES: &[&str] = LeaseChecks::NAMES;
/// The names of the invariants of the quorum.
pub const QUORUM_NAMES: &[&str] = QuorumChecks::NAMES;

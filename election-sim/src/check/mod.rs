//! The invariants: one file each, all of them checked in every run.
//!
//! A checker sees what happens (the hooks of [`Checker`]) and the true state of the world
//! ([`WorldState`](crate::simulator::WorldState)), which no node can see. It keeps its own books:
//! where it recomputes what the core computes, it uses the rule and not the core's state.

mod bounded_pace;
mod changes_in_order;
mod checker;
mod checker_set;
mod exclusion;
mod fencing;
mod lease;
mod quorum;
mod wording;

pub(crate) use checker::{Checker, Verdict};

use lease::LeaseCheckers;
use quorum::QuorumCheckers;

/// The names of the invariants of the lease.
pub const LEASE_INVARIANTS: &[&str] = LeaseCheckers::NAMES;
/// The names of the invariants of the quorum.
pub const QUORUM_INVARIANTS: &[&str] = QuorumCheckers::NAMES;

//! Deterministic simulation of leader election.
//!
//! The real state machines of `election-core` run in a world of virtual time. Every node has a
//! clock with its own offset and drift. Processes crash, stop and leave. The lease database
//! refuses, hangs and restarts; it lets statements wait for locks with their clock frozen, and
//! executes statements after their client gave up. Connections between the members of a quorum
//! break, stall and replay old frames; disks are slow, fail, lie and get lost. Checkers watch every
//! step. The tests re-implement nothing.
//!
//! # One line in a test
//!
//! ```
//! use election_sim::Sim;
//!
//! // in a #[test]: a hundred seeds, every fault that the promise covers, every invariant
//! Sim::new("my_cluster_holds").nodes(3).seeds(0..100).run();
//! ```
//!
//! A user's own state machine runs on top ([`App`]). It writes to a resource that checks fencing
//! tokens ([`Resource`]), and the test adds its own conditions: [`Sim::always`],
//! [`Sim::sometimes`], [`Sim::recovers_within`]. The example `cron` is a complete service under
//! simulation. When a seed fails, the test prints the commands that replay it, writes the smallest
//! schedule that still fails as a `.scn` file ([`Scn`], [`Sim::replay`]), and draws who led when and
//! what the app did: its writes, its frames, and what it notes ([`Context::note`]).
//!
//! # How it is built
//!
//! | part | what it is |
//! | --- | --- |
//! | [`Schedule`] | one run, as data: topology, timing, faults. Equal schedules give the same run |
//! | [`Swarm`] | draws a schedule from a seed, with some of the menu's faults ([`FaultKind`]) |
//! | [`World`] | plays a schedule: the nodes, their clocks, what lies between them, the checkers |
//! | [`Cluster`] | the part of a schedule that only a quorum has: its timing, disks and data |
//! | [`table`] | the lease's row as a pure value: what each SQL statement means |
//! | [`Budget`] | many seeds on many cores; the results do not depend on the number of cores |
//! | [`shrink()`] | turns a schedule that fails into a small one that fails in the same way |
//!
//! Every fault declares its [`Contract`]. Within the contract at most one process acts at any true
//! time. Beyond it two processes can act, and only the fencing token protects; such runs show both. It
//! no longer protects if the database has both lost a term and set its clock back, votes were taken back, or
//! one incarnation runs twice: then nothing is left that could tell two leaders apart.
//!
//! Randomness is counter-based: each draw is keyed by what it decides and for whom, so removing
//! one fault from a schedule leaves every other draw alone. A shrunk schedule therefore tells the
//! same story, shorter.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod activity;
mod app;
mod batch;
mod cargo;
mod check;
mod clock;
// Without services nobody makes what it names.
#[cfg_attr(not(feature = "service"), allow(dead_code))]
mod deed;

mod draw;
pub mod explore;
mod fault;
mod lease;
mod outcome;
mod panics;
mod play;
mod progress;
mod queue;
mod quorum;
mod report;
mod schedule;
pub mod scn;
mod seed;
#[cfg(feature = "service")]
pub mod service;
mod shrink;
mod sim;
mod simulator;
// Without services nobody has sockets.
#[cfg_attr(not(feature = "service"), allow(dead_code))]
mod socket;
mod span;
mod story;
mod svg;
mod swarm;
pub mod table;
mod text;
mod timeline;
mod trace;
mod unreached;
mod workload;
mod world;

pub use app::{App, Context, Resource, Write, WriteError};
pub use batch::{Budget, Summary};
pub use check::{LEASE_INVARIANTS, QUORUM_INVARIANTS};
pub use fault::{
    Contract, CutDirection, DiskFault, Fault, FaultKind, FrameFault, SaveFault, Scope,
    StatementFault,
};
pub use outcome::Outcome;
pub use report::Report;
pub use schedule::{
    Cluster, Engine, Heal, MOST_NODES, Member, Schedule, ScheduleError, Software, Timing,
};
pub use scn::Scn;
pub use seed::Seed;
pub use shrink::{Shrunk, shrink};
pub use sim::{Failure, Sim, SimError};
pub use simulator::Violation;
pub use span::DurationRange;
pub use svg::{html, svg};
pub use swarm::Swarm;
pub use text::ScnError;
pub use timeline::timeline;
pub use trace::{Line, LineKind, Stop};
pub use unreached::Unreached;
pub use workload::{View, Workload};
pub use world::World;

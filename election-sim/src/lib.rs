//! Deterministic simulation of leader election.
//!
//! The real state machines of `election-core` run in a world of virtual time: every node has a
//! clock with an offset and a drift of its own, processes crash, stop and leave. The lease
//! database refuses, hangs, restarts, lets statements wait for locks with their clock frozen and
//! executes them after their client gave up; between the members of a quorum connections break,
//! stall and replay, and their disks are slow, fail, lie and are lost. Checkers watch every step.
//! Nothing is re-implemented for the test.
//!
//! # One line in a test
//!
//! ```
//! use election_sim::Sim;
//!
//! // in a #[test]: a thousand seeds, every fault that the promise covers, every invariant
//! Sim::new("my_cluster_holds").nodes(3).seeds(0..100).run();
//! ```
//!
//! A user's own state machine runs on top ([`App`]), writes to a resource that checks fencing
//! tokens ([`Resource`]), and has conditions of its own: [`Sim::always`], [`Sim::sometimes`],
//! [`Sim::recovers_within`]. The example `cron` is a whole service under simulation. When a seed
//! fails, the test says how to play it again, writes the smallest schedule that still fails as a
//! `.scn` file ([`Scn`]), and draws who led when.
//!
//! # How it is built
//!
//! | part | what it is |
//! | --- | --- |
//! | [`Schedule`] | one run, as data: topology, timing, faults. Two equal ones are the same run |
//! | [`Swarm`] | a schedule from a seed, with a random part of the menu of faults ([`FaultKind`]) |
//! | [`World`] | plays a schedule: nodes, clocks, what lies between them, the checkers |
//! | [`Cluster`] | what makes a schedule one of a quorum: its timing, disks and data |
//! | [`table`] | the lease's row as a pure value: what each SQL statement means |
//! | [`Budget`] | many seeds on many cores, with results that do not depend on how many |
//! | [`shrink()`] | from a schedule that fails to a small one that fails in the same way |
//!
//! Every fault declares its [`Contract`]. Within it at most one process acts at any true time.
//! Beyond it two can, and only the fencing token protects; runs of that kind show both.
//!
//! Randomness is counter-based: every draw is keyed by what it decides and for whom, so that
//! taking one fault out of a schedule leaves every other draw alone. That is what makes a shrunk
//! schedule the same story, shorter.
#![forbid(unsafe_code)]

mod activity;
mod app;
mod batch;
mod check;
mod clock;

mod draw;
pub mod explore;
mod fault;
mod lease;
mod outcome;
mod play;
mod queue;
mod quorum;
mod report;
mod schedule;
pub mod scn;
mod seed;
mod shrink;
mod sim;
mod simulator;
mod span;
mod svg;
mod swarm;
pub mod table;
mod text;
mod timeline;
mod trace;
mod workload;
mod world;

pub use app::{App, Context, Resource, Write};
pub use batch::{Budget, Summary};
pub use check::{LEASE_INVARIANTS, QUORUM_INVARIANTS};
pub use fault::{
    Contract, CutDirection, DiskFault, Fault, FaultKind, FrameFault, SaveFault, Scope,
    StatementFault,
};
pub use outcome::Outcome;
pub use report::Report;
pub use schedule::{Cluster, Engine, Heal, MOST_NODES, Member, Schedule, ScheduleError, Timing};
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
pub use workload::{View, Workload};
pub use world::World;

//! Deterministic simulation of leader election.
#![forbid(unsafe_code)]

mod check;
mod clock;
mod database;
mod draw;
mod fault;
mod node;
mod queue;
mod schedule;
mod strike;
mod swarm;
pub mod table;
mod trace;
mod world;

pub use check::{NAMES, Violation};
pub use fault::{Contract, Fate, Fault, Way, What};
pub use schedule::{Between, Engine, Heal, Impossible, MOST_NODES, Member, Schedule, Timing};
pub use swarm::Swarm;
pub use trace::{Line, LineKind};
pub use world::World;

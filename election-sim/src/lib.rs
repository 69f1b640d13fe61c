//! Deterministic simulation of leader election.
#![forbid(unsafe_code)]

mod app;
mod campaign;
mod check;
mod clock;
mod database;
mod draw;
mod fault;
mod node;
mod play;
mod process;
mod queue;
mod report;
mod rig;
mod schedule;
mod scn;
mod seed;
mod shrink;
mod sim;
mod strike;
mod swarm;
pub mod table;
mod timeline;
mod trace;
mod wire;
mod world;

pub use app::{App, Hands, Resource, Write};
pub use campaign::{Budget, Summary};
pub use check::{NAMES, Violation};
pub use fault::{Contract, Fate, Fault, Way, What};
pub use play::Outcome;
pub use report::Report;
pub use rig::{Rig, View};
pub use schedule::{Between, Engine, Heal, Impossible, MOST_NODES, Member, Schedule, Timing};
pub use scn::{Scn, ScnError};
pub use seed::Seed;
pub use shrink::{Shrunk, shrink};
pub use sim::{Failure, Sim, SimError};
pub use swarm::Swarm;
pub use timeline::timeline;
pub use trace::{Line, LineKind};
pub use world::World;

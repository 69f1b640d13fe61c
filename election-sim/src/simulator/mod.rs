//! The world in which the real state machines run, whatever the protocol: true time, clocks,
//! processes, faults and the checkers that watch. The part that only one protocol has is its
//! [`Environment`].

mod cuts;
mod environment;
mod event_loop;
mod faults;
mod frames;
mod hooks;
mod net;
mod node;
mod observer;
mod process;
mod seen;
mod service;

pub(crate) use environment::{Environment, EventOf};
pub(crate) use event_loop::Simulator;
pub(crate) use hooks::hooks;
pub(crate) use net::Frame;
pub(crate) use node::{LostLeadership, Node, Work};
pub use observer::Violation;
pub(crate) use observer::{CheckerSet, Told, Watched, WorldState, world_state};

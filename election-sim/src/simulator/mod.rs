//! Where the real state machines play: true time, clocks, processes, faults and the checkers that
//! watch, whatever the protocol. What only one protocol has around it is its [`Environment`].

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

pub(crate) use environment::{Environment, EventOf};
pub(crate) use event_loop::Simulator;
pub(crate) use hooks::hooks;
pub(crate) use node::{Node, Work};
pub use observer::Violation;
pub(crate) use observer::{CheckerSet, Told, Watched, WorldState, world_state};

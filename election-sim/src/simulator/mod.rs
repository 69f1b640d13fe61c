//! Where the real state machines play: true time, clocks, processes, faults and the checkers that
//! watch, whatever the protocol. What only one protocol has around it is its [`Environment`].

mod cuts;
mod environment;
mod event_loop;
mod faults;
mod frames;
mod node;
mod process;

pub(crate) use environment::{Environment, EventOf};
pub(crate) use event_loop::Simulator;
pub(crate) use node::{Node, Work};

//! Where the real state machines play: true time, clocks, processes, faults and the checkers that
//! watch, whatever the protocol. What only one protocol has around it is its [`Side`].

mod cuts;
mod frames;
mod node;
mod process;
mod side;
#[allow(clippy::module_inception)] // the stage itself, and the parts of its work
mod stage;
mod strike;

pub(crate) use node::{Node, Work};
pub(crate) use side::{EventOf, Side};
pub(crate) use stage::Stage;

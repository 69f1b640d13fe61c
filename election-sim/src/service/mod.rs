//! Real services in simulated time: the driver of `election-driver`, and the user's code on it.
//!
//! Each life of a node is a small executor with the service's tasks in it. They meet the world in one
//! place, the cell: there they read the clock, set timers, ask the database and write; and there the
//! world leaves answers, notifications and frames. Nothing else connects the two.

mod cell;
mod executor;
mod life;
mod mailbox;
mod make;
mod node;
mod orders;
mod process;
mod runtime;
mod sockets;
mod store;
mod stream;
mod watched;

pub(crate) use cell::{Act, State};
pub(crate) use life::{LeasePart, Life, Part, QuorumPart, address, place};
pub(crate) use make::{Make, make};
pub use node::{Node, Written};
pub(crate) use process::Simulated;
pub use runtime::{SimRuntime, Sleep};
pub use store::SimStore;
pub use stream::{SimListener, SimStream};

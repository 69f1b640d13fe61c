//! Real services in simulated time: the driver of `election-driver`, and the user's code on it.
//!
//! Each life of a node is a small executor with the service's tasks in it. They meet the world in one
//! place, the cell: there they read the clock, set timers, ask the database and write; and there the
//! world leaves answers, notifications and frames. Nothing else connects the two.

mod cell;
mod executor;
mod life;
mod make;
mod node;
mod process;
mod runtime;
mod store;

pub(crate) use life::Life;
pub(crate) use make::{Make, make};
pub use node::{Node, Refused, Written};
pub use runtime::{SimRuntime, Sleep};
pub use store::SimStore;

//! The quorum: state machines with disks that fail, and connections that break.

mod connections;
mod data;
mod deeds;
mod disk;
mod environment;
mod faults;
mod happening;
mod in_force;
mod legacy;
mod links;
mod lists;
mod machine;
#[cfg(feature = "service")]
mod service;
mod ship;
#[cfg(feature = "service")]
mod sockets;
#[cfg(feature = "service")]
mod traffic;
mod wire;

pub(crate) use disk::Stored;
pub(crate) use environment::{Heard, QuorumEnvironment, QuorumNodeState};
pub(crate) use faults::wall_clock_begins;
pub(crate) use in_force::{Nodes, is_majority, nodes_of};
pub(crate) use machine::Machine;

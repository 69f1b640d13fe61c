//! The quorum: state machines with disks that fail, and connections that break.

mod data;
mod disk;
mod environment;
mod faults;
mod happening;
mod links;
mod ship;
mod wire;

pub(crate) use disk::Stored;
pub(crate) use environment::{Heard, QuorumEnvironment};

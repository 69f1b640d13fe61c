//! The quorum: state machines with disks that fail, between them connections that break.

mod data;
mod disk;
mod happening;
mod links;
mod ship;
mod side;
mod strike;
mod wire;

pub(crate) use disk::Stored;
pub(crate) use side::{Heard, QuorumSide};

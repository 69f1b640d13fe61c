//! Leadership decided by a majority of a fixed set of nodes.

mod ballot;
mod members;
mod message;
pub mod record;
pub mod wire;

pub use ballot::Ballot;
pub use members::{Fingerprint, Members, Peer};
pub use message::{
    Action, Audience, Connection, Event, Extension, Heartbeat, Message, Position, Role, Stamp,
};

//! Leadership decided by a majority of a fixed set of nodes.

mod ballot;
mod boot;
mod config;
mod elect;
mod machine;
mod members;
mod message;
mod peers;
mod receive;
mod reign;
mod reports;
mod speak;
mod support;
mod trust;
mod voter;

pub use ballot::Ballot;
pub use config::{Config, ConfigBuilder, ConfigError, Warning};
pub use machine::Quorum;
pub use members::{Fingerprint, Members, Peer};
pub use message::{
    Action, Audience, Connection, Event, Extension, Heartbeat, Message, Position, Role, Stamp,
};
pub use voter::Restored;

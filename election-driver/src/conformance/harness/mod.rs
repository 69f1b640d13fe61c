//! Throw-away servers, links and processes: the real parts that checks are made of.

mod administrator;
#[cfg(feature = "tls")]
pub mod certificates;
mod cluster;
mod data;
mod kind;
mod launch;
mod pooler;
mod ports;
pub mod process;
mod program;
mod proxy;
mod servers;
mod steered;

pub use administrator::Session;
pub use cluster::Galera;
pub use kind::Kind;
pub use pooler::Pooler;
pub use ports::free_port;
pub use program::Program;
pub use proxy::{LinkState, Proxy};
pub use servers::Server;
pub use steered::{CANDIDATE, LEADER, Plant, Steered, clock, steered};

/// The name of every cluster that a test starts.
pub const CLUSTER: &str = "quorum";

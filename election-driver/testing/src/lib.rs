//! Throw-away servers, links and processes: the real parts that tests are made of.
#![forbid(unsafe_code)]

mod administrator;
mod cluster;
mod data;
mod etcd;
mod kind;
mod launch;
mod lines;
mod pooler;
pub mod process;
mod program;
mod proxy;
pub mod router;
mod servers;
mod service;

pub use administrator::Session;
pub use cluster::Galera;
pub use election_driver::conformance::{CLUSTER, free_port};
pub use etcd::Etcd;
pub use kind::Kind;
pub use lines::Lines;
pub use pooler::Pooler;
pub use program::Program;
pub use proxy::{LinkState, Proxy};
pub use servers::Server;
pub use service::a_service_is_handed_over;

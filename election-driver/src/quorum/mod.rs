//! Leadership decided by a majority of nodes, over TCP.
//!
//! A [`Cluster`] says who the members are and which of them this process is. Once started it is a
//! [`Member`], whose [`Handle`](crate::Handle) is the same as a lease's: what an application does
//! with leadership does not depend on how it is decided.
//!
//! ```text
//!   Cluster ── start ──▶ Member ── handle ──▶ Handle, Lease, Watch, Changes
//!                          │ positions, orders        ▲
//!                          ▼                          │ Shared
//!                        Node (a plain future) ───────┘
//!                          ├─ Locked     the protocol, which decides
//!                          ├─ Link       a connection to each peer, around its outbox
//!                          ├─ Inbound    connections from peers, and from anybody else
//!                          └─ BallotWriter     a thread that makes ballots durable
//! ```
//!
//! What a driver must do and why is told by [`driving`](election_core::quorum::wire::driving).

pub(crate) mod address;
mod admission;
mod ballot;
mod ballot_writer;
pub(crate) mod blocking;
mod clock;
mod cluster;
mod connect;
mod disk;
#[cfg(test)]
mod fake;
#[cfg(feature = "cluster-file")]
pub mod file;
mod handshake;
mod inbound;
#[cfg(feature = "tls")]
mod keys;
mod link;
mod log;
pub(crate) mod lookup;
mod member;
mod metrics;
mod node;
mod node_state;
mod observer;
mod primary;
mod rate;
#[cfg(any(feature = "cluster-file", feature = "tls"))]
mod reading;
mod refusal;
mod roster;
mod security;
mod socket;
mod start;
mod starting;
#[cfg(feature = "tls")]
pub mod tls;
pub(crate) mod transport;
mod unknown_leader;

pub use cluster::{Cluster, ClusterBuilder, ClusterError};
pub use member::{ChangeError, HandOverError, Member, PauseError, PeerReport};
pub use node::Node;
pub use observer::{MemberObserver, Saved};
pub use primary::Primary;
pub use starting::{StartError, Starting};
pub use unknown_leader::UnknownLeader;

//! One life of a node, as the world begins it.

use election_core::{
    Candidate, NodeId, lease,
    quorum::{self, Position, Restored},
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// One life of a node, before its code runs.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) node: usize,
    pub(crate) life: u32,
    /// Of all nodes.
    pub(crate) names: Vec<String>,
    pub(crate) candidate: Candidate,
    pub(crate) part: Part,
}

/// What it takes part in.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Lease(LeasePart),
    Quorum(Box<QuorumPart>),
}

#[derive(Clone, Debug)]
pub(crate) struct LeasePart {
    pub(crate) config: lease::ConfigBuilder,
    /// Whether the database notifies of changes.
    pub(crate) notifies: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct QuorumPart {
    pub(crate) config: quorum::ConfigBuilder,
    /// The members in their order, and whether each is a witness.
    pub(crate) members: Vec<(NodeId, bool)>,
    pub(crate) restored: Restored,
    /// How far its data have come, if that is known at the start.
    pub(crate) position: Option<Position>,
    pub(crate) seed: u64,
    /// What the wall clock read at the beginning of the run.
    pub(crate) wall_clock: u64,
}

impl Life {
    /// What it has of a lease.
    pub(super) fn lease(&self) -> &LeasePart {
        match &self.part {
            Part::Lease(part) => part,
            Part::Quorum(_) => panic!(
                "these nodes are members of a quorum: use `Node::cluster`, or take `of_quorum` out of \
                 the swarm"
            ),
        }
    }

    /// What it has of a quorum.
    pub(super) fn quorum(&self) -> &QuorumPart {
        match &self.part {
            Part::Quorum(part) => part,
            Part::Lease(_) => panic!(
                "these nodes elect by a lease: use `Node::election`, or add `of_quorum` to the swarm, \
                 as in `Sim::faults(Swarm::within_contract().of_quorum())`"
            ),
        }
    }
}

/// Where the member at this place listens.
pub(crate) fn address(place: usize) -> SocketAddr {
    let host = u8::try_from(place + 1).unwrap_or(u8::MAX);
    SocketAddr::new(Ipv4Addr::new(127, 0, 0, host).into(), 7400)
}

/// The place of the member that listens there.
pub(crate) fn place(address: SocketAddr) -> Option<usize> {
    let IpAddr::V4(host) = address.ip() else { return None };
    usize::from(host.octets()[3]).checked_sub(1)
}

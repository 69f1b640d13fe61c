//! Lists of members, as the nodes that answer for them, and the list that is in force.

use crate::schedule::{Member, Schedule};
use election_core::{
    NodeId,
    quorum::{MemberList, Members, Membership, Peer},
};
use std::collections::BTreeSet;

/// A list of members, as the nodes that answer for them.
pub(crate) type Nodes = BTreeSet<usize>;

/// Whether these nodes are a majority of a list.
pub(crate) fn is_majority(list: &Nodes, of: impl IntoIterator<Item = usize>) -> bool {
    of.into_iter().filter(|node| list.contains(node)).collect::<Nodes>().len() > list.len() / 2
}

/// The newest list in force that any disk of the world has had.
#[derive(Debug)]
pub(crate) struct InForce {
    pub(crate) generation: u64,
    pub(crate) voters: Nodes,
}

impl InForce {
    pub(crate) fn first(nodes: &[Member], answering: &[usize]) -> Self {
        let listed = answering.iter().filter(|node| !nodes[**node].spare);
        Self { generation: 0, voters: listed.copied().collect() }
    }

    /// The number of members that make a majority.
    pub(crate) fn quorum(&self) -> usize {
        self.voters.len() / 2 + 1
    }
}

/// The node that has this id, by the order of nodes: the first answers.
fn named(nodes: &[Member], id: &NodeId) -> Option<usize> {
    nodes.iter().position(|member| member.name == id.as_str())
}

/// By the places of these members: the node that answers at the member's address.
pub(super) fn hosts(nodes: &[Member], members: &Members) -> Vec<Option<usize>> {
    let places = (0..u8::MAX).map(Peer::new).take(members.places());
    places.map(|peer| named(nodes, members.id(peer)?)).collect()
}

/// The nodes of a list.
pub(crate) fn nodes_of(schedule: &Schedule, lists: &Membership, list: &MemberList) -> Nodes {
    let ids = list.voters.members().filter_map(|peer| lists.ids().get(peer.index())?.as_ref());
    ids.filter_map(|id| named(&schedule.nodes, id)).collect()
}

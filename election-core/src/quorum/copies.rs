//! How many nodes have what a primary is about to acknowledge.

use crate::quorum::{
    machine::Quorum, message::Availability, position::Position, state::peers::View,
};

/// How many nodes have the data up to a position; see [`Quorum::copies`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Copies {
    /// The data nodes that have it, this node included as long as it is a member.
    pub data_nodes: usize,
    /// The witnesses that have recorded it durably.
    pub witnesses: usize,
}

impl Quorum {
    /// How many nodes have the data up to `position`, as far as they have said, for a primary that
    /// acknowledges a write when enough of them do.
    ///
    /// A node counts if its data has the history of `position` and comes at least as far. What a
    /// node said in its last heartbeat counts even if it is not heard any more: its disk still has
    /// it. A primary whose data nodes count fewer than a majority of all members can lose the write
    /// with them; see [`witnesses`](super::ConfigBuilder::witnesses) for what a witness adds.
    #[must_use]
    pub fn copies(&self, position: Position) -> Copies {
        let has =
            |known: Position| known.history == position.history && known.offset >= position.offset;
        let members = self.config.members();
        let own = members.is_voter(self.me) && !self.data.is_witness();
        let own = own && self.data.is_known() && has(self.data.position());
        let mut copies = Copies { data_nodes: usize::from(own), witnesses: 0 };
        for peer in members.others().filter(|peer| members.is_voter(*peer)) {
            let says = |view: &View| {
                let means_it = view.was_heard() && view.availability != Availability::Loading;
                means_it && !view.differs && has(view.position)
            };
            let counts = usize::from(self.peers.get(peer).is_some_and(says));
            if members.is_witness(peer) {
                copies.witnesses += counts;
            } else {
                copies.data_nodes += counts;
            }
        }
        copies
    }
}

//! The state that a node must not forget.

use crate::{
    Epoch, Incarnation, NodeId,
    quorum::{
        maintenance::{Maintenance, Remainder},
        membership::Membership,
        places::Fingerprint,
        position::Position,
    },
};

/// The durable state of a voter: one record, always replaced as a whole.
///
/// A node that forgets its vote can vote twice in one epoch and elect two primaries. A record
/// that cannot be read means "do not vote", never "fresh".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ballot {
    /// The highest epoch this node has bound itself to: it never again accepts a lower one.
    pub promised: Epoch,
    /// The member it voted for in that epoch, if it did.
    pub voted_for: Option<NodeId>,
    /// The life that wrote the record.
    pub incarnation: Incarnation,
    /// The fingerprint of the list in force, by the settings of the node that wrote the record. A node
    /// that was given another list, `down_after` or name of the cluster does not vote until an operator
    /// has stopped all nodes and confirmed it.
    pub members: Fingerprint,
    /// The lists of members.
    pub lists: Membership,
    /// The data that the node may have acknowledged before its disk was wiped, and does not have
    /// again yet, or that a witness has recorded: the node helps to elect no older data. Zero if
    /// nothing is missing. Without the floor, a node that restarts a second time would take its
    /// empty data for the newest there ever was.
    pub floor: Position,
    /// Whether automatic failover is paused. Its places are those of the same list of members; a
    /// node that is started with another list forgets it.
    pub maintenance: Maintenance,
    /// What is left of the pause, if it ends by itself.
    pub pause: Option<Remainder>,
}

//! What a node must not forget.

use super::{members::Fingerprint, position::Position};
use crate::{Epoch, Incarnation, NodeId};

/// The durable state of a voter: one record, replaced as a whole.
///
/// A node that forgets its vote can vote twice in one epoch and elect two primaries. A record
/// that cannot be read means "do not vote", never "fresh".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ballot {
    /// The highest epoch this node has bound itself to: nothing lower is ever accepted again.
    pub promised: Epoch,
    /// Whom it voted for in that epoch, if it did.
    pub voted_for: Option<NodeId>,
    /// The life that wrote the record.
    pub incarnation: Incarnation,
    /// The list of members it was written under. A node whose list has changed does not vote
    /// until an operator has said, with all nodes stopped, that the new list is meant.
    pub members: Fingerprint,
    /// What the node may have acknowledged before its disk was wiped, and does not have again yet:
    /// it helps to elect no older data. Zero if nothing is missing. Without it, a second restart
    /// would make the node take its empty data for all there ever was.
    pub floor: Position,
}

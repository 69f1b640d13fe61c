//! The state that a node must not forget.

use super::{members::Fingerprint, position::Position};
use crate::{Epoch, Incarnation, NodeId};

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
    /// The list of members when the record was written. A node whose list has changed does not vote
    /// until an operator has stopped all nodes and confirmed the new list.
    pub members: Fingerprint,
    /// The data that the node may have acknowledged before its disk was wiped, and does not have
    /// again yet: it helps to elect no older data. Zero if nothing is missing. Without the floor, a
    /// node that restarts a second time would take its empty data for the newest there ever was.
    pub floor: Position,
}

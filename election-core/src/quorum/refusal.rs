//! Why a node does not change the list of members.

use crate::NodeId;
use thiserror::Error;

/// Why a node does not change the list of members; see
/// [`Quorum::change_members`](super::Quorum::change_members).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChangeRefusal {
    /// Only a primary proposes a list.
    #[error("this node does not lead: ask the primary")]
    NotLeading,
    /// A proposal has to be accepted first.
    #[error("another change of the members is under way: wait until it holds")]
    UnderWay,
    /// A majority has yet to record the last change. If the node that knows of it died now, the others
    /// might not be able to elect.
    #[error("the last change is not recorded by a majority of the members yet: wait until it is")]
    NotSettled,
    /// The member is there, or is not.
    #[error("{0} is a member already, or none: correct the id")]
    Unchanged(NodeId),
    /// No frame can carry the id.
    #[error("the id {0} has more than {most} bytes: use a shorter one", most = super::Config::MAX_ID)]
    TooLong(NodeId),
    /// A member that speaks only kevy-elect's protocol keeps to none of the rules that lists need.
    #[error("{0} speaks only kevy-elect's protocol: upgrade it first")]
    OldProtocol(NodeId),
    /// The list would be too long, or would have no member that can lead.
    #[error(
        "the new list would have too many members, ids longer than {most} bytes altogether, or \
         only witnesses: use fewer members, or shorter ids",
        most = super::Membership::MOST_BYTES
    )]
    NoRoom,
}

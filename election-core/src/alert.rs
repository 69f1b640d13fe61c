//! What an operator has to know of, as data.

use crate::{Epoch, NodeId};
use core::fmt;

/// Something that the protocol survives but cannot mend by itself: it stays safe, and says what
/// keeps it from electing, or from being as safe as it could be. Reported once when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Alert {
    /// Nobody leads, and this node could be elected if its data were as new as that of `from`.
    CatchUp {
        /// The member with the newest data that can be heard.
        from: NodeId,
    },
    /// Two processes run under one id. Neither is counted while both are heard.
    DuplicateId {
        /// The id.
        node: NodeId,
    },
    /// Two members claim to have won one election. Neither is supported any longer.
    TwoPrimaries {
        /// The election.
        epoch: Epoch,
        /// Who claimed it first, as seen from here, and who claimed it too.
        nodes: [NodeId; 2],
    },
    /// A member was given another list of members. Nobody votes while it is heard.
    MembersDiffer {
        /// The member.
        node: NodeId,
    },
    /// This node's list of members is not the one its ballot was written under. It does not vote
    /// until it is started once with the change confirmed, all nodes having been stopped.
    MembersChanged,
    /// A frame named an epoch so high that no sequence of elections can have led there. It was
    /// ignored.
    EpochJump {
        /// The member that sent it.
        node: NodeId,
        /// The epoch it named.
        epoch: Epoch,
    },
    /// Trust rests on peers that speak only the old protocol and do not echo: exclusion now
    /// depends on messages not being late. Also reported when it ends.
    BestEffort {
        /// Whether it begins or ends.
        begins: bool,
    },
    /// The ballot could not be read. This node does not vote: it may have voted before.
    BallotUnusable,
    /// There is no ballot: this node starts for the first time, or its disk was lost. What it may
    /// have promised it has to learn from the others, and has not for an election timeout after
    /// its grace: it does not vote until it has.
    BallotMissing {
        /// How many more of them it has to hear: in one process each, with a ballot that can be
        /// read, and so that they hear this node, too.
        needed: usize,
    },
    /// The ballot could not be written. This node does not vote until it can be.
    SaveFailed {
        /// The epoch that was to be promised.
        epoch: Epoch,
    },
}

impl Alert {
    /// A stable lower-case name for logs, metrics and JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::CatchUp { .. } => "catch_up",
            Self::DuplicateId { .. } => "duplicate_id",
            Self::TwoPrimaries { .. } => "two_primaries",
            Self::MembersDiffer { .. } => "members_differ",
            Self::MembersChanged => "members_changed",
            Self::EpochJump { .. } => "epoch_jump",
            Self::BestEffort { .. } => "best_effort",
            Self::BallotUnusable => "ballot_unusable",
            Self::BallotMissing { .. } => "ballot_missing",
            Self::SaveFailed { .. } => "save_failed",
        }
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CatchUp { from } => {
                write!(f, "nobody leads, and this node's data is older than {from}'s: catch up")
            }
            Self::DuplicateId { node } => {
                write!(f, "two processes run as {node}: stop one of them")
            }
            Self::TwoPrimaries { epoch, nodes: [one, other] } => {
                write!(f, "both {one} and {other} claim to have won epoch {epoch}")
            }
            Self::MembersDiffer { node } => {
                write!(f, "{node} was given another list of members: give all the same")
            }
            Self::MembersChanged => f.write_str(
                "the list of members has changed since the last vote: stop all nodes, \
                 then confirm the new list once",
            ),
            Self::EpochJump { node, epoch } => {
                write!(f, "{node} named epoch {epoch}, which no election can have reached")
            }
            Self::BestEffort { begins: true } => {
                f.write_str("too few peers echo: exclusion is best effort; upgrade the others")
            }
            Self::BestEffort { begins: false } => {
                f.write_str("enough peers echo again: exclusion is certain")
            }
            Self::BallotUnusable => {
                f.write_str("the ballot cannot be read: this node does not vote")
            }
            Self::BallotMissing { needed } => {
                write!(
                    f,
                    "no ballot is here, and what it said must be learned from {needed} more of the \
                     others: start them, and mend those that cannot read theirs or run twice"
                )
            }
            Self::SaveFailed { epoch } => {
                write!(f, "the ballot of epoch {epoch} cannot be written: this node does not vote")
            }
        }
    }
}

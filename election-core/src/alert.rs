//! What an operator has to know, as data.

use crate::{Epoch, NodeId};
use alloc::vec::Vec;
use core::{fmt, time::Duration};

/// A condition that the protocol survives but cannot mend. The protocol stays safe and says what
/// keeps it from electing a leader, or what weakens its guarantees. It reports each alert once,
/// when the condition begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Alert {
    /// Nobody leads, and this node could be elected if its data were as new as the data of `from`.
    CatchUp {
        /// The member with the newest data among those that this node hears.
        from: NodeId,
    },
    /// Nobody leads, and this node could be elected if its data reached as far as a witness has
    /// recorded. No member that this node hears has such data.
    DataOutOfReach {
        /// The witness.
        witness: NodeId,
    },
    /// Two processes run under one id: they take turns to speak. Neither is counted while both are
    /// heard. A restart is none, even if nothing has ended the connections of the life before.
    DuplicateId {
        /// The id.
        node: NodeId,
    },
    /// Two members claim to have won one election. This node supports neither any longer.
    TwoPrimaries {
        /// The epoch of that election.
        epoch: Epoch,
        /// The member that claimed it first, as seen from here, and the member that claimed it
        /// next.
        nodes: [NodeId; 2],
    },
    /// A member was given another list of members, another `down_after`, or another name of the
    /// cluster. Nobody votes while that member is heard, unless its own ballot keeps it from voting
    /// by what it was given.
    MembersDiffer {
        /// The member.
        node: NodeId,
    },
    /// This node's ballot was written under another `down_after` or another name of the cluster, or knows
    /// nothing of the list of members that the node was given. The node does not vote until all nodes have been stopped and it is started
    /// once with that confirmed ([`new_peers`](crate::quorum::ConfigBuilder::new_peers)).
    MembersChanged,
    /// A frame named an epoch so high that no sequence of elections can have led there. This node
    /// ignored the frame. As long as somebody names such epochs, it believes in 2³² epochs more after
    /// each `down_after`, so that it finds back to members that were led astray.
    EpochJump {
        /// The member that sent it.
        node: NodeId,
        /// The epoch it named.
        epoch: Epoch,
    },
    /// Too few peers echo, because the others speak only kevy-elect's protocol. Trust rests on
    /// those others: exclusion now depends on messages not being late. Reported when it begins and
    /// ends.
    BestEffort {
        /// Whether it begins or ends.
        begins: bool,
    },
    /// This node cannot read its ballot. It does not vote, because it may have voted before.
    BallotUnusable,
    /// This node has no ballot: it starts for the first time, or its disk was lost. It must learn
    /// from the others what it may have promised, and does not vote before that. It reports this
    /// alert when an election timeout has passed after its boot grace.
    BallotMissing {
        /// How many more members it has to hear. A member counts if one process runs under its id,
        /// it can read its ballot, it knows its position, and it hears this node.
        needed: usize,
        /// The members that do not count yet: so many of these are needed.
        missing: Vec<NodeId>,
    },
    /// This node has not been told how far its data have come: it votes for no new primary and does
    /// not campaign. Reported when an election timeout has passed after its boot grace.
    PositionUnknown,
    /// This node could not write its ballot. It does not vote until it can.
    SaveFailed {
        /// The epoch that it was about to promise.
        epoch: Epoch,
    },
    /// This node was told to hand its leadership over to a member that cannot take it now. It goes
    /// on leading. Reported for every such order.
    HandOverRefused {
        /// The member; `None` if the order named none of the list.
        to: Option<NodeId>,
        /// Whether the member is heard and hears this node, so that it says itself that it could
        /// not be elected now.
        heard: bool,
    },
    /// Automatic failover is paused in the whole cluster.
    FailoverPaused {
        /// The member that took the order.
        by: NodeId,
        /// How long it still lasts; `None` if that is until it is resumed.
        left: Option<Duration>,
    },
    /// Automatic failover is not paused any more.
    FailoverResumed,
    /// This node was told to pause or to resume automatic failover, and could not. Nothing has
    /// changed. Reported for every such order.
    MaintenanceRefused {
        /// How many voters could be reached, or had taken the order when its time was over, this
        /// node included.
        heard: usize,
        /// How many are needed.
        needed: usize,
    },
}

impl Alert {
    /// A stable lower-case name for logs, metrics and JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::CatchUp { .. } => "catch_up",
            Self::DataOutOfReach { .. } => "data_out_of_reach",
            Self::DuplicateId { .. } => "duplicate_id",
            Self::TwoPrimaries { .. } => "two_primaries",
            Self::MembersDiffer { .. } => "members_differ",
            Self::MembersChanged => "members_changed",
            Self::EpochJump { .. } => "epoch_jump",
            Self::BestEffort { .. } => "best_effort",
            Self::BallotUnusable => "ballot_unusable",
            Self::BallotMissing { .. } => "ballot_missing",
            Self::PositionUnknown => "position_unknown",
            Self::SaveFailed { .. } => "save_failed",
            Self::HandOverRefused { .. } => "hand_over_refused",
            Self::FailoverPaused { .. } => "failover_paused",
            Self::FailoverResumed => "failover_resumed",
            Self::MaintenanceRefused { .. } => "maintenance_refused",
        }
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CatchUp { from } => {
                write!(f, "nobody leads, and this node's data is older than {from}'s: catch up")
            }
            Self::DataOutOfReach { witness } => write!(
                f,
                "nobody leads: {witness} has recorded newer data than any reachable node holds; \
                 start the node that holds it, or accept the loss on {witness}"
            ),
            Self::DuplicateId { node } => {
                write!(f, "two processes run as {node}: stop one of them")
            }
            Self::TwoPrimaries { epoch, nodes: [one, other] } => {
                write!(f, "both {one} and {other} claim to have won epoch {epoch}")
            }
            Self::MembersDiffer { node } => {
                write!(
                    f,
                    "{node} has a different member list, down_after or cluster name: give every \
                     member the same; two clusters need separate addresses"
                )
            }
            Self::MembersChanged => f.write_str(
                "the member list, down_after or the cluster's name has changed since the last \
                 vote, or the ballot is of another cluster: undo the change or correct the path if \
                 that was unintended; otherwise stop all nodes, then start each once with \
                 --new-peers (`new_peers` in a program)",
            ),
            Self::EpochJump { node, epoch } => {
                write!(
                    f,
                    "{node}, or an impostor, named epoch {epoch}, which no election can have \
                     reached: this node follows by at most 2^32 epochs per down_after and ignores \
                     the rest until then; let only members reach the ports"
                )
            }
            Self::BestEffort { begins: true } => f.write_str(
                "too few peers echo heartbeats, so exclusion is best effort; upgrade the others",
            ),
            Self::BestEffort { begins: false } => {
                f.write_str("enough peers echo heartbeats again: exclusion is guaranteed")
            }
            Self::BallotUnusable => {
                f.write_str("the ballot cannot be read: this node does not vote")
            }
            Self::BallotMissing { needed, missing } => {
                write!(f, "the ballot is missing, and what it said must be learned from ")?;
                if *needed < missing.len() {
                    write!(f, "{needed} more of ")?;
                }
                for (nth, node) in missing.iter().enumerate() {
                    let before = match nth {
                        0 => "",
                        _ if nth + 1 == missing.len() => " and ",
                        _ => ", ",
                    };
                    write!(f, "{before}{node}")?;
                }
                f.write_str(
                    ": start them, let them load their data, and repair those that cannot read \
                     their ballots or run twice",
                )
            }
            Self::PositionUnknown => f.write_str(
                "the application has not reported how far its data has advanced: this node neither \
                 votes nor campaigns; wait until the data is loaded, or find out why it cannot be",
            ),
            Self::SaveFailed { epoch } => {
                write!(f, "the ballot for epoch {epoch} cannot be written: this node does not vote")
            }
            Self::FailoverPaused { by, left: None } => {
                write!(f, "automatic failover is paused (ordered at {by}) until it is resumed")
            }
            Self::FailoverPaused { by, left: Some(left) } => {
                let seconds = left.as_millis().div_ceil(1_000);
                write!(f, "automatic failover is paused (ordered at {by}) for another {seconds} s")
            }
            Self::FailoverResumed => f.write_str("automatic failover is no longer paused"),
            Self::MaintenanceRefused { heard, needed } => write!(
                f,
                "neither paused nor resumed: {heard} voters accept the order, and {needed} must; \
                 check that this node may vote, and start or repair the others"
            ),
            Self::HandOverRefused { to: None, .. } => {
                f.write_str("not handed over: no such member; name one from the list")
            }
            Self::HandOverRefused { to: Some(to), heard: false } => {
                write!(f, "not handed over: {to} and this node do not hear each other; start {to}")
            }
            Self::HandOverRefused { to: Some(to), heard: true } => write!(
                f,
                "not handed over: {to} cannot be elected now, because it has just started, has \
                 resigned, is unfit, is a witness, may not vote, or speaks only kevy-elect's \
                 protocol; try again later, or name another"
            ),
        }
    }
}

//! Why a node cannot know who leads. That it names nobody may also mean that somebody leads whom it
//! does not hear, and who asks must not be told that nobody does.

use election_core::{
    NodeId, Timestamp,
    quorum::{Heard, Hindrance, PeerStatus, Quorum, Role},
};
use std::fmt;

/// Why a member does not know who leads: it hears no leader, and somebody may lead all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownLeader {
    /// It hears too few of the others: together with it they are no majority, and those that it does
    /// not hear may have elected somebody.
    NoMajority {
        /// How many it hears.
        heard: usize,
        /// How many others there are.
        others: usize,
    },
    /// A member that it hears supports somebody whom it does not hear.
    Unheard {
        /// The primary that it heard last, if that has fallen silent: as a rule, whom the other
        /// supports.
        primary: Option<NodeId>,
        /// The member that it hears.
        supporter: NodeId,
    },
    /// A member that it hears has another list of members, another `down_after` or another name, and
    /// may follow somebody by that.
    OtherList {
        /// The member that it hears.
        member: NodeId,
    },
    /// It is no member, or no longer: nobody tells it.
    NotAMember,
}

impl fmt::Display for UnknownLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMajority { heard, others } => {
                write!(
                    f,
                    "this member hears {heard} of the {others} others, which is not a majority"
                )
            }
            Self::Unheard { primary: Some(primary), .. } => {
                write!(f, "the primary {primary} is silent")
            }
            Self::Unheard { primary: None, supporter } => {
                write!(f, "{supporter} supports a member that this one does not hear")
            }
            Self::OtherList { member } => write!(
                f,
                "{member} has a different member list, down_after or cluster name, and may follow \
                 another leader"
            ),
            Self::NotAMember => f.write_str(
                "this node is no member, and members tell only each other; ask one of them",
            ),
        }
    }
}

impl UnknownLeader {
    /// Why a node that does not lead itself cannot know who does; `leader` is whom it names.
    pub(super) fn of(node: &Quorum, now: Timestamp, leader: Option<&NodeId>) -> Option<Self> {
        let members = node.config().members();
        let status = |peer| Some((members.id(peer)?, node.peer_status(peer, now)?));
        let peers: Vec<(&NodeId, PeerStatus)> = members.others().filter_map(status).collect();
        let is_fresh =
            |status: &PeerStatus| status.heard.as_ref().is_some_and(|heard| heard.is_fresh);
        let fresh = || peers.iter().filter(|(_, status)| is_fresh(status));
        let heard = fresh().count();
        if leader.is_some_and(|leader| fresh().any(|(id, _)| *id == leader)) {
            return None;
        }
        if node.unready() == Some(Hindrance::NotAMember) {
            return Some(Self::NotAMember);
        }
        if heard + 1 < members.quorum() {
            return Some(Self::NoMajority { heard, others: peers.len() });
        }
        let heard = peers.iter().filter_map(|(id, status)| Some((*id, status.heard.as_ref()?)));
        let unheard = heard.clone().find(|(_, heard)| heard.supports_unheard);
        let silent = |heard: &Heard| !heard.is_fresh && heard.role == Role::Primary;
        let primary = heard.clone().find(|(_, heard)| silent(heard)).map(|(id, _)| id.clone());
        let unheard = unheard.map(|(id, _)| Self::Unheard { primary, supporter: id.clone() });
        // One with an older list is told of the newer one, and tells of it.
        let generation = node.lists().established().generation;
        let is_odd = |heard: &Heard| heard.differs && heard.generation == generation;
        let odd = || heard.clone().find(|(_, heard)| heard.is_fresh && is_odd(heard));
        unheard.or_else(|| odd().map(|(id, _)| Self::OtherList { member: id.clone() }))
    }
}

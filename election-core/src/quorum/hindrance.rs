//! Why nobody leads, as values.
//!
//! An operator's first question is why nobody leads. So whatever forbids an election is a value here:
//! the rules (`rules::eligibility`) ask whether there is one, and
//! [`Quorum::status`](super::Quorum::status) says which.

use crate::{
    Epoch, NodeId, Timestamp,
    quorum::{members::Members, message::Availability, places::Peer, position::Position},
};
use core::fmt;

/// Why a node does not ask for votes now, or is not ready. The first reason that holds; others may
/// hold, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hindrance {
    /// It leads.
    Leads,
    /// It has ended its leadership, and waits until its work has stopped or its trust has run out.
    Drains(Epoch),
    /// It asks for votes.
    Campaigns(Epoch),
    /// It is a witness: it never leads.
    Witness,
    /// The list of members in force does not have it: it has yet to be accepted, or was removed.
    NotAMember,
    /// It is about to leave.
    Leaves,
    /// It is not fit to lead, by [`Event::Health`](super::Event::Health).
    Unfit,
    /// The application has not said how far the data have come.
    PositionUnknown,
    /// The leader work of this epoch was told to stop and has not.
    WorkGoesOn(Epoch),
    /// It cannot read its ballot.
    BallotUnusable,
    /// Its ballot was written under another list of members.
    MembersChanged,
    /// It has just started, and an earlier life may have supported another node until then.
    Boots {
        /// The end of the boot grace.
        until: Timestamp,
    },
    /// It has no ballot, and must hear more members before it knows what it may have promised.
    BallotMissing {
        /// How many.
        needed: usize,
    },
    /// It has no ballot, has heard enough members, and has yet to record what it learned.
    RecordsPromises,
    /// It supports this member, which leads or asks for votes.
    Supports {
        /// The member.
        node: Peer,
        /// When support ends, unless the member is heard again.
        until: Timestamp,
    },
    /// Automatic failover is paused, by an order to this member.
    Paused {
        /// The member that took the order.
        by: Peer,
    },
    /// It has resigned, or was deposed, and lets the others go first.
    StaysOut {
        /// Until when.
        until: Timestamp,
    },
    /// A member that it hears was given another list of members, and may vote by it.
    ListDiffers(Peer),
    /// Its disk was lost, and it has not caught up with what it may have acknowledged.
    LacksData {
        /// The position that it has to reach.
        floor: Position,
    },
    /// Its ballot is being written, or could not be.
    Saves,
    /// It failed to be elected, and waits before it tries again.
    BacksOff {
        /// Until when.
        until: Timestamp,
    },
    /// It tells the others first that it may vote, or that it leads no more.
    Tells,
    /// This member has newer data. With it, there would be enough votes.
    NewerData(Peer),
    /// Too few members would vote for it: see [`Refusal`] for each of them.
    TooFewVotes {
        /// How many would, this node included.
        willing: usize,
        /// How many are needed.
        needed: usize,
    },
    /// It lets better candidates go first.
    LetsOthersFirst {
        /// Until when.
        until: Timestamp,
    },
    /// Too few members and this one hear each other to elect anybody. Only of a member that is not
    /// ready: one that supports a primary needs to hear nobody else.
    Apart {
        /// How many of the others and this member hear each other.
        heard: usize,
        /// How many others there are.
        others: usize,
    },
}

/// Why a member would not vote for this node now, by what it last said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// It was not heard within `down_after`.
    NotHeard,
    /// Two processes run under its id.
    TwoLives,
    /// It says that it is not free to vote.
    NotFree(Availability),
    /// It does not hear this node.
    DoesNotHear,
    /// It has newer data, or is a witness that has recorded newer data.
    NewerData,
    /// It speaks only kevy-elect's protocol, and somebody leads.
    HasPrimary,
    /// It speaks only kevy-elect's protocol, whose rules prefer that member.
    Outranks,
}

impl Hindrance {
    /// The reason as a phrase that continues "this node does not ask for votes, because …", with the
    /// names of `members`. Instants are left out.
    #[must_use]
    pub fn named(self, members: &Members) -> impl fmt::Display + use<'_> {
        Named { hindrance: self, members }
    }
}

struct Named<'a> {
    hindrance: Hindrance,
    members: &'a Members,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |peer| self.members.id(peer).map_or("?", NodeId::as_str);
        match self.hindrance {
            Hindrance::Leads => f.write_str("it leads"),
            Hindrance::Drains(epoch) => write!(f, "its leadership under epoch {epoch} is ending"),
            Hindrance::Campaigns(epoch) => write!(f, "it is asking already, for epoch {epoch}"),
            Hindrance::Witness => f.write_str("it is a witness"),
            Hindrance::NotAMember => f.write_str("the list of members in force does not have it"),
            Hindrance::Leaves => f.write_str("it is about to leave"),
            Hindrance::Unfit => f.write_str("it is not fit to lead"),
            Hindrance::PositionUnknown => {
                f.write_str("the application has not reported how far its data has advanced")
            }
            Hindrance::WorkGoesOn(epoch) => {
                write!(f, "its leader work from epoch {epoch} has not stopped")
            }
            Hindrance::BallotUnusable => f.write_str("it cannot read its ballot"),
            Hindrance::MembersChanged => {
                f.write_str("its ballot is for a different member list, down_after or cluster name")
            }
            Hindrance::Boots { .. } => {
                f.write_str("it has just started, and may have promised its vote before")
            }
            Hindrance::BallotMissing { needed } => {
                write!(f, "its ballot is missing, and it must hear {needed} more members")
            }
            Hindrance::RecordsPromises => f.write_str("it is recording what it may have promised"),
            Hindrance::Supports { node, .. } => write!(f, "it supports {}", name(node)),
            Hindrance::Paused { by } => {
                write!(f, "automatic failover is paused (ordered at {})", name(by))
            }
            Hindrance::StaysOut { .. } => f.write_str("it has recently resigned or been deposed"),
            Hindrance::ListDiffers(peer) => {
                write!(f, "{} has a different member list, down_after or cluster name", name(peer))
            }
            Hindrance::LacksData { floor } => {
                write!(f, "it lost its disk and has not caught up with {floor}")
            }
            Hindrance::Saves => f.write_str("its ballot is being written, or cannot be written"),
            Hindrance::BacksOff { .. } => f.write_str("it recently failed to be elected"),
            Hindrance::Tells => f.write_str("it has not yet told the others that it may"),
            Hindrance::NewerData(peer) => write!(f, "{} has newer data", name(peer)),
            Hindrance::TooFewVotes { willing, needed } => {
                write!(f, "it can count on {willing} of the {needed} votes that it needs")
            }
            Hindrance::LetsOthersFirst { .. } => {
                f.write_str("it is letting better candidates go first")
            }
            Hindrance::Apart { heard, others } => write!(
                f,
                "it and {heard} of the {others} others hear each other, which is not a majority"
            ),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHeard => "not heard",
            Self::TwoLives => "two processes run under its id",
            Self::NotFree(Availability::Busy | Availability::BusyAside) => {
                "leads or supports a leader"
            }
            Self::NotFree(Availability::Waiting) => "does not vote yet",
            Self::NotFree(Availability::Leaving) => "is about to leave",
            Self::NotFree(Availability::Loading) => "does not know its position",
            Self::NotFree(_) => "may not vote",
            Self::DoesNotHear => "does not hear this node",
            Self::NewerData => "has newer data",
            Self::HasPrimary => "has a primary",
            Self::Outranks => "is a candidate itself",
        })
    }
}

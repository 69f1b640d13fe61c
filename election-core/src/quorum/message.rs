//! The frames between the nodes of a quorum, and the events and actions of a node.

use crate::{
    Epoch, Incarnation, Label, Timestamp,
    quorum::{
        ballot::Ballot,
        maintenance::{Held, Maintenance, UnixMillis},
        membership::{MemberChange, Membership, Outline},
        places::{Fingerprint, Peer, PeerSet},
        position::Position,
    },
};
use alloc::boxed::Box;
use core::time::Duration;

#[cfg(doc)]
use crate::Alert;

/// The role that a node claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It leads, or drains a leadership that has just ended.
    Primary,
    /// It follows, or looks for somebody to follow.
    Replica,
    /// It has made an offer and counts votes.
    Candidate,
}

/// Which life of the sender sent a frame, and when by the sender's own clock. Stamps of one
/// incarnation grow strictly; stamps of different incarnations do not compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The life.
    pub incarnation: Incarnation,
    /// The time of sending.
    pub at: Timestamp,
}

/// One frame between two members. The connection says which member sent it.
///
/// Frames of peers that speak only kevy-elect's protocol ("legacy" peers) lack what is in an
/// `Option`. A sender always fills it in. The encoder leaves it out on connections whose other end
/// has not shown that it understands it. Such a [greeting](super::wire::Incoming::Greeting) looks
/// like a legacy peer's frame and is never handed to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// `HB`: every node sends it to every other, every interval and whenever something changes.
    Heartbeat(Heartbeat),
    /// `OFFER`: elect me.
    Offer {
        /// The epoch of the election; higher than any epoch the candidate has heard of.
        epoch: Epoch,
        /// The position of the candidate's data, at the time of sending.
        position: Position,
        /// The life of the candidate.
        stamp: Option<Stamp>,
    },
    /// `ACCEPT`: you have my vote, which is already durable.
    Accept {
        /// The epoch of the election.
        epoch: Epoch,
        /// The life of the voter.
        stamp: Option<Stamp>,
        /// The list of members that the voter has accepted to follow its own; see [`Outline`].
        accepted: Option<(Epoch, Fingerprint)>,
    },
    /// `LISTS`: which lists of members the sender has recorded. Only to a peer that has recorded
    /// others, by its heartbeats.
    Lists {
        /// The epoch the node is bound to.
        epoch: Epoch,
        /// The lists.
        lists: Box<Membership>,
        /// The life of the sender.
        stamp: Option<Stamp>,
    },
    /// `MAINTENANCE`: whether automatic failover is paused. Only to a peer that has said in this
    /// connection's other direction that it holds an older record.
    Maintenance {
        /// The epoch the node is bound to.
        epoch: Epoch,
        /// The record.
        record: Maintenance,
        /// How much is left of the pause; `None` if it lasts until it is resumed.
        left: Option<Duration>,
        /// Whether it is agreed, or only proposed.
        agreed: bool,
        /// The life of the sender.
        stamp: Option<Stamp>,
    },
    /// `ANNOUNCE`: I have been elected.
    Announce {
        /// The epoch of the election.
        epoch: Epoch,
        /// The address of the new primary's data.
        address: Label,
        /// The epoch that the tenure began with, as in [`Attestation::Token`]; none from a legacy
        /// peer.
        token: Epoch,
        /// The life of the primary.
        stamp: Option<Stamp>,
    },
}

impl Message {
    /// The epoch that it names.
    #[must_use]
    #[inline]
    pub const fn epoch(&self) -> Epoch {
        match self {
            Self::Heartbeat(heartbeat) => heartbeat.epoch,
            Self::Offer { epoch, .. }
            | Self::Accept { epoch, .. }
            | Self::Announce { epoch, .. }
            | Self::Lists { epoch, .. }
            | Self::Maintenance { epoch, .. } => *epoch,
        }
    }

    /// The life of the sender, and when it sent the message; none from a legacy peer.
    #[must_use]
    #[inline]
    pub const fn stamp(&self) -> Option<&Stamp> {
        match self {
            Self::Heartbeat(Heartbeat { extension: Some(extension), .. }) => Some(&extension.stamp),
            Self::Heartbeat(_) => None,
            Self::Offer { stamp, .. }
            | Self::Accept { stamp, .. }
            | Self::Announce { stamp, .. }
            | Self::Lists { stamp, .. }
            | Self::Maintenance { stamp, .. } => stamp.as_ref(),
        }
    }
}

/// The state of a node as it publishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Heartbeat {
    /// The epoch the node is bound to.
    pub epoch: Epoch,
    /// The role of the node.
    pub role: Role,
    /// How far its data has come.
    pub position: Position,
    /// The fields that legacy peers do not send.
    pub extension: Option<Extension>,
}

/// The fields of a heartbeat that legacy peers do not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extension {
    /// The life of the sender, and when it sent the frame.
    pub stamp: Stamp,
    /// What the sender attests of the leadership that it takes part in.
    pub attestation: Attestation,
    /// Whether the sender could vote now.
    pub availability: Availability,
    /// The member that should lead next, from a primary that is about to step down.
    pub nominee: Option<Peer>,
    /// The sender's list of members.
    pub fingerprint: Fingerprint,
    /// The members that the sender hears, each in one life only.
    pub hears: PeerSet,
    /// Which record of [`Maintenance`] the sender holds.
    pub holds: Held,
    /// Which lists of members the sender has recorded.
    pub lists: Outline,
}

/// What a node attests of the leadership that it takes part in. (One enum rather than two options
/// that exclude each other: frames are moved often, and this keeps them within 128 bytes.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attestation {
    /// The node supports nobody that it could echo, and does not lead.
    None,
    /// The node supports another: the stamp of the last frame that extended this support. The
    /// supported node counts its trust from there. A node supports at most one other node, which
    /// recognises itself by the incarnation.
    Echo(Stamp),
    /// The node leads: the epoch that its tenure began with. This is the fencing token. It stays
    /// the same when the node raises the epoch to take in others.
    Token(Epoch),
}

impl Attestation {
    /// The stamp that is echoed.
    #[must_use]
    pub const fn echo(&self) -> Option<&Stamp> {
        match self {
            Self::Echo(stamp) => Some(stamp),
            Self::None | Self::Token(_) => None,
        }
    }

    /// The fencing token; [`Epoch::NONE`] if there is none.
    #[must_use]
    pub const fn token(&self) -> Epoch {
        match self {
            Self::Token(epoch) => *epoch,
            Self::None | Self::Echo(_) => Epoch::NONE,
        }
    }
}

/// Whether a node could vote, and whether it stands for election, by its own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Availability {
    /// It leads or drains, or it supports a node that leads or asks for votes.
    Busy,
    /// The same, but it would not stand for election if it were free.
    BusyAside,
    /// It supports nobody, and nothing else keeps it from voting.
    Free,
    /// The same, but it does not stand for election: it has resigned lately, is unfit to lead, or
    /// waits for its last leader work to stop. Nobody waits for it.
    FreeAside,
    /// It supports nobody, but does not vote yet: it has just started, has lost its disk, or hears a
    /// peer that votes by another list of members.
    Waiting,
    /// It is about to leave: it votes for nobody and stands for nothing any more.
    Leaving,
    /// It cannot read its ballot, or the ballot is of another list of members than it was given. It
    /// votes for nobody in this life, and nobody learns from it what was promised.
    Ineligible,
    /// It does not know yet how far its data have come: it votes for no new primary, and the
    /// position it sends is not that of its data. It may support a primary meanwhile.
    Loading,
}

impl Availability {
    /// Whether it leads, drains, or supports another node.
    #[must_use]
    pub const fn is_busy(self) -> bool {
        matches!(self, Self::Busy | Self::BusyAside)
    }

    /// Whether it would vote now.
    #[must_use]
    pub const fn is_free(self) -> bool {
        matches!(self, Self::Free | Self::FreeAside)
    }

    /// Whether it stands for election, or will once it is free.
    #[must_use]
    pub const fn stands(self) -> bool {
        matches!(self, Self::Busy | Self::Free | Self::Waiting)
    }
}

/// A connection from a peer to this node, numbered by the driver: a greater number is a newer
/// connection. Only the newest connection of a peer counts. One counter serves all peers, and is
/// never reset while the process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(pub u64);

/// What the driver reports to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A frame came in.
    Received {
        /// The member that the connection belongs to.
        from: Peer,
        /// The connection.
        connection: Connection,
        /// The frame.
        message: Message,
    },
    /// A connection from a peer has ended.
    Disconnected {
        /// The member it belonged to.
        from: Peer,
        /// The connection.
        connection: Connection,
    },
    /// The ballot with this epoch is durable: it would survive a crash from now on.
    Saved(Epoch),
    /// The ballot with this epoch could not be saved. It may be durable all the same.
    SaveFailed(Epoch),
    /// The position of this node's own data. A level: it holds until the next report. If it was
    /// unknown at the start, the node can vote and campaign from now on.
    Position(Position),
    /// Whether this node is fit to lead. A level.
    Health(bool),
    /// Hand leadership over to this member: like resigning, but in its favour. This node goes on
    /// leading, and reports [`Alert::HandOverRefused`], if the member is not in the list, is not
    /// heard, does not hear this node, or says that it could not be elected now. The order has no
    /// effect on a node that does not lead, nor if it names this node itself.
    ///
    /// Once its work has stopped, this node waits until the member has all its data. It waits no
    /// longer than its trust and the margin last, less than `down_after` altogether. It stops
    /// waiting at once if the member's connection ends or the member stands aside.
    HandOver(Peer),
    /// Pause automatic failover in the whole cluster, for this long or until it is resumed. Every
    /// node counts the time by its own clock, from when it hears of the order. A node that does not
    /// hear a majority of voters refuses ([`Alert::MaintenanceRefused`]). See
    /// [`Quorum::maintenance`](super::Quorum::maintenance) for when it holds.
    Pause(Option<Duration>),
    /// Resume automatic failover, under the same conditions.
    Resume,
    /// Change the list of members; see [`Quorum::change_members`](super::Quorum::change_members), which
    /// says whether the node would. If it would not, nothing happens.
    ChangeMembers(MemberChange),
    /// What the wall clock reads now. It says when an order was given, for people to read, and how
    /// much of a pause has passed while this node was down; nothing else depends on it. Report it at
    /// the start, and whenever the wall clock may have been set; once a minute is enough.
    WallClock(UnixMillis),
}

/// What a driver has to do. Exhaustive: a new action must break every driver's build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Make the ballot durable, then report [`Event::Saved`] with its promised epoch. At most one
    /// save is outstanding. The vote that depends on it is made only after that report.
    Save(Ballot),
    /// Send a frame. It may be lost, and a later heartbeat may replace an earlier one that still
    /// waits. Frames of other kinds keep their order. On a new connection, a driver writes at most
    /// one heartbeat from before it was opened: older frames may be about another life of the
    /// receiver.
    Send {
        /// The receiver.
        to: Audience,
        /// The frame.
        message: Message,
    },
}

/// The receivers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Every other member.
    All,
    /// One member.
    One(Peer),
}

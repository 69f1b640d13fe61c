//! What the nodes of a quorum say to each other, and what they ask of their surroundings.

use super::{
    ballot::Ballot,
    members::{Fingerprint, Peer, PeerSet},
    position::Position,
};
use crate::{Epoch, Incarnation, Label, Timestamp};

/// What a node says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It leads, or drains a leadership that has just ended.
    Primary,
    /// It follows, or looks for somebody to follow.
    Replica,
    /// It has offered itself and counts votes.
    Candidate,
}

/// Which life of the sender sent a frame, and when by the sender's own clock. Stamps of one
/// incarnation grow strictly; stamps of different ones do not compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The life.
    pub incarnation: Incarnation,
    /// The time of sending.
    pub at: Timestamp,
}

/// One frame between two members. Whom it comes from is known from the connection.
///
/// What stands in an `Option` is missing from frames of peers that speak only the protocol of
/// seed 003 ("legacy" peers). A sender always fills it in; the encoder leaves it out on
/// connections whose other end has not shown that it understands it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// `HB`: sent by everybody to everybody, every interval and whenever something changes.
    Heartbeat(Heartbeat),
    /// `OFFER`: elect me.
    Offer {
        /// The election; higher than any epoch the candidate has heard of.
        epoch: Epoch,
        /// The candidate's data, as of sending.
        position: Position,
        /// Who exactly asks.
        stamp: Option<Stamp>,
    },
    /// `ACCEPT`: you have my vote, which is already durable.
    Accept {
        /// The election.
        epoch: Epoch,
        /// Who exactly votes.
        stamp: Option<Stamp>,
    },
    /// `ANNOUNCE`: I have been elected.
    Announce {
        /// The election.
        epoch: Epoch,
        /// Where the data of the new primary can be had.
        address: Label,
        /// The epoch that its tenure began with, as in [`Attestation::Token`]; none from a legacy
        /// peer.
        token: Epoch,
        /// Who exactly leads.
        stamp: Option<Stamp>,
    },
}

/// The state of a node as it publishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Heartbeat {
    /// The epoch the node is bound to.
    pub epoch: Epoch,
    /// What it is.
    pub role: Role,
    /// How far its data has come.
    pub position: Position,
    /// What legacy peers do not say.
    pub extension: Option<Extension>,
}

/// What legacy peers do not say in a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extension {
    /// Who exactly says so, and when.
    pub stamp: Stamp,
    /// What it attests of the leadership that it takes part in.
    pub attestation: Attestation,
    /// Whether the node could give its vote now.
    pub availability: Availability,
    /// The member that a primary which is about to step down wants to be followed by.
    pub nominee: Option<Peer>,
    /// The list of members the node was given.
    pub fingerprint: Fingerprint,
    /// The members that this node hears, each in one life only.
    pub hears: PeerSet,
}

/// What a node attests of the leadership that it takes part in. (One value rather than two that
/// exclude each other: frames are moved a great deal, and this keeps them within 128 bytes.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attestation {
    /// None that could be told.
    None,
    /// Another's: the stamp of the last frame that extended this node's support, which is what that
    /// one anchors its trust at. A node supports at most one other, which knows itself by the
    /// incarnation.
    Echo(Stamp),
    /// Its own: the epoch that the tenure began with, which is the fencing token and stays the same
    /// while the epoch is raised to take in others.
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

/// Whether a node could give its vote, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Availability {
    /// It leads or drains, or supports another that leads or asks for votes.
    Busy,
    /// It supports nobody, and nothing else keeps it from voting.
    Free,
    /// It supports nobody, and does not vote yet: it has just started, has lost its disk, has
    /// another list of members than a peer, or is about to go.
    Waiting,
    /// It cannot read its ballot: it votes for nobody, and what it says of epochs is not what it
    /// has promised.
    Ineligible,
}

/// A connection from a peer to this node, numbered by the driver: a greater number is a newer
/// connection. Only the newest of a peer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(pub u64);

/// What the outside world reports to a node.
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
    /// The ballot is durable: it would survive a crash from now on.
    Saved(Epoch),
    /// The ballot could not be made durable; whether it is cannot be known.
    SaveFailed(Epoch),
    /// How far this node's own data has come. A level: it holds until the next report.
    Position(Position),
    /// Whether this node is fit to lead, as a level.
    Health(bool),
    /// Hand leadership over to this member: like resigning, but in its favour.
    HandOver(Peer),
}

/// What the outside world is asked to do. Exhaustive: a new action must break every driver's build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Make the ballot durable, then report [`Event::Saved`] with its promised epoch. At most one
    /// is outstanding. The vote that depends on it comes into being only with that report.
    Save(Ballot),
    /// Send a frame. It may be lost, and a later heartbeat may take the place of an earlier one
    /// that is still waiting; frames of other kinds keep their order. Onto a new connection a
    /// driver writes at most one heartbeat from before it was opened: what is older may be about
    /// another life of the receiver.
    Send {
        /// To whom.
        to: Audience,
        /// What.
        message: Message,
    },
}

/// Whom a frame goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Every other member.
    All,
    /// One member.
    One(Peer),
}

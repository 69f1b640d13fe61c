//! This node's own leadership: sought, believed, or ended while work is still to stop.

use crate::{
    Epoch, Timestamp,
    quorum::{
        places::Peer,
        state::peers::{Mask, bit, members_of},
    },
};

/// An election in which this node is a candidate. While it leads, the election is a *bump*: the
/// same offer, made to take in peers that have promised a higher epoch, without an outage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Candidacy {
    pub(crate) epoch: Epoch,
    /// The node's vote for itself is durable, and so it may make the offer.
    pub(crate) open: bool,
    /// When the first offer was sent. For every vote, trust counts from here, whichever offer the
    /// vote answers.
    pub(crate) offered: Option<Timestamp>,
    /// The peers that still have to get the offer, one by one.
    pub(crate) offer_to: Mask,
    pub(crate) votes: Mask,
}

/// The state of this node's own leadership.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Leadership {
    /// It has none.
    None,
    /// It leads.
    Leading(Lead),
    /// It no longer leads, but has not let the others in yet.
    Draining(Drain),
}

/// A leadership that is believed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lead {
    /// The fencing token: the epoch of the election that began the tenure.
    pub(crate) token: Epoch,
    /// The epoch on the wire: the same, or that of the last bump.
    pub(crate) epoch: Epoch,
    /// When it began. It is only told to others.
    pub(crate) since: Timestamp,
    pub(crate) trusted_until: Timestamp,
    /// The highest epoch that a peer is known to be bound to; above `epoch`, a bump is due.
    pub(crate) outgrown: Epoch,
    /// Peers that have not echoed a frame of this leadership yet.
    pub(crate) unaware: Mask,
    /// The stamp of the first announcement. Only an echo of a later frame shows awareness.
    pub(crate) announced: Timestamp,
    /// Peers that still have to get an announcement.
    pub(crate) announce: Mask,
}

/// A leadership that has ended, whose work was told to stop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Drain {
    pub(crate) token: Epoch,
    pub(crate) epoch: Epoch,
    /// The member that should lead next.
    pub(crate) nominee: Option<Peer>,
    /// Work has stopped.
    pub(crate) stopped: bool,
    /// The process resigned, and stays out for a while after stepping down.
    pub(crate) resigned: bool,
}

impl Lead {
    /// The leadership goes on under the epoch of a bump. Everybody has to hear of that.
    pub(crate) fn raise(&mut self, epoch: Epoch, others: Mask) {
        self.epoch = epoch;
        self.unaware = others;
        self.announced = Timestamp::ZERO;
        self.announce = others;
    }

    /// These peers are to get an announcement.
    pub(crate) fn announce_to(&mut self, peers: Mask) {
        self.announce |= peers;
    }

    /// The next peer that is to get an announcement of its own.
    pub(crate) fn take_unannounced(&mut self) -> Option<Peer> {
        let to = members_of(self.announce).next()?;
        self.announce &= !bit(to);
        Some(to)
    }

    /// All peers have got an announcement with this stamp.
    pub(crate) fn announced_to_all(&mut self, stamped: Timestamp) {
        self.announce = 0;
        if self.announced == Timestamp::ZERO {
            self.announced = stamped;
        }
    }

    /// A heartbeat goes to all, and an announcement with it to those that need one.
    pub(crate) fn remind(&mut self) {
        self.announce = self.unaware;
    }

    /// A peer echoes a frame that was sent at `sent`.
    pub(crate) fn echoed(&mut self, by: Peer, sent: Timestamp) {
        if self.announced != Timestamp::ZERO && self.announced <= sent {
            self.is_known_to(by);
        }
    }

    /// A peer knows of this leadership.
    pub(crate) fn is_known_to(&mut self, peer: Peer) {
        self.unaware &= !bit(peer);
    }
}

impl Leadership {
    pub(crate) fn lead_mut(&mut self) -> Option<&mut Lead> {
        match self {
            Self::Leading(lead) => Some(lead),
            Self::None | Self::Draining(_) => None,
        }
    }

    pub(crate) fn drain_mut(&mut self) -> Option<&mut Drain> {
        match self {
            Self::Draining(drain) => Some(drain),
            Self::None | Self::Leading(_) => None,
        }
    }

    pub(crate) fn lead(&self) -> Option<&Lead> {
        match self {
            Self::Leading(lead) => Some(lead),
            Self::None | Self::Draining(_) => None,
        }
    }

    pub(crate) fn drain(&self) -> Option<&Drain> {
        match self {
            Self::Draining(drain) => Some(drain),
            Self::None | Self::Leading(_) => None,
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The fencing token of a leadership that is believed or drained.
    pub(crate) fn token(&self) -> Option<Epoch> {
        match self {
            Self::None => None,
            Self::Leading(lead) => Some(lead.token),
            Self::Draining(drain) => Some(drain.token),
        }
    }

    /// The epoch on the wire of a leadership that is believed or drained.
    pub(crate) fn epoch(&self) -> Option<Epoch> {
        match self {
            Self::None => None,
            Self::Leading(lead) => Some(lead.epoch),
            Self::Draining(drain) => Some(drain.epoch),
        }
    }
}

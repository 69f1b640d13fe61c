//! This node's own leadership: sought, believed, or ended while work is still to stop.

use super::{members::Peer, peers::Mask};
use crate::{Epoch, Timestamp};

/// An election in which this node is a candidate. While it leads, the election is a *bump*: the
/// same offer, made to take in peers that have promised a higher epoch, without an outage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Candidacy {
    pub(super) epoch: Epoch,
    /// The node's vote for itself is durable, and so it may make the offer.
    pub(super) open: bool,
    /// When the first offer was sent. For every vote, trust counts from here, whichever offer the
    /// vote answers.
    pub(super) offered: Option<Timestamp>,
    /// The peers that still have to get the offer, one by one.
    pub(super) offer_to: Mask,
    pub(super) votes: Mask,
}

/// The state of this node's own leadership.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Leadership {
    /// It has none.
    None,
    /// It leads.
    Leading(Lead),
    /// It no longer leads, but has not let the others in yet.
    Draining(Drain),
}

/// A leadership that is believed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lead {
    /// The fencing token: the epoch of the election that began the tenure.
    pub(super) token: Epoch,
    /// The epoch on the wire: the same, or that of the last bump.
    pub(super) epoch: Epoch,
    /// When it began. It is only told to others.
    pub(super) since: Timestamp,
    pub(super) trusted_until: Timestamp,
    /// The highest epoch that a peer is known to be bound to; above `epoch`, a bump is due.
    pub(super) outgrown: Epoch,
    /// Peers that have not echoed a frame of this leadership yet.
    pub(super) unaware: Mask,
    /// The stamp of the first announcement. Only an echo of a later frame shows awareness.
    pub(super) announced: Timestamp,
    /// Peers that still have to get an announcement.
    pub(super) announce: Mask,
}

/// A leadership that has ended, whose work was told to stop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Drain {
    pub(super) token: Epoch,
    pub(super) epoch: Epoch,
    /// The member that should lead next.
    pub(super) nominee: Option<Peer>,
    /// Work has stopped.
    pub(super) stopped: bool,
    /// The process resigned, and stays out for a while after stepping down.
    pub(super) resigned: bool,
}

impl Leadership {
    pub(super) fn lead(&self) -> Option<&Lead> {
        match self {
            Self::Leading(lead) => Some(lead),
            Self::None | Self::Draining(_) => None,
        }
    }

    pub(super) fn drain(&self) -> Option<&Drain> {
        match self {
            Self::Draining(drain) => Some(drain),
            Self::None | Self::Leading(_) => None,
        }
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The fencing token of a leadership that is believed or drained.
    pub(super) fn token(&self) -> Option<Epoch> {
        match self {
            Self::None => None,
            Self::Leading(lead) => Some(lead.token),
            Self::Draining(drain) => Some(drain.token),
        }
    }

    /// The epoch on the wire of a leadership that is believed or drained.
    pub(super) fn epoch(&self) -> Option<Epoch> {
        match self {
            Self::None => None,
            Self::Leading(lead) => Some(lead.epoch),
            Self::Draining(drain) => Some(drain.epoch),
        }
    }
}

//! Whom this node supports, and whom it follows.

use super::{members::Peer, message::Stamp};
use crate::{Epoch, Label};

/// A promise to vote for nobody else for `down_after` from receipt of the last frame that extended
/// it: what another's trust is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Support {
    pub(super) node: Peer,
    pub(super) epoch: Epoch,
    /// The stamp of the last frame that extended it, which is echoed. Nothing else ever is: the
    /// echo of a frame that was refused would let its sender trust in a support that it does not
    /// have.
    pub(super) stamp: Option<Stamp>,
}

impl Support {
    /// Whether a frame with this stamp can only be of the life that is supported.
    ///
    /// Another life of the same node may be its next one, or a second process beside it: a
    /// connection that has ended is not a process that has. So the support of one is never for
    /// another to take back, nor to live on; it runs out.
    pub(super) fn is_of(&self, stamp: Option<&Stamp>) -> bool {
        match (&self.stamp, stamp) {
            (Some(known), Some(stamp)) => known.incarnation == stamp.incarnation,
            (Some(_), None) => false,
            (None, _) => true,
        }
    }

    /// Takes a frame that asks for support in `epoch`; whether that extends it. One that was
    /// overtaken extends nothing, nor does another life, unless it has won a later election.
    pub(super) fn extend(&mut self, epoch: Epoch, stamp: Option<&Stamp>) -> bool {
        let (same_life, later) = (self.is_of(stamp), stamp.is_some() && self.epoch < epoch);
        if !same_life && !later {
            return false;
        }
        self.epoch = epoch;
        let overtaken = |known: &Stamp| stamp.is_none_or(|stamp| stamp.at <= known.at);
        if same_life && self.stamp.as_ref().is_some_and(overtaken) {
            return false;
        }
        self.stamp = stamp.copied();
        true
    }

    /// Whether a heartbeat as replica with this stamp takes back what was asked for before.
    pub(super) fn is_released_by(&self, stamp: Option<&Stamp>) -> bool {
        match (&self.stamp, stamp) {
            (Some(known), Some(stamp)) => {
                known.incarnation == stamp.incarnation && known.at < stamp.at
            }
            // What cannot be ordered releases only what cannot be echoed.
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// The primary as this node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Following {
    pub(super) primary: Peer,
    /// The epoch on the wire.
    pub(super) epoch: Epoch,
    /// The fencing token: the epoch that the tenure began with, or under which it was first seen
    /// if its primary does not say. Later ones are the same tenure.
    pub(super) token: Epoch,
    pub(super) label: Option<Label>,
    /// Another member claims the same epoch: neither is supported any longer.
    pub(super) disputed: bool,
}

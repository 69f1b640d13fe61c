//! The member this node supports, and the primary it follows.

use crate::{
    Epoch, Label,
    quorum::{message::Stamp, places::Peer},
};

/// A promise to vote for nobody else for `down_after` from receipt of the last frame that extended
/// it. Another node's trust is built on such promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Support {
    pub(crate) node: Peer,
    pub(crate) epoch: Epoch,
    /// The stamp of the last frame that extended this support, to be echoed. This node echoes
    /// nothing else: the echo of a refused frame would let its sender trust in support that it does
    /// not have.
    pub(crate) stamp: Option<Stamp>,
}

impl Support {
    /// Whether a frame with this stamp can only come from the supported life.
    ///
    /// Another life of the same node may be its next one, or a second process beside it: a
    /// connection that has ended does not mean that its process has. So no other life can end or
    /// use the support of this one; it runs out.
    pub(crate) fn is_of(&self, stamp: Option<&Stamp>) -> bool {
        match (&self.stamp, stamp) {
            (Some(known), Some(stamp)) => known.incarnation == stamp.incarnation,
            (Some(_), None) => false,
            (None, _) => true,
        }
    }

    /// Takes a frame of the supported life that asks for support in `epoch`. Returns whether it extends
    /// the support. An overtaken frame does not.
    pub(crate) fn extend(&mut self, epoch: Epoch, stamp: Option<&Stamp>) -> bool {
        self.epoch = epoch;
        let overtaken = |known: &Stamp| stamp.is_none_or(|stamp| stamp.at <= known.at);
        if self.stamp.as_ref().is_some_and(overtaken) {
            return false;
        }
        self.stamp = stamp.copied();
        true
    }

    /// Whether a heartbeat as replica with this stamp takes back the earlier request for support.
    pub(crate) fn is_released_by(&self, stamp: Option<&Stamp>) -> bool {
        match (&self.stamp, stamp) {
            (Some(known), Some(stamp)) => {
                known.incarnation == stamp.incarnation && known.at < stamp.at
            }
            // A heartbeat that cannot be ordered releases only support that cannot be echoed.
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// The primary as this node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Following {
    pub(crate) primary: Peer,
    /// The epoch on the wire.
    pub(crate) epoch: Epoch,
    /// The fencing token: the first epoch of the tenure. If the primary does not say, the epoch
    /// under which this node first saw it. Later epochs belong to the same tenure.
    pub(crate) token: Epoch,
    pub(crate) label: Option<Label>,
    /// Another member claims the same epoch. This node supports neither any longer.
    pub(crate) disputed: bool,
}

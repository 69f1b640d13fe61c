//! Frames that are due to single members.

use crate::quorum::{
    places::Peer,
    state::peers::{Mask, bit, members_of},
};

/// Frames for some members only, and a last frame for all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Outbox {
    /// The candidate whose offer is to be accepted.
    accept: Option<Peer>,
    /// The members that are due a heartbeat: this node refused their offer, or hears them anew.
    answer: Mask,
    /// The others must hear that this node has stepped down before it may leave.
    pub(crate) farewell: bool,
}

impl Outbox {
    pub(crate) fn accept(&mut self, candidate: Peer) {
        self.accept = Some(candidate);
    }

    pub(crate) fn take_accept(&mut self) -> Option<Peer> {
        self.accept.take()
    }

    pub(crate) fn owes_accept(&self) -> bool {
        self.accept.is_some()
    }

    pub(crate) fn accepts(&self) -> Option<Peer> {
        self.accept
    }

    pub(crate) fn answer(&mut self, peers: Mask) {
        self.answer |= peers;
    }

    pub(crate) fn owes_answers(&self) -> bool {
        self.answer != 0
    }

    /// The others must hear of what ends now before this node may leave.
    pub(crate) fn bid_farewell(&mut self) {
        self.farewell = true;
    }

    /// They hear of it in this step.
    pub(crate) fn farewell_is_told(&mut self) {
        self.farewell = false;
    }

    /// A heartbeat to all members answers each of them.
    pub(crate) fn answered_all(&mut self) {
        self.answer = 0;
    }

    /// The next member to answer. The last answer completes the farewell.
    pub(crate) fn take_answer(&mut self) -> Option<Peer> {
        let next = members_of(self.answer).next()?;
        self.answer &= !bit(next);
        self.farewell &= self.owes_answers();
        Some(next)
    }
}

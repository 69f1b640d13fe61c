//! Frames that are due to single members.

use super::{
    members::Peer,
    peers::{Mask, bit, members_of},
};

/// Frames for some members only, and a last frame for all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Outbox {
    /// The candidate whose offer is to be accepted.
    accept: Option<Peer>,
    /// The members that are due a heartbeat: this node refused their offer, or hears them anew.
    answer: Mask,
    /// The others must hear that this node has stepped down before it may leave.
    pub(super) farewell: bool,
}

impl Outbox {
    pub(super) fn accept(&mut self, candidate: Peer) {
        self.accept = Some(candidate);
    }

    pub(super) fn take_accept(&mut self) -> Option<Peer> {
        self.accept.take()
    }

    pub(super) fn owes_accept(&self) -> bool {
        self.accept.is_some()
    }

    pub(super) fn answer(&mut self, peers: Mask) {
        self.answer |= peers;
    }

    pub(super) fn owes_answers(&self) -> bool {
        self.answer != 0
    }

    /// A heartbeat to all members answers each of them.
    pub(super) fn answered_all(&mut self) {
        self.answer = 0;
    }

    /// The next member to answer. The last answer completes the farewell.
    pub(super) fn take_answer(&mut self) -> Option<Peer> {
        let next = members_of(self.answer).next()?;
        self.answer &= !bit(next);
        self.farewell &= self.answer != 0;
        Some(next)
    }
}

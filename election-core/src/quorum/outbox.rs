//! What is owed to single members.

use super::{
    members::Peer,
    peers::{Mask, bit, members_of},
};

/// Frames that some members are to get and others not, and a last one that all are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Outbox {
    /// Whose offer is to be accepted.
    accept: Option<Peer>,
    /// Who is owed a heartbeat: its offer is refused, or it is heard for the first time.
    answer: Mask,
    /// The others have to hear that this node has stepped down before it may go.
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

    /// A heartbeat to everybody answers each of them, and so does saying nothing at all.
    pub(super) fn answered_all(&mut self) {
        self.answer = 0;
    }

    /// The next to be answered. With the last answer the farewell has been said.
    pub(super) fn take_answer(&mut self) -> Option<Peer> {
        let next = members_of(self.answer).next()?;
        self.answer &= !bit(next);
        self.farewell &= self.answer != 0;
        Some(next)
    }
}

//! The frames under way between nodes.

use super::state::{MOST_NODES, link};
use crate::explore::books::NOW;
use election_core::quorum::{
    Attestation, Audience, Extension, Heartbeat, Message, PeerSet, Role, Stamp,
};
use std::time::Duration;

/// A frame under way to one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) message: Message,
}

/// The kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Heartbeat,
    Offer,
    Accept,
    Announce,
    Maintenance,
    Lists,
}

/// The frames sent over one link in this instant that have not arrived, in order: the numbers of
/// frames, then zeros. Of each kind the newest is enough, since an older one may as well have
/// arrived before the newer one was sent.
pub(super) type Link = [u32; KINDS];
const KINDS: usize = 5;

impl Frame {
    /// The frames that a node sends with one message, as their receivers understand them.
    pub(super) fn sent(
        from: u8,
        nodes: usize,
        to: Audience,
        message: &Message,
    ) -> impl Iterator<Item = Self> {
        let all = (0..MOST_NODES).take(nodes).filter_map(|node| u8::try_from(node).ok());
        let meant = move |node: &u8| match to {
            Audience::All => *node != from,
            Audience::One(peer) => *node != from && peer.index() == usize::from(*node),
        };
        all.filter(meant).map(move |to| {
            let mut message = message.clone();
            if let Message::Heartbeat(Heartbeat { extension: Some(extension), .. }) = &mut message {
                // A receiver ignores an echo of another node's frames.
                if extension.attestation.echo().is_some_and(|echo| node_of(echo) != to) {
                    extension.attestation = Attestation::None;
                }
                extension.hears = PeerSet::from_bits(extension.hears.bits() & (1 << to));
            }
            Self { from, to, message }
        })
    }

    pub(super) fn link(&self) -> u8 {
        link(self.from, self.to)
    }

    pub(super) fn kind(&self) -> Kind {
        match &self.message {
            Message::Heartbeat(_) => Kind::Heartbeat,
            Message::Offer { .. } => Kind::Offer,
            Message::Accept { .. } => Kind::Accept,
            Message::Announce { .. } => Kind::Announce,
            Message::Maintenance { .. } => Kind::Maintenance,
            Message::Lists { .. } => Kind::Lists,
        }
    }

    /// Whether an earlier frame need not arrive any more once this one was sent behind it.
    pub(super) fn replaces(&self, earlier: &Self) -> bool {
        let kinds = (self.kind(), earlier.kind());
        // A heartbeat as primary says everything that an announcement says.
        let announced = kinds == (Kind::Heartbeat, Kind::Announce) && self.claims().is_some();
        kinds.0 == kinds.1 || announced
    }

    /// The epoch that the sender claims to lead with this frame.
    pub(super) fn claims(&self) -> Option<u64> {
        match &self.message {
            Message::Heartbeat(heartbeat) if heartbeat.role == Role::Primary => {
                Some(heartbeat.epoch.get())
            }
            Message::Announce { epoch, .. } => Some(epoch.get()),
            _ => None,
        }
    }

    /// The same frame after this much of each node's time; `None` if it is older than the oldest
    /// frame that may arrive.
    pub(super) fn age(&self, by: &[Duration], oldest: Duration) -> Option<Self> {
        let mut aged = self.clone();
        let from = by[usize::from(self.from)];
        let to = by[usize::from(self.to)];
        match &mut aged.message {
            Message::Heartbeat(Heartbeat { extension: Some(extension), .. }) => {
                let Extension { stamp, attestation, .. } = extension;
                stamp.at = stamp.at - from;
                if let Attestation::Echo(echo) = attestation {
                    echo.at = echo.at - to;
                }
            }
            Message::Heartbeat(_) => {}
            Message::Offer { stamp, .. }
            | Message::Accept { stamp, .. }
            | Message::Maintenance { stamp, .. }
            | Message::Lists { stamp, .. }
            | Message::Announce { stamp, .. } => {
                if let Some(stamp) = stamp {
                    stamp.at = stamp.at - from;
                }
            }
        }
        let age = NOW.since(aged.message.stamp()?.at);
        (age <= oldest).then_some(aged)
    }
}

fn node_of(stamp: &Stamp) -> u8 {
    let low = stamp.incarnation.get().as_u64_pair().1;
    u8::try_from(low >> 8).unwrap_or(u8::MAX)
}

//! What is under way between nodes.

use super::{
    process::stamp_of,
    state::{MOST_NODES, link},
};
use election_core::quorum::{Audience, Extension, Heartbeat, Message, Role, Stamp};
use std::time::Duration;

/// A frame on its way to one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) message: Message,
}

/// Which place on a link a frame takes: of each kind the newest one of an instant is enough, since
/// an older one can as well have arrived before the newer was sent.
pub(super) const HEARTBEAT: usize = 0;
pub(super) const OFFER: usize = 1;
pub(super) const ACCEPT: usize = 2;
pub(super) const ANNOUNCE: usize = 3;

/// What was sent over one link in this instant: the numbers of frames, zero for none.
pub(super) type Link = [u32; 4];

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
                // What another is told about its own frames means nothing to this one.
                extension.echo.take_if(|echo| node_of(echo) != to);
            }
            Self { from, to, message }
        })
    }

    pub(super) fn link(&self) -> u8 {
        link(self.from, self.to)
    }

    pub(super) fn kind(&self) -> usize {
        match &self.message {
            Message::Heartbeat(_) => HEARTBEAT,
            Message::Offer { .. } => OFFER,
            Message::Accept { .. } => ACCEPT,
            Message::Announce { .. } => ANNOUNCE,
        }
    }

    /// Whether the sender says with it that it leads this epoch.
    pub(super) fn claims(&self) -> Option<u64> {
        match &self.message {
            Message::Heartbeat(heartbeat) if heartbeat.role == Role::Primary => {
                Some(heartbeat.epoch.get())
            }
            Message::Announce { epoch, .. } => Some(epoch.get()),
            _ => None,
        }
    }

    /// The same after so much of each node's time, unless it is older than the oldest that may
    /// arrive.
    pub(super) fn age(&self, by: &[Duration], oldest: Duration) -> Option<Self> {
        let mut aged = self.clone();
        let from = by[usize::from(self.from)];
        let to = by[usize::from(self.to)];
        match &mut aged.message {
            Message::Heartbeat(Heartbeat { extension: Some(extension), .. }) => {
                let Extension { stamp, echo, .. } = extension;
                stamp.at = stamp.at - from;
                if let Some(echo) = echo {
                    echo.at = echo.at - to;
                }
            }
            Message::Heartbeat(_) => {}
            Message::Offer { stamp, .. }
            | Message::Accept { stamp, .. }
            | Message::Announce { stamp, .. } => {
                if let Some(stamp) = stamp {
                    stamp.at = stamp.at - from;
                }
            }
        }
        let age = super::process::NOW.since(stamp_of(&aged.message)?.at);
        (age <= oldest).then_some(aged)
    }
}

fn node_of(stamp: &Stamp) -> u8 {
    let low = stamp.incarnation.get().as_u64_pair().1;
    u8::try_from(low >> 8).unwrap_or(u8::MAX)
}

//! Which dialect a peer is addressed in.

use super::limits::Dialect;
use crate::{
    Timestamp,
    quorum::{message::Connection, state::peers::MISSED},
    time::nanos,
};
use core::time::Duration;

/// Decides which dialect a peer is addressed in, by the connections that come in from it.
///
/// Several connections in a peer's name can be open at once: an old one whose end nobody has told, a
/// new one, and a stranger's. The connection that speaks for the peer is the first that said
/// anything. Another one takes its place only when that one has ended, or has been silent for
/// `down_after`. The node itself listens by the same rule. So one frame of a stranger in the primary's
/// name, in upper case, does not take from the primary what its voters echo; and an older version that
/// replaces a peer is understood `down_after` later at the latest.
///
/// A stranger may be the first to speak, while the peer has no connection. So who speaks in upper case
/// and has missed some heartbeats, for a quarter of `down_after`, gives way to lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressee {
    down_after: u64,
    speaker: Option<Speaker>,
    dialect: Dialect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Speaker {
    connection: Connection,
    heard: Timestamp,
}

impl Addressee {
    /// A peer that has not been heard yet. `down_after` is that of the node.
    #[must_use]
    pub fn new(down_after: Duration) -> Self {
        Self { down_after: nanos(down_after), speaker: None, dialect: Dialect::Legacy }
    }

    /// A frame or a greeting came in: its connection, and what [`Decoder::dialect`] says of that
    /// connection since. Returns whether the peer has just shown that it understands the extension;
    /// the driver then sends its last heartbeat again, in full.
    ///
    /// [`Decoder::dialect`]: super::Decoder::dialect
    pub fn heard(&mut self, connection: Connection, dialect: Dialect, now: Timestamp) -> bool {
        let gives_way = (self.dialect, dialect) == (Dialect::Legacy, Dialect::Extended);
        let patience = if gives_way { self.down_after / MISSED } else { self.down_after };
        let speaks = |speaker: Speaker| {
            speaker.connection == connection || speaker.heard.after(patience) <= now
        };
        if !self.speaker.is_none_or(speaks) {
            return false;
        }
        self.speaker = Some(Speaker { connection, heard: now });
        let before = core::mem::replace(&mut self.dialect, dialect);
        before == Dialect::Legacy && dialect == Dialect::Extended
    }

    /// Whether this connection speaks for the peer.
    pub(super) fn listens_to(&self, connection: Connection) -> bool {
        self.speaker.is_some_and(|speaker| speaker.connection == connection)
    }

    /// A connection from the peer has ended.
    pub fn ended(&mut self, connection: Connection) {
        if self.speaker.is_some_and(|speaker| speaker.connection == connection) {
            self.speaker = None;
            self.dialect = Dialect::Legacy;
        }
    }

    /// The connection *to* the peer was opened anew: an older version may answer there. Until the
    /// peer is heard again, it gets kevy-elect's frames.
    pub fn dialled(&mut self) {
        self.dialect = Dialect::Legacy;
    }

    /// The dialect of the next frame to the peer.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }
}

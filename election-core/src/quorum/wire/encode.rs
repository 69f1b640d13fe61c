//! Frames into bytes, without allocating.

use super::{
    error::InvalidId,
    id,
    limits::Dialect,
    number::{MAX_DIGITS, to_decimal, to_hex},
    words::{Verb, role_name},
};
use crate::{
    Epoch, NodeId,
    quorum::{
        members::{Members, Peer},
        message::{Extension, Message, Stamp},
    },
};
use core::fmt;

/// What legacy peers are told of this node's offset.
///
/// They compare nothing else, so that a former primary whose data has forked would win by the
/// writes that nobody else has, and every acknowledged write since would be lost (hole 11 of the
/// design). Peers of this protocol compare histories first and are always told the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LegacyOffset {
    /// Zero: nobody knows yet that this node's data continues what the others have. It then
    /// neither outranks a legacy peer nor gets the vote of one that has data.
    #[default]
    Withheld,
    /// The true one: this node leads, or its data has been brought in line with a primary's since
    /// it last led or started.
    Shown,
}

/// Writes the frames of one node.
#[derive(Clone, Debug)]
pub struct Encoder {
    members: Members,
}

impl Encoder {
    /// The encoder of the node that these members name.
    ///
    /// # Errors
    /// If a member's id cannot be sent.
    pub fn new(members: Members) -> Result<Self, InvalidId> {
        core::iter::once(members.me())
            .chain(members.others())
            .filter_map(|peer| members.id(peer))
            .try_for_each(id::check)?;
        Ok(Self { members })
    }

    /// Replaces what stood in `frame` by this message, in the dialect that the peer understands,
    /// and gives its bytes back.
    ///
    /// In [`Dialect::Legacy`] the extension, the stamp and the history are left out, and so is
    /// the offset unless it may be shown. A message that has no extension is written without one
    /// in either dialect.
    pub fn encode<'f>(
        &self,
        message: &Message,
        dialect: Dialect,
        offset: LegacyOffset,
        frame: &'f mut Frame,
    ) -> &'f [u8] {
        let withheld = dialect == Dialect::Legacy && offset == LegacyOffset::Withheld;
        let shown = |offset: u64| if withheld { 0 } else { offset };
        match message {
            Message::Heartbeat(heartbeat) => {
                let extension = known(dialect, &heartbeat.extension);
                self.begin(Verb::Heartbeat, heartbeat.epoch, extension.is_some(), frame);
                frame.text(role_name(heartbeat.role));
                frame.number(shown(heartbeat.position.offset));
                if let Some(extension) = extension {
                    self.extend(extension, heartbeat.position.history, frame);
                }
            }
            Message::Offer { epoch, position, stamp } => {
                let stamp = known(dialect, stamp);
                self.begin(Verb::Offer, *epoch, stamp.is_some(), frame);
                frame.number(shown(position.offset));
                if let Some(stamp) = stamp {
                    frame.stamp(stamp);
                    frame.number(position.history);
                }
            }
            Message::Accept { epoch, stamp } => {
                let stamp = known(dialect, stamp);
                self.begin(Verb::Accept, *epoch, stamp.is_some(), frame);
                if let Some(stamp) = stamp {
                    frame.stamp(stamp);
                }
            }
            Message::Announce { epoch, address, stamp } => {
                let stamp = known(dialect, stamp);
                self.begin(Verb::Announce, *epoch, stamp.is_some(), frame);
                frame.text(address.as_str());
                if let Some(stamp) = stamp {
                    frame.stamp(stamp);
                }
            }
        }
        frame.as_bytes()
    }

    /// What all verbs have in common: their own name, the epoch, and who speaks.
    fn begin(&self, verb: Verb, epoch: Epoch, extended: bool, frame: &mut Frame) {
        frame.len = 0;
        frame.head(b'*', if extended { verb.extended() } else { verb.plain() });
        frame.text(verb.name());
        frame.number(epoch.get());
        frame.text(self.id(self.members.me()));
    }

    fn extend(&self, extension: &Extension, history: u64, frame: &mut Frame) {
        frame.stamp(&extension.stamp);
        match &extension.echo {
            Some(echo) => frame.stamp(echo),
            None => {
                frame.text("");
                frame.text("");
            }
        }
        frame.text(if extension.down { "1" } else { "0" });
        frame.number(history);
        frame.text(extension.nominee.map_or("", |nominee| self.id(nominee)));
        frame.number(extension.fingerprint.get());
    }

    /// A place that the list does not have gives the empty text, which stands for nobody.
    fn id(&self, peer: Peer) -> &str {
        self.members.id(peer).map_or("", NodeId::as_str)
    }
}

/// An extension that the peer understands.
fn known<T>(dialect: Dialect, extension: &Option<T>) -> Option<&T> {
    extension.as_ref().filter(|_| dialect == Dialect::Extended)
}

/// Room for one frame, to be used again for the next.
#[derive(Clone)]
pub struct Frame {
    bytes: [u8; Self::SIZE],
    len: usize,
}

impl Frame {
    /// The longest frame that is ever written, an extended ANNOUNCE: verb, 20 digits, an id of 32
    /// bytes, an address of 255, a stamp of 20 digits and one of 32; and what one store of a fixed
    /// size may write behind it.
    const SIZE: usize = 512;

    /// Room without a frame in it.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; Self::SIZE], len: 0 }
    }

    /// The frame that was written last.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// The line before an array or a bulk string.
    fn head(&mut self, kind: u8, number: usize) {
        let mut digits = [0; MAX_DIGITS];
        let count = to_decimal(number as u64, &mut digits);
        self.put(&[kind]);
        self.put(&digits[..count]);
        self.put(b"\r\n");
    }

    fn text(&mut self, text: &str) {
        self.head(b'$', text.len());
        self.put(text.as_bytes());
        self.put(b"\r\n");
    }

    fn number(&mut self, value: u64) {
        let mut digits = [0; MAX_DIGITS];
        let count = to_decimal(value, &mut digits);
        self.head(b'$', count);
        self.put(&digits[..count]);
        self.put(b"\r\n");
    }

    fn stamp(&mut self, stamp: &Stamp) {
        self.number(stamp.at.as_nanos());
        self.head(b'$', 32);
        self.put(&to_hex(stamp.incarnation.get().as_u128()));
        self.put(b"\r\n");
    }
}

impl Default for Frame {
    fn default() -> Self {
        Self::new()
    }
}

/// As text, escaped.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

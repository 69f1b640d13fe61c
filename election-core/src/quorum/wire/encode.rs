//! Writes frames as bytes.

use super::{
    error::InvalidId,
    id,
    keywords::{Verb, availability_digit, role_name},
    limits::Dialect,
    number::{MAX_DIGITS, to_decimal},
};
use crate::{
    Epoch, NodeId,
    quorum::{
        maintenance::{Held, Maintenance},
        members::{Members, Peer},
        message::{Extension, Message, Stamp},
    },
    time::whole_millis,
};
use core::{fmt, time::Duration};
use uuid::Uuid;

/// Writes the frames of one node.
#[derive(Clone, Debug)]
pub struct Encoder {
    members: Members,
}

impl Encoder {
    /// The encoder of the node that `members` names as its own.
    ///
    /// # Errors
    /// If a member's id cannot be sent.
    pub fn new(members: Members) -> Result<Self, InvalidId> {
        core::iter::once(members.me())
            .chain(members.others())
            .filter_map(|peer| members.id(peer))
            .try_for_each(|id| id::parse(id.as_str().as_bytes()).map(drop))?;
        Ok(Self { members })
    }

    /// Replaces the content of `frame` by this message, in the dialect that the peer understands,
    /// and returns its bytes.
    ///
    /// In [`Dialect::Legacy`] it leaves out the extension, the stamp and the history. A message
    /// without an extension is written without one in either dialect. [`Message::Maintenance`] has
    /// no bytes in [`Dialect::Legacy`]: there is nothing to send.
    pub fn encode<'f>(
        &self,
        message: &Message,
        dialect: Dialect,
        frame: &'f mut Frame,
    ) -> &'f [u8] {
        match message {
            Message::Heartbeat(heartbeat) => {
                let extension = known(dialect, &heartbeat.extension);
                let more = extension.is_some_and(|said| said.holds != Held::default());
                let fields = arity(Verb::Heartbeat, extension) + usize::from(more);
                self.begin(Verb::Heartbeat, heartbeat.epoch, fields, frame);
                frame.text(role_name(heartbeat.role));
                frame.number(heartbeat.position.offset);
                if let Some(extension) = extension {
                    self.extend(extension, heartbeat.position.history, frame);
                }
            }
            Message::Offer { epoch, position, stamp } => {
                let stamp = known(dialect, stamp);
                self.begin(Verb::Offer, *epoch, arity(Verb::Offer, stamp), frame);
                frame.number(position.offset);
                if let Some(stamp) = stamp {
                    frame.stamp(stamp);
                    frame.number(position.history);
                }
            }
            Message::Accept { epoch, stamp } => {
                let stamp = known(dialect, stamp);
                self.begin(Verb::Accept, *epoch, arity(Verb::Accept, stamp), frame);
                if let Some(stamp) = stamp {
                    frame.stamp(stamp);
                }
            }
            Message::Maintenance { .. } if dialect == Dialect::Legacy => frame.len = 0,
            Message::Maintenance { epoch, record, left, agreed, stamp } => {
                self.begin(Verb::Maintenance, *epoch, Verb::Maintenance.extended(), frame);
                self.maintain(record, *left, *agreed, stamp.as_ref(), frame);
            }
            Message::Announce { epoch, address, token, stamp } => {
                let stamp = known(dialect, stamp);
                self.begin(Verb::Announce, *epoch, arity(Verb::Announce, stamp), frame);
                frame.text(address.as_str());
                if let Some(stamp) = stamp {
                    frame.stamp(stamp);
                    frame.number(token.get());
                }
            }
        }
        frame.as_bytes()
    }

    /// The common part of all verbs: the verb, the epoch, and the sender's id.
    fn begin(&self, verb: Verb, epoch: Epoch, fields: usize, frame: &mut Frame) {
        frame.len = 0;
        frame.head(b'*', fields);
        frame.text(verb.name());
        frame.number(epoch.get());
        self.member(Some(self.members.me()), frame);
    }

    fn maintain(
        &self,
        record: &Maintenance,
        left: Option<Duration>,
        agreed: bool,
        stamp: Option<&Stamp>,
        frame: &mut Frame,
    ) {
        frame.maybe_stamp(stamp);
        frame.number(u64::from(record.number));
        self.member(Some(record.issuer), frame);
        frame.number(record.paused.into());
        self.member(Some(record.by), frame);
        frame.number(record.since.map_or(0, |time| time.0));
        frame.number(left.map_or(0, whole_millis));
        self.member(record.primary, frame);
        frame.number(agreed.into());
    }

    fn member(&self, peer: Option<Peer>, frame: &mut Frame) {
        let id = peer.and_then(|peer| self.members.id(peer));
        frame.text(id.map_or("", NodeId::as_str));
    }

    fn extend(&self, extension: &Extension, history: u64, frame: &mut Frame) {
        frame.stamp(&extension.stamp);
        frame.maybe_stamp(extension.attestation.echo());
        frame.number(availability_digit(extension.availability));
        frame.number(history);
        self.member(extension.nominee, frame);
        frame.number(extension.fingerprint.get());
        frame.number(extension.hears.bits());
        frame.number(extension.attestation.token().get());
        if extension.holds != Held::default() {
            frame.number(extension.holds.get());
        }
    }
}

/// The number of fields of a frame, with or without its extension.
fn arity<T>(verb: Verb, extension: Option<&T>) -> usize {
    if extension.is_some() { verb.extended() } else { verb.plain() }
}

/// An extension that the peer understands.
fn known<T>(dialect: Dialect, extension: &Option<T>) -> Option<&T> {
    extension.as_ref().filter(|_| dialect == Dialect::Extended)
}

/// The buffer of one frame, to be reused for the next.
#[derive(Clone)]
pub struct Frame {
    bytes: [u8; Self::SIZE],
    len: usize,
}

impl Frame {
    /// The longest frame, an extended ANNOUNCE, has a verb, 20 digits, an id of 32 bytes, an address
    /// of 255, a stamp of 20 digits and one of 32, and a token.
    const SIZE: usize = 512;

    /// An empty buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; Self::SIZE], len: 0 }
    }

    /// The bytes of the frame written last.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Writes the line before an array or a bulk string.
    fn head(&mut self, kind: u8, count: usize) {
        self.put(&[kind]);
        self.put(to_decimal(count as u64, &mut [0; MAX_DIGITS]));
        self.put(b"\r\n");
    }

    fn bulk(&mut self, bytes: &[u8]) {
        self.head(b'$', bytes.len());
        self.put(bytes);
        self.put(b"\r\n");
    }

    fn text(&mut self, text: &str) {
        self.bulk(text.as_bytes());
    }

    fn number(&mut self, value: u64) {
        self.bulk(to_decimal(value, &mut [0; MAX_DIGITS]));
    }

    fn stamp(&mut self, stamp: &Stamp) {
        self.number(stamp.at.as_nanos());
        let life = stamp.incarnation.get().simple();
        self.text(life.encode_lower(&mut Uuid::encode_buffer()));
    }

    /// Two empty fields stand for no stamp.
    fn maybe_stamp(&mut self, stamp: Option<&Stamp>) {
        match stamp {
            Some(stamp) => self.stamp(stamp),
            None => (0..2).for_each(|_| self.text("")),
        }
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

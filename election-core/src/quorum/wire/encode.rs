//! Writes frames as bytes.

use super::{
    error::InvalidId,
    id,
    keywords::{Verb, availability_digit, role_name},
    limits::{Dialect, MAX_FRAME},
    number::{DECIMAL_ROOM, rewrite_decimal, to_decimal, to_hex},
};
use crate::{
    Epoch, NodeId,
    quorum::{
        maintenance::{Held, Maintenance},
        members::Members,
        membership::{Membership, Outline},
        message::{Attestation, Extension, Heartbeat, Message, Stamp},
        places::{Fingerprint, MemberList, Peer},
    },
    time::whole_millis,
};
use core::{fmt, ops::Range, time::Duration};

/// Writes the frames of one node.
#[derive(Clone, Debug)]
pub struct Encoder {
    members: Members,
    /// The two fields that are the same in every frame.
    me: Ready,
    list: Ready,
    fingerprint: Fingerprint,
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
            .try_for_each(id::check)?;
        let me = members.id(members.me()).map_or("", NodeId::as_str);
        let fingerprint = members.fingerprint();
        Ok(Self {
            me: Ready::new(|frame| frame.text(me)),
            list: Ready::new(|frame| frame.number(fingerprint.get())),
            fingerprint,
            members,
        })
    }

    /// Replaces the content of `frame` by this message, in the dialect that the peer understands,
    /// and returns its bytes.
    ///
    /// In [`Dialect::Legacy`] it leaves out the extension, the stamp and the history. A message
    /// without an extension is written without one in either dialect. [`Message::Maintenance`] and
    /// [`Message::Lists`] have no bytes in [`Dialect::Legacy`]: there is nothing to send.
    pub fn encode<'f>(
        &self,
        message: &Message,
        dialect: Dialect,
        frame: &'f mut Frame,
    ) -> &'f [u8] {
        if let (Message::Heartbeat(heartbeat), Dialect::Extended) = (message, dialect) {
            if frame.rewrite(self.origin(), heartbeat) {
                return frame.as_bytes();
            }
        }
        self.encode_in_full(message, dialect, frame);
        frame.as_bytes()
    }

    /// Whose frames these are.
    fn origin(&self) -> (Peer, Fingerprint) {
        (self.members.me(), self.fingerprint)
    }

    fn encode_in_full(&self, message: &Message, dialect: Dialect, frame: &mut Frame) {
        match message {
            Message::Heartbeat(heartbeat) => {
                let extension = known(dialect, &heartbeat.extension);
                let fields = arity(Verb::Heartbeat, extension) + extension.map_or(0, more);
                self.begin(Verb::Heartbeat, heartbeat.epoch, fields, frame);
                frame.text(role_name(heartbeat.role));
                frame.number(heartbeat.position.offset);
                if let Some(extension) = extension {
                    let times = self.extend(extension, heartbeat.position.history, frame);
                    frame.last = Some(Last { origin: self.origin(), heartbeat: *heartbeat, times });
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
            Message::Accept { epoch, stamp, accepted } => {
                let stamp = known(dialect, stamp);
                let accepted = known(dialect, accepted);
                let fields = arity(Verb::Accept, stamp) + accepted.map_or(0, |_| 2);
                self.begin(Verb::Accept, *epoch, fields, frame);
                if let Some(stamp) = stamp {
                    frame.stamp(stamp);
                }
                frame.accepted(accepted);
            }
            Message::Maintenance { .. } | Message::Lists { .. } if dialect == Dialect::Legacy => {
                frame.clear();
            }
            Message::Lists { epoch, lists, stamp } => {
                self.begin(Verb::Lists, *epoch, Verb::Lists.extended(), frame);
                frame.own_stamp(stamp.as_ref());
                frame.lists(lists);
            }
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
    }

    /// The common part of all verbs: the verb, the epoch, and the sender's id.
    fn begin(&self, verb: Verb, epoch: Epoch, fields: usize, frame: &mut Frame) {
        frame.clear();
        frame.head(b'*', fields);
        frame.text(verb.name());
        frame.number(epoch.get());
        frame.ready(&self.me);
    }

    fn maintain(
        &self,
        record: &Maintenance,
        left: Option<Duration>,
        agreed: bool,
        stamp: Option<&Stamp>,
        frame: &mut Frame,
    ) {
        frame.own_stamp(stamp);
        frame.number(u64::from(record.number));
        self.member(Some(record.issuer), frame);
        frame.digit(b'0' + u8::from(record.paused));
        self.member(Some(record.by), frame);
        frame.number(record.since.map_or(0, |time| time.0));
        frame.number(left.map_or(0, whole_millis));
        self.member(record.primary, frame);
        frame.digit(b'0' + u8::from(agreed));
    }

    fn member(&self, peer: Option<Peer>, frame: &mut Frame) {
        match peer.and_then(|peer| self.members.id(peer)) {
            Some(id) => frame.text(id.as_str()),
            None => frame.nothing(),
        }
    }

    /// Returns the places of the stamp's time and of the echoed one.
    fn extend(&self, extension: &Extension, history: u64, frame: &mut Frame) -> [Range<usize>; 2] {
        let stamp = frame.stamp(&extension.stamp);
        let echo = match extension.attestation.echo() {
            Some(echo) => frame.stamp(echo),
            None => {
                frame.nothing();
                frame.nothing();
                0..0
            }
        };
        frame.digit(availability_digit(extension.availability));
        frame.number(history);
        self.member(extension.nominee, frame);
        if extension.fingerprint == self.fingerprint {
            frame.ready(&self.list);
        } else {
            frame.number(extension.fingerprint.get());
        }
        frame.number(extension.hears.bits());
        frame.number(extension.attestation.token().get());
        if more(extension) > 0 {
            frame.number(extension.holds.get());
        }
        if extension.lists != Outline::default() {
            frame.number(extension.lists.generation);
            frame.accepted(extension.lists.accepted.as_ref());
        }
        [stamp, echo]
    }
}

/// The heartbeat that a frame holds. The next one often differs in the time of its stamps only, and
/// then only these are written.
#[derive(Clone)]
struct Last {
    origin: (Peer, Fingerprint),
    heartbeat: Heartbeat,
    /// The places of the stamp's time and of the echoed one.
    times: [Range<usize>; 2],
}

/// Whether two heartbeats are the same, apart from the times of their stamps.
#[inline]
fn same_but_times(one: &Heartbeat, other: &Heartbeat) -> bool {
    let (Some(said), Some(known)) = (&one.extension, &other.extension) else { return false };
    let attests_the_same = match (&said.attestation, &known.attestation) {
        (Attestation::Echo(said), Attestation::Echo(known)) => {
            said.incarnation == known.incarnation
        }
        (Attestation::Token(said), Attestation::Token(known)) => said == known,
        (Attestation::None, Attestation::None) => true,
        _ => false,
    };
    attests_the_same
        && (one.epoch, one.role, one.position) == (other.epoch, other.role, other.position)
        && said.stamp.incarnation == known.stamp.incarnation
        && (said.availability, said.nominee) == (known.availability, known.nominee)
        && (said.fingerprint, said.hears) == (known.fingerprint, known.hears)
        && (said.holds, said.lists) == (known.holds, known.lists)
}

/// A field that was written in advance.
#[derive(Clone, Debug)]
struct Ready {
    bytes: [u8; Self::SIZE],
    len: usize,
}

impl Ready {
    /// The longest id, the longest number, and their framing.
    const SIZE: usize = 40;

    fn new<T>(write: impl FnOnce(&mut Frame) -> T) -> Self {
        let mut frame = Frame::new();
        write(&mut frame);
        Self { bytes: core::array::from_fn(|place| frame.bytes[place]), len: frame.len }
    }
}

/// The number of fields of a frame, with or without its extension.
fn arity<T>(verb: Verb, extension: Option<&T>) -> usize {
    if extension.is_some() { verb.extended() } else { verb.plain() }
}

/// The number of fields that a heartbeat has only while they say something.
fn more(extension: &Extension) -> usize {
    match (extension.holds, extension.lists) {
        (_, Outline { accepted: Some(_), .. }) => 4,
        (_, Outline { generation: 1.., accepted: None }) => 2,
        (holds, _) => usize::from(holds != Held::default()),
    }
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
    last: Option<Last>,
}

impl Frame {
    /// The longest frame, and what one store of a fixed size may write behind it.
    const SIZE: usize = MAX_FRAME + Ready::SIZE;

    /// An empty buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; Self::SIZE], len: 0, last: None }
    }

    /// The bytes of the frame written last.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Turns the last heartbeat into this one, if they differ in the time of their stamps only.
    #[inline]
    fn rewrite(&mut self, origin: (Peer, Fingerprint), heartbeat: &Heartbeat) -> bool {
        let Some(last) = &mut self.last else { return false };
        if last.origin != origin || !same_but_times(heartbeat, &last.heartbeat) {
            return false;
        }
        let Some(extension) = &heartbeat.extension else { return false };
        let [stamp, echo] = &last.times;
        let mut write = |at: &Stamp, place: &Range<usize>| {
            let text = self.bytes.get_mut(place.clone());
            text.is_some_and(|text| rewrite_decimal(at.at.as_nanos(), text))
        };
        write(&extension.stamp, stamp)
            && extension.attestation.echo().is_none_or(|echoed| write(echoed, echo))
    }

    fn clear(&mut self) {
        self.len = 0;
        self.last = None;
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Writes the line before an array or a bulk string.
    #[inline]
    fn head(&mut self, kind: u8, number: usize) {
        let digit = |number: usize| b"0123456789"[number % 10];
        let ones = digit(number);
        match number {
            0..=9 => self.put(&[kind, ones, b'\r', b'\n']),
            10..=99 => self.put(&[kind, digit(number / 10), ones, b'\r', b'\n']),
            _ => {
                self.put(&[kind, digit(number / 100), digit(number / 10), ones, b'\r', b'\n']);
            }
        }
    }

    /// A copy of a fixed size is two stores; the next field overwrites the excess.
    fn ready(&mut self, field: &Ready) {
        self.bytes[self.len..self.len + Ready::SIZE].copy_from_slice(&field.bytes);
        self.len += field.len;
    }

    fn text(&mut self, text: &str) {
        self.head(b'$', text.len());
        self.put(text.as_bytes());
        self.put(b"\r\n");
    }

    fn nothing(&mut self) {
        self.put(b"$0\r\n\r\n");
    }

    fn digit(&mut self, digit: u8) {
        self.put(&[b'$', b'1', b'\r', b'\n', digit, b'\r', b'\n']);
    }

    /// The digits go straight to their place, which depends on their number: copying digits that
    /// were just written in pieces would wait for those pieces. Returns that place.
    fn number(&mut self, value: u64) -> Range<usize> {
        if let Ok(digit @ 0..=9) = u8::try_from(value) {
            self.digit(b'0' + digit);
            let end = self.len - b"\r\n".len();
            return end - 1..end;
        }
        let at = self.len + if value < 1_000_000_000 { 4 } else { 5 };
        let Some(digits) = self.bytes[at..].first_chunk_mut::<DECIMAL_ROOM>() else { return 0..0 };
        let count = to_decimal(value, digits);
        self.head(b'$', count);
        self.len = at + count;
        self.put(b"\r\n");
        at..at + count
    }

    fn own_stamp(&mut self, stamp: Option<&Stamp>) {
        match stamp {
            Some(stamp) => drop(self.stamp(stamp)),
            None => (0..2).for_each(|_| self.nothing()),
        }
    }

    fn accepted(&mut self, accepted: Option<&(Epoch, Fingerprint)>) {
        if let Some((epoch, list)) = accepted {
            self.number(epoch.get());
            self.number(list.get());
        }
    }

    /// The ids in the order of their places, each behind a space; then the three lists.
    fn lists(&mut self, lists: &Membership) {
        self.number(lists.origin().get());
        let names = lists.ids().iter().map(|id| id.as_ref().map_or("", NodeId::as_str));
        self.head(b'$', names.clone().map(|name| name.len() + 1).sum());
        for name in names {
            self.put(b" ");
            self.put(name.as_bytes());
        }
        self.put(b"\r\n");
        self.number(lists.established().generation);
        self.list(Some(lists.established()));
        self.list(lists.parent());
        self.number(lists.accepted().map_or(0, |(epoch, _)| epoch.get()));
        self.list(lists.accepted().map(|(_, list)| list));
    }

    fn list(&mut self, list: Option<&MemberList>) {
        self.number(list.map_or(0, |list| list.voters.bits()));
        self.number(list.map_or(0, |list| list.witnesses.bits()));
    }

    /// Returns the place of the time.
    fn stamp(&mut self, stamp: &Stamp) -> Range<usize> {
        let time = self.number(stamp.at.as_nanos());
        self.put(b"$32\r\n");
        self.put(&to_hex(stamp.incarnation.get().as_u128()));
        self.put(b"\r\n");
        time
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

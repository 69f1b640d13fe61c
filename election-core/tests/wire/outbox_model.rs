//! An outbox between a node that pushes whatever it likes and a peer behind connections that come
//! and go, and what must hold whatever happens.
//!
//! The fuzz target plays the same model.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use core::time::Duration;
use election_core::{
    Epoch, Incarnation, Label, NodeId, Timestamp,
    quorum::{
        Attestation, Availability, Connection, Extension, Heartbeat, Held, Members, Message,
        Outline, PeerSet, Position, Role, Stamp,
        wire::{Decoder, Dialect, Encoder, Outbox},
    },
};
use uuid::Uuid;

const DOWN: Duration = Duration::from_secs(5);

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happening {
    /// The node pushes a frame: which kind, and of which epoch.
    Push(Kind, u8),
    /// The connection takes so many bytes.
    Take(u16),
    /// A connection to the peer is made, or breaks.
    Open,
    Close,
    /// The peer is heard on its connection, which has a new number after it has ended.
    Hear,
    End,
    /// Somebody else speaks in the peer's name, in the dialect that the peer does not speak.
    Stranger,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Heartbeat(Role),
    Offer,
    Accept,
    Announce,
}

/// The other end of a connection.
struct Line {
    decoder: Decoder,
    /// What has come in of a frame, for a peer of kevy-elect.
    pending: Vec<u8>,
    /// The first frame pushed since the connection was made.
    since: usize,
    /// The next frame that may come in.
    next: usize,
    last_heartbeat: Option<usize>,
    /// The peer was heard since the connection was made.
    heard: bool,
}

/// The outbox, and everything known about what was pushed and what has arrived.
pub(crate) struct Model {
    outbox: Outbox,
    is_old: bool,
    pushed: Vec<Message>,
    line: Option<Line>,
    incoming: u64,
    speaks: bool,
    now: u64,
}

fn members(me: &str) -> Members {
    let ids = ["a", "b"].map(|id| NodeId::new(id).unwrap()).to_vec();
    Members::new(ids, &NodeId::new(me).unwrap()).unwrap()
}

impl Model {
    /// The outbox of a node for a peer that understands the extension, or for one of kevy-elect.
    pub(crate) fn new(is_old: bool) -> Self {
        let outbox = Outbox::new(Encoder::new(members("a")).unwrap(), DOWN);
        let (pushed, line) = (Vec::new(), None);
        Self { outbox, is_old, pushed, line, incoming: 1, speaks: false, now: 0 }
    }

    pub(crate) fn play(&mut self, happenings: &[Happening]) {
        for happening in happenings {
            self.now += 1;
            self.happen(*happening);
            self.is_bounded();
        }
        self.drain();
    }

    fn happen(&mut self, happening: Happening) {
        let (now, dialect) = (Timestamp::from_nanos(self.now), self.dialect());
        match happening {
            Happening::Push(kind, epoch) => {
                let message = self.message(kind, epoch);
                self.outbox.push(&message, now);
                self.pushed.push(message);
            }
            Happening::Take(count) => self.take(usize::from(count)),
            Happening::Open => {
                self.outbox.opened(now);
                let since = self.pushed.len();
                self.line = Some(Line {
                    decoder: Decoder::new(members("b")),
                    pending: Vec::new(),
                    since,
                    next: 0,
                    last_heartbeat: None,
                    heard: false,
                });
            }
            Happening::Close => {
                self.outbox.closed();
                self.line = None;
            }
            Happening::Hear => {
                self.outbox.heard(Connection(self.incoming), dialect, now);
                self.speaks = true;
                if let Some(line) = &mut self.line {
                    line.heard = true;
                }
            }
            Happening::End => {
                self.outbox.ended(Connection(self.incoming), now);
                self.speaks = false;
                self.incoming += 2;
            }
            Happening::Stranger => {
                if self.speaks {
                    let other = if self.is_old { Dialect::Extended } else { Dialect::Legacy };
                    self.outbox.heard(Connection(self.incoming + 1), other, now);
                }
            }
        }
    }

    fn dialect(&self) -> Dialect {
        if self.is_old { Dialect::Legacy } else { Dialect::Extended }
    }

    /// A frame that no other is like, in either dialect.
    fn message(&self, kind: Kind, epoch: u8) -> Message {
        let nth = self.pushed.len() as u64;
        let epoch = Epoch::new(if let Kind::Accept = kind { nth } else { u64::from(epoch) });
        let incarnation = Incarnation::new(Uuid::from_u128(7));
        let stamp = Stamp { incarnation, at: Timestamp::from_nanos(nth) };
        let position = Position { history: 0, offset: nth };
        match kind {
            Kind::Heartbeat(role) => {
                let extension = Some(Extension {
                    stamp,
                    attestation: Attestation::None,
                    availability: Availability::Busy,
                    nominee: None,
                    fingerprint: members("a").fingerprint(),
                    hears: PeerSet::from_bits(0),
                    holds: Held::default(),
                    lists: Outline::default(),
                });
                Message::Heartbeat(Heartbeat { epoch, role, position, extension })
            }
            Kind::Offer => Message::Offer { epoch, position, stamp: Some(stamp) },
            Kind::Accept => Message::Accept { epoch, stamp: Some(stamp), accepted: None },
            Kind::Announce => {
                let address = Label::new(&format!("10.0.0.1:{nth}")).unwrap();
                Message::Announce { epoch, address, token: epoch, stamp: Some(stamp) }
            }
        }
    }

    fn take(&mut self, count: usize) {
        let bytes = self.outbox.bytes();
        let taken = bytes[..count.min(bytes.len())].to_vec();
        self.outbox.written(count, Timestamp::from_nanos(self.now));
        let Some(line) = &mut self.line else { return assert!(taken.is_empty(), "to nobody") };
        for message in line.receive(taken, self.is_old) {
            assert!(self.is_old || line.heard, "{message:?} in full, and the peer was not heard");
            let said = |pushed: &Message| if self.is_old { plain(pushed) } else { pushed.clone() };
            let behind = self.pushed[line.next..].iter().position(|pushed| said(pushed) == message);
            let Some(behind) = behind else {
                panic!("{message:?} is twice, too late, or was never pushed")
            };
            let nth = line.next + behind;
            line.next = nth + 1;
            if matches!(message, Message::Heartbeat(_)) {
                line.last_heartbeat = Some(nth);
            } else {
                assert!(line.since <= nth, "{message:?} is from before the connection");
            }
        }
    }

    fn is_bounded(&self) {
        let (bytes, frames) = (self.outbox.bytes(), self.outbox.frames());
        assert!(bytes.len() <= 2_048 && self.outbox.frames().count() <= 5);
        assert!(frames.flatten().eq(bytes), "frame by frame it is the same");
        assert_eq!(self.outbox.is_empty(), bytes.is_empty());
        assert_eq!(self.outbox.cut_at().is_none(), bytes.is_empty());
        assert_eq!(self.outbox.is_open(), self.line.is_some());
        assert!(bytes.is_empty() || self.line.is_some());
    }

    /// In the end everything gets through that nothing newer has made void.
    fn drain(&mut self) {
        if self.line.is_none() {
            self.happen(Happening::Open);
        }
        self.happen(Happening::Hear);
        self.take(usize::MAX);
        assert!(self.outbox.is_empty());
        let Some(line) = &self.line else { return };
        let is_heartbeat = |message: &Message| matches!(message, Message::Heartbeat(_));
        let newest = self.pushed.iter().rposition(is_heartbeat);
        assert_eq!(line.last_heartbeat, newest, "the newest heartbeat is never lost");
        if line.since < self.pushed.len() {
            assert_eq!(line.next, self.pushed.len(), "nothing makes the last frame void");
        }
    }
}

impl Line {
    /// The messages in these bytes and those before.
    fn receive(&mut self, bytes: Vec<u8>, is_old: bool) -> Vec<Message> {
        let mut heard = Vec::new();
        let mut decode = |mut bytes: &[u8]| {
            while let Some(message) = self.decoder.read(&mut bytes).unwrap() {
                heard.push(message);
            }
        };
        if !is_old {
            decode(&bytes);
            return heard;
        }
        // As kevy-elect reads it: in whatever case, with exactly its own fields.
        self.pending.extend(bytes);
        while let Some(length) = whole_frame(&self.pending) {
            let mut frame: Vec<u8> = self.pending.drain(..length).collect();
            frame.make_ascii_uppercase();
            let words =
                [("PRIMARY", "primary"), ("REPLICA", "replica"), ("CANDIDATE", "candidate")];
            let text = String::from_utf8(frame).unwrap().replace("\r\nA\r\n", "\r\na\r\n");
            let text = words.iter().fold(text, |text, (upper, lower)| text.replace(upper, lower));
            decode(text.as_bytes());
        }
        heard
    }
}

/// The length of the frame at the beginning, once it is whole.
fn whole_frame(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let number = |at: &mut usize| {
        let line = bytes.get(*at + 1..)?;
        let end = line.windows(2).position(|end| end == b"\r\n")?;
        *at += 1 + end + 2;
        core::str::from_utf8(&line[..end]).unwrap().parse::<usize>().ok()
    };
    for _ in 0..number(&mut at)? {
        let length = number(&mut at)?;
        at += length + 2;
    }
    (at <= bytes.len()).then_some(at)
}

/// What a peer of kevy-elect makes of a frame.
fn plain(message: &Message) -> Message {
    let mut plain = message.clone();
    match &mut plain {
        Message::Heartbeat(heartbeat) => heartbeat.extension = None,
        Message::Offer { stamp, .. }
        | Message::Accept { stamp, .. }
        | Message::Lists { stamp, .. }
        | Message::Maintenance { stamp, .. } => *stamp = None,
        Message::Announce { stamp, token, .. } => (*stamp, *token) = (None, Epoch::NONE),
    }
    plain
}

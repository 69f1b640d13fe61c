//! The frames to one peer, from the step that sends them to the socket.

use super::{
    addressee::Addressee,
    due::Due,
    encode::{Encoder, Frame},
    limits::Dialect,
    unsent::Unsent,
};
use crate::{
    Timestamp,
    quorum::message::{Connection, Message},
    time::nanos,
};
use core::{fmt, time::Duration};

/// What a node has to say to one peer, whether there is a connection or not: the part of a driver
/// between [`Action::Send`] and a socket.
///
/// A driver has one for each peer. It tells the outbox what happens, and writes [`bytes`] into the
/// connection whenever there are any:
///
/// | what happens | what the driver calls |
/// | --- | --- |
/// | the node sends a frame that is for this peer | [`push`](Self::push) |
/// | a connection *to* the peer is made; it is gone | [`opened`](Self::opened); [`closed`](Self::closed) |
/// | the connection has taken bytes | [`written`](Self::written) |
/// | a frame or greeting came in *from* the peer, before the node gets it | [`heard`](Self::heard) |
/// | it was a greeting | then also [`greeted`](Self::greeted) |
/// | a connection *from* the peer has ended | [`ended`](Self::ended) |
///
/// It is less than 5 KiB and does not grow while the peer stalls, however long:
/// at most one frame of each kind waits, behind the rest of one that has begun.
///
/// # What it decides
///
/// * **Order.** Frames leave in the order in which they were pushed, though not all leave. A peer of
///   kevy-elect has nothing else to tell old from new. A newer frame never overtakes an older one.
/// * **Heartbeats.** The newest counts. It replaces an older one of which nothing has been written,
///   and goes behind the other frames that wait: so what stood before it still comes before it.
/// * **Superseded votes and offers.** An offer is void once the node offers another epoch, has won,
///   votes for another, or sends a heartbeat as replica. A vote is void once it is given again, or
///   the node is bound to a later epoch. An announcement is void once there is another, or the node
///   leads no more. Void is only what has not begun to be written.
/// * **A new connection** may lead to another life of the peer. It begins with the last heartbeat,
///   whether or not that has left before. Everything else from before is void, and so is what is
///   pushed, apart from heartbeats, while there is no connection: offers and announcements are
///   repeated, and an offer that is repeated is answered again.
/// * **A frame that was half written** when its connection broke is not continued. If it was the
///   last heartbeat, the next connection gets it as a whole.
/// * **The dialect** is the [`Addressee`]'s, at the moment when the first byte of a frame leaves. A
///   new connection begins without the extension. So does what follows once the connection that
///   spoke for the peer has ended.
/// * **Greetings.** What has left without the extension does not count with a peer of this protocol.
///   So as soon as it has shown to be one, it gets everything of this connection again, in full and
///   in order, that is not void meanwhile. (A peer of kevy-elect never shows it, and gets nothing
///   twice.)
/// * **Answers.** A peer that greets on a new connection waits for any frame that shows that it is
///   understood. So the last heartbeat leaves once more, at once, and once for each connection.
///
/// [`bytes`]: Self::bytes
/// [`Action::Send`]: crate::quorum::Action::Send
#[derive(Clone)]
pub struct Outbox {
    encoder: Encoder,
    addressee: Addressee,
    down_after: u64,
    is_open: bool,
    due: Due,
    unsent: Unsent,
    /// The newest connection whose greeting was answered.
    answered: Option<Connection>,
    /// Since when the first frame has waited for the connection to take it.
    since: Option<Timestamp>,
    /// The frame that was encoded last: the next heartbeat is mostly like it.
    frame: Frame,
}

impl Outbox {
    /// The outbox of a node for one of its peers, without a connection. `encoder` is the node's
    /// (cheap to clone), and so is `down_after`.
    #[must_use]
    pub fn new(encoder: Encoder, down_after: Duration) -> Self {
        Self {
            encoder,
            addressee: Addressee::new(down_after),
            down_after: nanos(down_after),
            is_open: false,
            due: Due::default(),
            unsent: Unsent::new(),
            answered: None,
            since: None,
            frame: Frame::new(),
        }
    }

    /// The members have changed: frames are encoded by this from now on.
    pub fn encode_by(&mut self, encoder: Encoder) {
        self.encoder = encoder;
    }

    /// A connection to the peer has been made. Any earlier one counts as closed.
    pub fn opened(&mut self, now: Timestamp) {
        self.closed();
        self.is_open = true;
        self.addressee.dialled();
        self.refill(now);
    }

    /// The connection to the peer is gone. Without one, this does nothing.
    pub fn closed(&mut self) {
        self.is_open = false;
        self.due.begin_anew();
        self.unsent.clear();
        self.since = None;
    }

    /// The node sends a frame that is for this peer, alone or with all others.
    pub fn push(&mut self, message: &Message, now: Timestamp) {
        if self.is_open || matches!(message, Message::Heartbeat(_)) {
            self.due.push(message);
            self.refill(now);
        }
    }

    /// A frame or greeting of the peer came in: its connection, and what [`Decoder::dialect`] says
    /// of that connection since. To be called before the node gets the frame, which it may answer.
    ///
    /// [`Decoder::dialect`]: super::Decoder::dialect
    pub fn heard(&mut self, connection: Connection, dialect: Dialect, now: Timestamp) {
        let before = self.addressee.dialect();
        if self.addressee.heard(connection, dialect, now) {
            self.due.greetings_again();
        }
        if self.addressee.dialect() != before {
            self.refill(now);
        }
    }

    /// It was a greeting, of which [`heard`](Self::heard) has just been told: the peer does not know
    /// yet that this node understands it. The answer leaves at once, and not an interval later. It is
    /// the last heartbeat, which the peer knows already or is owed: it changes nothing else.
    pub fn greeted(&mut self, connection: Connection, now: Timestamp) {
        let is_first = self.answered < Some(connection) && self.addressee.listens_to(connection);
        if is_first && self.is_open && self.addressee.dialect() == Dialect::Extended {
            self.answered = Some(connection);
            self.due.heartbeat_again();
            self.refill(now);
        }
    }

    /// A connection from the peer has ended.
    pub fn ended(&mut self, connection: Connection, now: Timestamp) {
        let before = self.addressee.dialect();
        self.addressee.ended(connection);
        if self.addressee.dialect() != before {
            self.refill(now);
        }
    }

    /// The bytes to write next, in one piece; empty while there is no connection. They may differ
    /// after every other call: a driver that must hand over a buffer for longer copies them, and
    /// reports the copy as [`written`](Self::written) at once. [`is_empty`](Self::is_empty) and
    /// [`cut_at`](Self::cut_at) then say nothing of these bytes: such a driver limits each write to
    /// `down_after` itself, and waits for the last one before it shuts the connection down.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.unsent.bytes()
    }

    /// The same bytes, frame by frame; the first frame may have begun already.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.unsent.frames()
    }

    /// The connection has taken so many of the [`bytes`](Self::bytes); more than there are count as
    /// all.
    pub fn written(&mut self, count: usize, now: Timestamp) {
        let (mut count, mut left) = (count, false);
        while let Some((nth, dialect)) = self.unsent.take(core::mem::take(&mut count)) {
            left = true;
            if counts(dialect, self.addressee.dialect()) {
                self.due.left(nth, dialect);
            }
        }
        if left {
            self.since = None;
            self.refill(now);
        }
    }

    /// Whether nothing is left to write into the connection, if there is one. After
    /// [`Protocol::is_finished`] this says that the farewell has left, and the driver may shut the
    /// connection down.
    ///
    /// [`Protocol::is_finished`]: crate::Protocol::is_finished
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Whether there is a connection to the peer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// When to cut the connection unless it takes the next frame before, `down_after` after that
    /// frame was ready: a peer that takes no bytes for so long is gone, whatever the kernel says,
    /// and bytes that waited for so long are of no use. `None` while nothing waits.
    #[must_use]
    pub fn cut_at(&self) -> Option<Timestamp> {
        self.since.map(|since| since.after(self.down_after))
    }

    /// The dialect of the next frame to begin.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.addressee.dialect()
    }

    /// Puts what is due behind the rest of the frame that has begun.
    fn refill(&mut self, now: Timestamp) {
        if !self.is_open {
            return;
        }
        self.unsent.keep_begun();
        let dialect = self.addressee.dialect();
        let begun = self.unsent.begun().filter(|(_, begun)| counts(*begun, dialect));
        let mut last = 0;
        while let Some(next) = self.due.next_after(last) {
            last = next.nth;
            if begun.is_some_and(|(begun, _)| begun == next.nth) {
                continue;
            }
            let bytes = self.encoder.encode(&next.message, dialect, &mut self.frame);
            if bytes.is_empty() {
                continue; // a peer of kevy-elect does not get it
            }
            if !self.unsent.add(bytes, next.nth, dialect) {
                break;
            }
        }
        if self.unsent.is_empty() {
            self.since = None;
        } else {
            self.since.get_or_insert(now);
        }
    }
}

/// Whether a frame in this dialect counts with a peer that is addressed in `current` now. A greeting
/// that had begun before the peer was heard does not: it is due again, behind itself.
fn counts(dialect: Dialect, current: Dialect) -> bool {
    dialect == Dialect::Extended || current == Dialect::Legacy
}

/// Without the bytes.
impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox")
            .field("is_open", &self.is_open)
            .field("dialect", &self.dialect())
            .field("frames", &self.frames().count())
            .field("bytes", &self.bytes().len())
            .field("cut_at", &self.cut_at())
            .finish_non_exhaustive()
    }
}

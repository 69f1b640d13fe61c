//! The bytes of one connection, and the member it belongs to.

use super::{
    cache::HeartbeatCache,
    decode::{self, Context, Form},
    error::WireError,
    limits::{Dialect, MAX_FIELDS, MAX_FRAME},
    resp,
};
use crate::quorum::{
    members::Members,
    message::Message,
    places::{Fingerprint, Peer},
};
use core::fmt;

/// Reads the frames of one incoming connection, however its bytes are split.
///
/// It buffers at most 1 KiB, and allocates only for the address in an announcement. A driver reads
/// straight into it:
///
/// 1. read from the socket into [`space`](Self::space) and report the number of bytes with
///    [`filled`](Self::filled); if there were none, the connection has ended: see
///    [`ended`](Self::ended);
/// 2. take [`message`](Self::message)s until there are no more; then go on with 1.
///
/// After an error it only repeats that error. Close the connection; messages that the driver
/// already took stay valid.
///
/// It knows no time. A driver closes a connection if [`pending`](Self::pending) bytes have waited
/// for the rest of their frame for longer than `down_after`, or if it has not said in that time
/// which member it belongs to.
pub struct Decoder {
    members: Members,
    fingerprint: Fingerprint,
    peer: Option<Peer>,
    dialect: Dialect,
    last: HeartbeatCache,
    failed: Option<WireError>,
    buffer: [u8; MAX_FRAME],
    start: usize,
    end: usize,
}

/// What has come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A frame, for the node.
    Message(Message),
    /// A frame of a peer of this protocol that has not heard this node yet, for the [`Addressee`]
    /// only.
    ///
    /// [`Addressee`]: super::Addressee
    Greeting,
    /// At most the beginning of a frame: read more.
    Incomplete,
}

impl Decoder {
    /// The decoder of a new connection to the node that `members` names as its own.
    #[must_use]
    pub fn new(members: Members) -> Self {
        Self {
            fingerprint: members.fingerprint(),
            members,
            peer: None,
            dialect: Dialect::Legacy,
            last: HeartbeatCache::none(),
            failed: None,
            buffer: [0; MAX_FRAME],
            start: 0,
            end: 0,
        }
    }

    /// The members have changed. The connection still belongs to the member that it belonged to.
    pub fn decode_by(&mut self, members: Members) {
        self.fingerprint = members.fingerprint();
        self.members = members;
        self.last = HeartbeatCache::none(); // it names members by their places
    }

    /// The buffer for incoming bytes. Never empty once [`message`](Self::message) has returned no
    /// message.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start > 0 {
            if self.start < self.end {
                self.buffer.copy_within(self.start..self.end, 0);
            }
            self.end -= self.start;
            self.start = 0;
        }
        &mut self.buffer[self.end..]
    }

    /// Says how many bytes were written to the beginning of [`space`](Self::space).
    pub fn filled(&mut self, count: usize) {
        self.end = self.end.saturating_add(count).min(MAX_FRAME);
    }

    /// The next frame; `None` if it is not complete yet.
    ///
    /// Skips greetings, which [`incoming`](Self::incoming) tells apart. A peer of this protocol
    /// sends them before it knows that it is understood, and they only tell
    /// [whose connection](Self::peer) this is and [which dialect](Self::dialect) the peer
    /// understands.
    ///
    /// # Errors
    /// If the bytes are not a frame of a member. From then on every call fails.
    pub fn message(&mut self) -> Result<Option<Message>, WireError> {
        loop {
            match self.incoming()? {
                Incoming::Message(message) => return Ok(Some(message)),
                Incoming::Greeting => {}
                Incoming::Incomplete => return Ok(None),
            }
        }
    }

    /// The next frame or greeting, or neither yet.
    ///
    /// # Errors
    /// As for [`message`](Self::message).
    pub fn incoming(&mut self) -> Result<Incoming, WireError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let received = self.pending();
        if let Some((message, bytes)) = self.last.lookup(&self.buffer[self.start..], received) {
            self.start += bytes;
            return Ok(Incoming::Message(message));
        }
        let next = if received == 0 { Ok(Incoming::Incomplete) } else { self.read_in_full() };
        self.failed = next.as_ref().err().copied();
        next
    }

    #[inline(never)]
    fn read_in_full(&mut self) -> Result<Incoming, WireError> {
        let received = &self.buffer[self.start..self.end];
        let mut fields: resp::Fields<'_> = [&[]; MAX_FIELDS];
        let Some(extent) = resp::frame(received, &mut fields)? else {
            return Ok(Incoming::Incomplete);
        };
        let fields = &fields[..extent.fields];
        let form = Form::of(fields)?;
        let id = fields.get(2).copied().unwrap_or_default();
        let peer = decode::sender(id, self.peer, &self.members)?;
        let context = Context { members: &self.members, fingerprint: self.fingerprint };
        let message = context.message(form, fields)?;
        self.peer = Some(peer);
        self.last.keep(&message, &received[..extent.bytes], fields);
        self.start += extent.bytes;
        if form.dialect == Dialect::Legacy {
            return Ok(Incoming::Message(message));
        }
        self.dialect = Dialect::Extended;
        Ok(if form.extended { Incoming::Message(message) } else { Incoming::Greeting })
    }

    /// The next frame of the bytes at hand. Removes the bytes that it uses from their front; `None`
    /// if all are used. For tests and for transports with their own buffers.
    ///
    /// # Errors
    /// As for [`message`](Self::message).
    pub fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<Message>, WireError> {
        loop {
            let message = self.message()?;
            if message.is_some() || bytes.is_empty() {
                return Ok(message);
            }
            let space = self.space();
            let (now, later) = bytes.split_at(bytes.len().min(space.len()));
            space[..now.len()].copy_from_slice(now);
            self.filled(now.len());
            *bytes = later;
        }
    }

    /// The other end has closed the connection.
    ///
    /// # Errors
    /// If it did so within a frame, or the decoder had failed before.
    pub fn ended(&self) -> Result<(), WireError> {
        match (self.failed, self.pending()) {
            (Some(failed), _) => Err(failed),
            (None, 0) => Ok(()),
            (None, pending) => Err(WireError::HalfFrame(pending)),
        }
    }

    /// The number of bytes that wait for the rest of their frame.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.end - self.start
    }

    /// The member that this connection belongs to, by its first frame; `None` before that.
    #[must_use]
    pub fn peer(&self) -> Option<Peer> {
        self.peer
    }

    /// What the peer has shown to understand: [`Dialect::Extended`] from its first lower-case verb
    /// on.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }
}

/// Without the buffered bytes.
impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("peer", &self.peer)
            .field("dialect", &self.dialect)
            .field("pending", &self.pending())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

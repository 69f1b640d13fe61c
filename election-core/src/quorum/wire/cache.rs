//! The last heartbeat of a connection, for comparison with the next one.
//!
//! A peer repeats itself five times a second, except for its stamps and perhaps an offset. To find
//! that out field by field is most of the cost of reading its heartbeat. So the cache keeps the
//! last heartbeat with its meaning. A heartbeat with the same bytes, apart from the digits of those
//! three numbers, means the same apart from those numbers. Anything else is read in full. The
//! cached heartbeat can be old, but never wrong.

use super::number::known_decimal;
use crate::{
    Timestamp,
    quorum::message::{Attestation, Heartbeat, Message},
};

/// The number of bytes compared at a time.
const STRIDE: usize = 32;
/// Room for the longest heartbeat that says nothing of lists. A longer one is read in full.
const ROOM: usize = 13 * STRIDE;

/// Bytes that a vector instruction can take from memory without loading them first.
#[repr(align(16))]
struct Block([u8; ROOM]);

/// Where a number stands.
#[derive(Clone, Copy, Default)]
struct Digits {
    at: usize,
    count: usize,
}

impl Digits {
    #[inline(always)]
    fn read(self, frame: &[u8]) -> Option<u64> {
        known_decimal(frame.get(self.at..)?.get(..self.count)?)
    }
}

/// The last heartbeat of a connection, with its bytes.
pub(super) struct HeartbeatCache {
    heartbeat: Option<Heartbeat>,
    bytes: Block,
    /// All bits set for every byte that has to be the same.
    same: Block,
    len: usize,
    offset: Digits,
    stamp: Digits,
    echo: Digits,
}

impl HeartbeatCache {
    pub(super) const fn none() -> Self {
        const NOWHERE: Digits = Digits { at: 0, count: 0 };
        Self {
            heartbeat: None,
            bytes: Block([0; ROOM]),
            same: Block([0; ROOM]),
            len: 0,
            offset: NOWHERE,
            stamp: NOWHERE,
            echo: NOWHERE,
        }
    }

    /// The frame at the beginning of `buffer`, and its length, if it repeats the last heartbeat. Only
    /// the first `received` bytes have come in; bytes behind them do not count.
    pub(super) fn lookup(&self, buffer: &[u8], received: usize) -> Option<(Message, usize)> {
        let mut heartbeat = self.heartbeat.filter(|_| self.len <= received)?;
        let whole = self.len.next_multiple_of(STRIDE);
        let seen = buffer.get(..whole)?;
        let known = self.bytes.0[..whole].iter().zip(&self.same.0[..whole]);
        let other = seen.iter().zip(known).fold(0, |other, (seen, (byte, same))| {
            other | (seen ^ byte) & same // at once: to stop early would cost more
        });
        if other != 0 {
            return None;
        }
        let extension = heartbeat.extension.as_mut()?;
        heartbeat.position.offset = self.offset.read(seen)?;
        extension.stamp.at = Timestamp::from_nanos(self.stamp.read(seen)?);
        if let Attestation::Echo(echo) = &mut extension.attestation {
            echo.at = Timestamp::from_nanos(self.echo.read(seen)?);
        }
        Some((Message::Heartbeat(heartbeat), self.len))
    }

    /// Keeps a message that was read in full, if it is a heartbeat to compare with.
    pub(super) fn keep(&mut self, message: &Message, frame: &[u8], fields: &[&[u8]]) {
        let Message::Heartbeat(heartbeat) = message else { return };
        let Some(bytes) = self.bytes.0.get_mut(..frame.len()) else { return };
        if heartbeat.extension.is_none() {
            return;
        }
        bytes.copy_from_slice(frame);
        self.same.0.fill(0);
        self.same.0[..frame.len()].fill(u8::MAX);
        let mut numbers = places(fields);
        for number in [&mut self.offset, &mut self.stamp, &mut self.echo] {
            *number = numbers.next().unwrap_or_default();
            self.same.0[number.at..][..number.count].fill(0);
        }
        self.len = frame.len();
        self.heartbeat = Some(*heartbeat);
    }
}

/// The places of the changing numbers: the offset, the stamp and the echoed stamp.
fn places(fields: &[&[u8]]) -> impl Iterator<Item = Digits> {
    let ends = fields.iter().scan("*15\r\n".len(), |end, field| {
        let line = if field.len() < 10 { "$1\r\n".len() } else { "$10\r\n".len() };
        let at = *end + line;
        *end = at + field.len() + "\r\n".len();
        Some(Digits { at, count: field.len() })
    });
    ends.enumerate().filter(|(nth, _)| [4, 5, 7].contains(nth)).map(|(_, digits)| digits)
}

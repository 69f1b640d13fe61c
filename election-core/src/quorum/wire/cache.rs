//! The last heartbeat of a connection, for comparison with the next one.
//!
//! A peer repeats itself five times a second, except for its stamps and perhaps an offset. To find
//! that out field by field is most of the cost of reading its heartbeat. So the cache keeps the
//! last heartbeat with its meaning. A heartbeat with the same bytes, apart from the digits of those
//! three numbers, means the same apart from those numbers. Anything else is read in full. The
//! cached heartbeat can be old, but never wrong.

use super::number::from_decimal;
use crate::{
    Timestamp,
    quorum::message::{Attestation, Heartbeat},
};

/// The number of bytes compared at a time.
const STRIDE: usize = 32;
/// Room for the longest heartbeat of this version, which has 387 bytes. A longer one is read in
/// full.
const ROOM: usize = 13 * STRIDE;

/// Where a number stands.
#[derive(Clone, Copy, Default)]
struct Digits {
    at: usize,
    count: usize,
}

/// The last heartbeat of a connection and its meaning.
pub(super) struct HeartbeatCache {
    heartbeat: Option<Heartbeat>,
    bytes: [u8; ROOM],
    /// All bits set for every byte that has to be the same.
    same: [u8; ROOM],
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
            bytes: [0; ROOM],
            same: [0; ROOM],
            len: 0,
            offset: NOWHERE,
            stamp: NOWHERE,
            echo: NOWHERE,
        }
    }

    /// The meaning and length of the frame at the beginning of `buffer`, if it repeats the last
    /// one. Only the first `received` bytes have come in; bytes behind them do not count.
    #[inline]
    pub(super) fn lookup(&self, buffer: &[u8], received: usize) -> Option<(Heartbeat, usize)> {
        let mut heartbeat = self.heartbeat?;
        let whole = self.len.next_multiple_of(STRIDE);
        let seen = buffer.get(..whole).filter(|_| self.len <= received)?;
        let known = self.bytes[..whole].iter().zip(&self.same[..whole]);
        let other = seen.iter().zip(known).fold(0, |other, (seen, (byte, same))| {
            other | (seen ^ byte) & same // at once: to stop early would cost more
        });
        if other != 0 {
            return None;
        }
        let number = |digits: Digits| from_decimal(&seen[digits.at..][..digits.count]).ok();
        heartbeat.position.offset = number(self.offset)?;
        let extension = heartbeat.extension.as_mut()?;
        extension.stamp.at = Timestamp::from_nanos(number(self.stamp)?);
        if let Attestation::Echo(echo) = &mut extension.attestation {
            echo.at = Timestamp::from_nanos(number(self.echo)?);
        }
        Some((heartbeat, self.len))
    }

    /// Keeps an extended heartbeat that was read in full.
    pub(super) fn store(&mut self, heartbeat: &Heartbeat, frame: &[u8], fields: &[&[u8]]) {
        let (Some(bytes), Some(_)) = (self.bytes.get_mut(..frame.len()), heartbeat.extension)
        else {
            return;
        };
        bytes.copy_from_slice(frame);
        self.same.fill(0);
        self.same[..frame.len()].fill(u8::MAX);
        let mut numbers = places(fields);
        for number in [&mut self.offset, &mut self.stamp, &mut self.echo] {
            *number = numbers.next().unwrap_or_default();
            self.same[number.at..][..number.count].fill(0);
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

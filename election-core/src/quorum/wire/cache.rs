//! The last heartbeat of a connection, against which the next one is held.
//!
//! A peer says the same five times a second, but for its stamps and perhaps an offset. Finding that
//! out field by field is most of what hearing it costs. So the last heartbeat is kept with its
//! meaning: one that has the same bytes, digits of those three numbers aside, means the same but
//! for those numbers. Anything else is read in full. What is kept can be stale, but never wrong.

use super::number::from_decimal;
use crate::{
    Timestamp,
    quorum::message::{Attestation, Heartbeat},
};

/// So many bytes are compared at a time.
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
    /// All bits of every byte that has to be the same.
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

    /// What the frame at the beginning of `buffer` means, and how long it is, if it is the last one
    /// again. Only the first `received` bytes have come in; what stands behind them counts for
    /// nothing.
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

/// Where the numbers stand that change: the offset, the stamp and the echoed stamp.
fn places(fields: &[&[u8]]) -> impl Iterator<Item = Digits> {
    let ends = fields.iter().scan("*15\r\n".len(), |end, field| {
        let line = if field.len() < 10 { "$1\r\n".len() } else { "$10\r\n".len() };
        let at = *end + line;
        *end = at + field.len() + "\r\n".len();
        Some(Digits { at, count: field.len() })
    });
    ends.enumerate().filter(|(nth, _)| [4, 5, 7].contains(nth)).map(|(_, digits)| digits)
}

//! The ballot as one small durable record.
//!
//! A node that forgets its vote can vote twice in one epoch. So a node believes a record from a
//! disk only if it is, bit for bit, what was written. A record that is torn, damaged, foreign or
//! newer than this program is an error, and an error means **do not vote, say so, and never begin
//! afresh**. Only a missing record makes a node without a ballot, for which the protocol has rules
//! of its own.
//!
//! # The layout
//!
//! Numbers are unsigned and big-endian. The header and the checksum are the same in every version,
//! so that damage can be told from a newer program's record.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | magic: `93 "BALLOT" 0A`; not text, and damaged by whatever takes it for text |
//! | 2 | version: 1 |
//! | 2 | length of the whole record |
//! | 8 | promised epoch |
//! | 16 | incarnation, as the bytes of its UUID |
//! | 8 | fingerprint of the members |
//! | 8 | floor: history |
//! | 8 | floor: offset |
//! | 1 | length of `voted_for`; zero if there was no vote |
//! | 0–255 | `voted_for` |
//! | 4 | CRC-32C of everything before it |
//!
//! At most [`Record::MAX`] bytes: less than one sector of any disk.
//!
//! # What a driver must do
//!
//! *Write* (one record at a time; the machine asks for the next only after the outcome of the
//! last):
//!
//! 1. write the whole record to a temporary file in the same directory, truncated first;
//! 2. `fsync` the file;
//! 3. `rename` it over the record;
//! 4. `fsync` the directory; only now report [`Event::Saved`].
//!
//! A crash leaves the old record or the new one, and both are true: the vote of the new one was not
//! sent before step 4. If any step fails, report [`Event::SaveFailed`] and begin again with step 1
//! at the next request. After a failed `fsync` the kernel may count pages as clean that never
//! reached the disk, so it is not enough to sync the same file again. A failed attempt may have
//! left the old record or the new one; the machine is bound by both.
//!
//! Nothing cheaper works. Overwriting one file in place loses the old record before the new one is
//! whole. With two files written in turn, nobody could say which is newer: a vote can change within
//! one epoch (a candidate that yields), and the record has no number of its own.
//!
//! *Read* (at the start, before the machine exists): the whole file, up to 64 KiB. If there is no
//! such file, there is no ballot. After every other failure, of the disk or of [`Record::read`],
//! this node must not vote until an operator has looked. The driver itself never deletes or
//! replaces a file that it cannot read. It ignores and overwrites a temporary file that was left
//! behind.
//!
//! *Alone*: two processes with one record could each vote. Hold an exclusive lock on a file beside
//! the record (not on the record, which `rename` replaces) as long as the process lives.

use super::{ballot::Ballot, members::Fingerprint, position::Position};
use crate::{Epoch, Incarnation, NodeId};
use core::fmt;
use thiserror::Error;
use uuid::Uuid;

#[cfg(doc)]
use super::message::Event;

const MAGIC: [u8; 8] = *b"\x93BALLOT\n";
const VERSION: u16 = 1;
const HEADER: usize = 12;
const BODY: usize = 8 + 16 + 8 + 8 + 8 + 1;
const CHECKSUM: usize = 4;
const LEAST: usize = HEADER + CHECKSUM;

/// A record that must not be taken for a ballot. The node does not vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file is too short: a write was cut off. (Also an empty file.)
    #[error(
        "the ballot is torn: it has {found} of at least {needed} bytes; this node must not vote. \
         Restore the file, or remove it with the node stopped to join as a node without a ballot"
    )]
    Torn {
        /// How many bytes there are.
        found: usize,
        /// How many bytes are needed, as far as the file says.
        needed: usize,
    },
    /// The file is longer than its record.
    #[error(
        "the ballot has {found} bytes and says that it has {length}: something else wrote to the \
         file; this node must not vote. Restore the file, or remove it with the node stopped to \
         join as a node without a ballot"
    )]
    Overlong {
        /// How many bytes there are.
        found: usize,
        /// The length that the record states.
        length: usize,
    },
    /// The file does not begin with the magic of a ballot.
    #[error(
        "the file is no ballot; this node must not vote. Correct the configured path, or restore \
         the file"
    )]
    Foreign,
    /// The checksum does not match, or the content is not one that this program writes.
    #[error(
        "the ballot is damaged; this node must not vote. Look at the disk, then restore the file, \
         or remove it with the node stopped to join as a node without a ballot"
    )]
    Corrupt,
    /// The record is whole, but this program does not know its version.
    #[error(
        "the ballot has version {0}, and this program reads only version {VERSION}; this node must \
         not vote. Run the program that wrote it, or a newer one"
    )]
    UnknownVersion(u16),
}

/// A ballot as bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    bytes: [u8; Self::MAX],
    len: usize,
}

impl Record {
    /// The largest size of a record in bytes.
    pub const MAX: usize = HEADER + BODY + 255 + CHECKSUM;

    /// The record of this ballot. Allocates nothing.
    #[must_use]
    pub fn new(ballot: &Ballot) -> Self {
        let vote = ballot.voted_for.as_ref().map_or("", NodeId::as_str).as_bytes();
        let len = HEADER + BODY + vote.len() + CHECKSUM;
        let mut record = Self { bytes: [0; Self::MAX], len: 0 };
        record.put(&MAGIC);
        record.put(&VERSION.to_be_bytes());
        record.put(&u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes());
        record.put(&ballot.promised.get().to_be_bytes());
        record.put(ballot.incarnation.get().as_bytes());
        record.put(&ballot.members.get().to_be_bytes());
        record.put(&ballot.floor.history.to_be_bytes());
        record.put(&ballot.floor.offset.to_be_bytes());
        record.put(&[u8::try_from(vote.len()).unwrap_or(u8::MAX)]);
        record.put(vote);
        let checksum = crc32c(record.as_bytes());
        record.put(&checksum.to_be_bytes());
        record
    }

    /// The bytes to write.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// The ballot of these bytes: `read(record.as_bytes())` returns the ballot that `record` was
    /// made of, and no other bytes return a ballot.
    ///
    /// # Errors
    /// If these are not exactly the bytes of one record that this program could have written.
    pub fn read(bytes: &[u8]) -> Result<Ballot, RecordError> {
        let body = open(bytes)?;
        ballot(body).ok_or(RecordError::Corrupt)
    }
}

/// The body, if the header and the checksum are right and the version is this one.
fn open(bytes: &[u8]) -> Result<&[u8], RecordError> {
    let found = bytes.len();
    if !bytes.starts_with(&MAGIC[..found.min(MAGIC.len())]) {
        return Err(RecordError::Foreign);
    }
    let [_, _, _, _, _, _, _, _, v1, v2, l1, l2, _, _, _, _, ..] = *bytes else {
        return Err(RecordError::Torn { found, needed: LEAST });
    };
    let length = usize::from(u16::from_be_bytes([l1, l2]));
    if found < length {
        return Err(RecordError::Torn { found, needed: length });
    }
    if found > length {
        return Err(RecordError::Overlong { found, length });
    }
    let Some((content, checksum)) = bytes.split_last_chunk::<CHECKSUM>() else {
        return Err(RecordError::Torn { found, needed: LEAST });
    };
    if crc32c(content) != u32::from_be_bytes(*checksum) {
        return Err(RecordError::Corrupt);
    }
    match u16::from_be_bytes([v1, v2]) {
        VERSION => Ok(&content[HEADER..]),
        other => Err(RecordError::UnknownVersion(other)),
    }
}

/// The ballot of a whole body; `None` if this program would not have written it so.
fn ballot(body: &[u8]) -> Option<Ballot> {
    let (promised, body) = body.split_first_chunk::<8>()?;
    let (incarnation, body) = body.split_first_chunk::<16>()?;
    let (members, body) = body.split_first_chunk::<8>()?;
    let (history, body) = body.split_first_chunk::<8>()?;
    let (offset, body) = body.split_first_chunk::<8>()?;
    let (length, vote) = body.split_first()?;
    if vote.len() != usize::from(*length) {
        return None;
    }
    let voted_for = match vote {
        [] => None,
        vote => Some(NodeId::recorded(core::str::from_utf8(vote).ok()?).ok()?),
    };
    Some(Ballot {
        promised: Epoch::new(u64::from_be_bytes(*promised)),
        voted_for,
        incarnation: Incarnation::new(Uuid::from_bytes(*incarnation)),
        members: Fingerprint::new(u64::from_be_bytes(*members)),
        floor: Position {
            history: u64::from_be_bytes(*history),
            offset: u64::from_be_bytes(*offset),
        },
    })
}

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4): finds every single flipped bit and every burst of
/// up to 32 bits, and lets one in 2³² of other damages pass.
const fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    let mut place = 0;
    while place < bytes.len() {
        crc = TABLE[((crc ^ bytes[place] as u32) & 0xff) as usize] ^ (crc >> 8);
        place += 1;
    }
    !crc
}

/// The remainder of every byte, by the polynomial 1EDC6F41 with its bits reversed.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte: u32 = 0;
    while byte < 256 {
        let mut crc = byte;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
};

/// As hexadecimal digits.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The check value of the catalogue of CRCs, and the vectors of RFC 3720, appendix B.4.
    #[test]
    fn the_checksum_is_crc_32c() {
        const CHECK: u32 = crc32c(b"123456789");
        assert_eq!(CHECK, 0xe306_9283);
        let up = (0..32).collect::<Vec<u8>>();
        let down = (0..32).rev().collect::<Vec<u8>>();
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&up), 0x46dd_794e);
        assert_eq!(crc32c(&down), 0x113f_db5c);
        assert_eq!(crc32c(b""), 0);
    }
}

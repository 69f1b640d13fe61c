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
//! | 2 | version: 4 |
//! | 2 | length of the whole record |
//! | 8 | promised epoch |
//! | 16 | incarnation, as the bytes of its UUID |
//! | 8 | fingerprint of the members |
//! | 8 | floor: history |
//! | 8 | floor: offset |
//! | 4 | maintenance: number; zero if automatic failover was never paused |
//! | 1 | maintenance: place of the issuer |
//! | 1 | maintenance: 1 if paused, else 0 |
//! | 1 | maintenance: place of the member that took the order |
//! | 8 | maintenance: since; zero if unknown |
//! | 1 | maintenance: place of the primary; 255 if there is none |
//! | 8 | milliseconds left of the pause; zero if it does not end by itself |
//! | 8 | wall clock when that was so; zero if unknown |
//! | 1 | length of `voted_for`; zero if there was no vote |
//! | 0–255 | `voted_for` |
//! | 1 | length of the node's own id |
//! | 1–255 | the node's own id: a copied ballot is refused by another node |
//! | 8 | fingerprint of the cluster's first list |
//! | 8 | generation of the list in force |
//! | 16 | its members and its witnesses, as sets of places |
//! | 16 | the same of the list before it; zero if there is none |
//! | 8 | epoch of the primary that proposed the next list; zero if none is accepted |
//! | 16 | members and witnesses of that list |
//! | 1 | number of places |
//! | 0–16,128 | the id at each place behind a byte with its length; a zero for a free place |
//! | 4 | CRC-32C of everything before it |
//!
//! A record of five members with short ids has some 300 bytes. It may be longer than a sector: it is
//! replaced as a whole, and its checksum tells.
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

use crate::{
    Epoch, Incarnation, NodeId,
    quorum::{
        ballot::Ballot,
        maintenance::{Maintenance, Remainder, UnixMillis},
        membership::Membership,
        places::{Fingerprint, MemberList, Peer, PeerSet},
        position::Position,
    },
    time::whole_millis,
};
use alloc::vec::Vec;
use core::{fmt, time::Duration};

use thiserror::Error;
use uuid::Uuid;

#[cfg(doc)]
use super::message::Event;

const MAGIC: [u8; 8] = *b"\x93BALLOT\n";
const VERSION: u16 = 4;
const HEADER: usize = 12;
const CHECKSUM: usize = 4;
const LEAST: usize = HEADER + CHECKSUM;
/// Where the length stands.
const LENGTH: core::ops::Range<usize> = 10..12;

/// A record that must not be taken for a ballot. The node does not vote.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file is too short: a write was cut off. (Also an empty file.)
    #[error(
        "the ballot is torn: it has {found} of at least {needed} bytes; this node must not vote. \
         Stop the node, remove the file, and start it while the others run; never restore an older \
         copy"
    )]
    Torn {
        /// How many bytes there are.
        found: usize,
        /// How many bytes are needed, as far as the file says.
        needed: usize,
    },
    /// The file is longer than its record.
    #[error(
        "the ballot has {found} bytes but says {length}: something else wrote to the file; this \
         node must not vote. Stop the node, remove the file, and start it while the others run; \
         never restore an older copy"
    )]
    Overlong {
        /// How many bytes there are.
        found: usize,
        /// The length that the record states.
        length: usize,
    },
    /// The file does not begin with the magic of a ballot.
    #[error(
        "not a ballot file; this node must not vote. Correct the configured path; never restore an \
         older copy of a ballot"
    )]
    Foreign,
    /// The checksum does not match, or the content is not one that this program writes.
    #[error(
        "the ballot is damaged; this node must not vote. Check the disk. Stop the node, remove the \
         file, and start it while the others run; never restore an older copy"
    )]
    Corrupt,
    /// The record is whole, but this program does not know its version.
    #[error(
        "the ballot has version {0}, but this program reads only version {VERSION}; this node must not \
         vote. Run the program that wrote it, or a newer one"
    )]
    UnknownVersion(u16),
    /// The record is whole, and another node's.
    #[error(
        "the ballot belongs to {owner}, and this node is {node}, which must not vote by it. \
         Correct the configured path or id. If the file was copied, stop this node, remove the \
         copy, and start the node while the others run; never restore an older copy of its own \
         ballot"
    )]
    OfAnother {
        /// Whose it is.
        owner: NodeId,
        /// Who has read it.
        node: NodeId,
    },
}

/// A ballot as bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    bytes: Vec<u8>,
}

impl Record {
    /// The record of this ballot, which is this node's.
    #[must_use]
    pub fn new(ballot: &Ballot, node: &NodeId) -> Self {
        let mut record = Self { bytes: Vec::with_capacity(512) };
        record.put(&MAGIC);
        record.put(&VERSION.to_be_bytes());
        record.put(&[0; 2]);
        record.put(&ballot.promised.get().to_be_bytes());
        record.put(ballot.incarnation.get().as_bytes());
        record.numbers([ballot.members.get(), ballot.floor.history, ballot.floor.offset]);
        record.maintain(&ballot.maintenance);
        record.pause(ballot.pause);
        record.id(ballot.voted_for.as_ref());
        record.id(Some(node));
        record.lists(&ballot.lists);
        let len = u16::try_from(record.bytes.len() + CHECKSUM).unwrap_or(u16::MAX);
        record.bytes[LENGTH].copy_from_slice(&len.to_be_bytes());
        let checksum = crc32c(record.as_bytes());
        record.put(&checksum.to_be_bytes());
        record
    }

    /// The bytes to write.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn maintain(&mut self, maintenance: &Maintenance) {
        let Maintenance { number, issuer, paused, by, since, primary } = maintenance;
        self.put(&number.to_be_bytes());
        self.put(&[issuer.place(), u8::from(*paused), by.place()]);
        self.put(&since.map_or(0, |time| time.0).to_be_bytes());
        self.put(&[primary.unwrap_or(Peer::NOBODY).place()]);
    }

    fn pause(&mut self, pause: Option<Remainder>) {
        let left = pause.map_or(0, |pause| whole_millis(pause.left));
        self.put(&left.to_be_bytes());
        self.put(&pause.and_then(|pause| pause.at).map_or(0, |at| at.0).to_be_bytes());
    }

    fn lists(&mut self, lists: &Membership) {
        let sets = |list: Option<&MemberList>| {
            list.map_or([0; 2], |list| [list.voters.bits(), list.witnesses.bits()])
        };
        self.numbers([lists.origin().get(), lists.established().generation]);
        self.numbers(sets(Some(lists.established())));
        self.numbers(sets(lists.parent()));
        self.numbers([lists.accepted().map_or(0, |(epoch, _)| epoch.get())]);
        self.numbers(sets(lists.accepted().map(|(_, list)| list)));
        self.put(&[u8::try_from(lists.ids().len()).unwrap_or(u8::MAX)]);
        lists.ids().iter().for_each(|id| self.id(id.as_ref()));
    }

    fn id(&mut self, id: Option<&NodeId>) {
        let id = id.map_or("", NodeId::as_str);
        self.put(&[u8::try_from(id.len()).unwrap_or(u8::MAX)]);
        self.put(id.as_bytes());
    }

    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.iter().for_each(|number| self.put(&number.to_be_bytes()));
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The ballot of these bytes, which have to be this node's: `read(record.as_bytes(), node)`
    /// returns the ballot that `record` was made of, and no other bytes return a ballot.
    ///
    /// # Errors
    /// If these are not exactly the bytes of one record that this program could have written for this
    /// node.
    pub fn read(bytes: &[u8], node: &NodeId) -> Result<Ballot, RecordError> {
        let (ballot, owner) = ballot(open(bytes)?).ok_or(RecordError::Corrupt)?;
        if owner == *node {
            Ok(ballot)
        } else {
            Err(RecordError::OfAnother { owner, node: node.clone() })
        }
    }
}

/// The body, if the header and the checksum are right and the version is known.
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

/// The ballot of a whole body, and whose it is; `None` if this program would not have written it so.
fn ballot(mut body: &[u8]) -> Option<(Ballot, NodeId)> {
    let rest = &mut body;
    let promised = Epoch::new(number(rest)?);
    let incarnation = Incarnation::new(Uuid::from_bytes(take(rest)?));
    let members = Fingerprint::new(number(rest)?);
    let floor = Position { history: number(rest)?, offset: number(rest)? };
    let (maintenance, pause) = (maintenance(rest)?, pause(rest)?);
    let (voted_for, owner) = (id(rest)?, id(rest)??);
    let lists = lists(rest)?;
    let ballot =
        Ballot { promised, voted_for, incarnation, members, lists, floor, maintenance, pause };
    rest.is_empty().then_some((ballot, owner))
}

fn lists(rest: &mut &[u8]) -> Option<Membership> {
    let origin = Fingerprint::new(number(rest)?);
    let generation = number(rest)?;
    let established = list(rest, Some(generation))??;
    let parent = list(rest, generation.checked_sub(1))?;
    let epoch = Epoch::new(number(rest)?);
    let accepted = list(rest, generation.checked_add(1).filter(|_| epoch != Epoch::NONE))?;
    let [places] = take(rest)?;
    let ids = (0..places).map(|_| id(rest)).collect::<Option<_>>()?;
    let accepted = accepted.map(|list| (epoch, list));
    let whole = accepted.is_some() || epoch == Epoch::NONE;
    Membership::new(ids, origin, established, parent, accepted).filter(|_| whole)
}

/// A list of this generation, or none; `None` if it is one that cannot be.
fn list(rest: &mut &[u8], generation: Option<u64>) -> Option<Option<MemberList>> {
    let (voters, witnesses) = (number(rest)?, number(rest)?);
    if (voters, witnesses) == (0, 0) {
        return Some(None);
    }
    let (voters, witnesses) = (PeerSet::from_bits(voters), PeerSet::from_bits(witnesses));
    Some(Some(MemberList { generation: generation?, voters, witnesses }))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (field, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*field)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    take(rest).map(u64::from_be_bytes)
}

/// An id behind its length, or none.
fn id(rest: &mut &[u8]) -> Option<Option<NodeId>> {
    let [length] = take(rest)?;
    let (id, behind) = rest.split_at_checked(length.into())?;
    *rest = behind;
    Some(match id {
        [] => None,
        id => Some(NodeId::recorded(core::str::from_utf8(id).ok()?).ok()?),
    })
}

fn maintenance(rest: &mut &[u8]) -> Option<Maintenance> {
    let number = u32::from_be_bytes(take(rest)?);
    let [issuer, paused @ (0 | 1), by] = take(rest)? else { return None };
    let since = wall_clock(rest)?;
    let [primary] = take(rest)?.map(Peer::new);
    Some(Maintenance {
        number,
        issuer: Peer::new(issuer),
        paused: paused == 1,
        by: Peer::new(by),
        since,
        primary: (primary != Peer::NOBODY).then_some(primary),
    })
}

fn pause(rest: &mut &[u8]) -> Option<Option<Remainder>> {
    match (number(rest)?, wall_clock(rest)?) {
        (0, None) => Some(None),
        (0, Some(_)) => None,
        (left, at) => Some(Some(Remainder { left: Duration::from_millis(left), at })),
    }
}

fn wall_clock(rest: &mut &[u8]) -> Option<Option<UnixMillis>> {
    let millis = number(rest)?;
    Some((millis != 0).then_some(UnixMillis(millis)))
}

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4): finds every single flipped bit and every burst of
/// up to 32 bits, and lets one in 2³² of other damages pass.
fn crc32c(bytes: &[u8]) -> u32 {
    /// 1EDC6F41 with its bits reversed.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let shifted = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), shifted))
}

/// As hexadecimal digits.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the catalogue of CRCs, and the vectors of RFC 3720, appendix B.4.
    #[test]
    fn the_checksum_is_crc_32c() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        let up = (0..32).collect::<Vec<u8>>();
        let down = (0..32).rev().collect::<Vec<u8>>();
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&up), 0x46dd_794e);
        assert_eq!(crc32c(&down), 0x113f_db5c);
        assert_eq!(crc32c(b""), 0);
    }
}

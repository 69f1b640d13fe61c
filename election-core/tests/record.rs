//! The exact bytes of a ballot on disk. Nothing else is ever taken for one.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use RecordError as E;
use election_core::{
    Epoch, Incarnation, NodeId,
    quorum::{
        Ballot, Fingerprint, Position,
        record::{Record, RecordError},
    },
};
use proptest::{option, prelude::*};
use uuid::Uuid;

fn ballot(voted_for: Option<&str>) -> Ballot {
    Ballot {
        promised: Epoch::new(42),
        voted_for: voted_for.map(|id| NodeId::new(id).unwrap()),
        incarnation: Incarnation::new(Uuid::from_u128(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210)),
        members: Fingerprint::new(0xd650_4e44_0f05_6d84),
        floor: Position { history: 7, offset: 258 },
    }
}

fn bytes(ballot: &Ballot) -> Vec<u8> {
    Record::new(ballot).as_bytes().to_vec()
}

/// CRC-32C bit by bit, by its definition, for records that the tests make up.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 }
        })
    })
}

/// A record with the right checksum, whatever it says.
fn sealed(mut content: Vec<u8>) -> Vec<u8> {
    let length = u16::try_from(content.len() + 4).unwrap();
    content[10..12].copy_from_slice(&length.to_be_bytes());
    let checksum = crc(&content);
    content.extend(checksum.to_be_bytes());
    content
}

fn content(ballot: &Ballot) -> Vec<u8> {
    let mut bytes = bytes(ballot);
    bytes.truncate(bytes.len() - 4);
    bytes
}

#[test]
fn the_record_is_exactly_this() {
    let without = b"\x93BALLOT\n\x00\x01\x00\x41\
        \x00\x00\x00\x00\x00\x00\x00\x2a\
        \x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10\
        \xd6\x50\x4e\x44\x0f\x05\x6d\x84\
        \x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x01\x02\x00";
    assert_eq!(bytes(&ballot(None)), [&without[..], &crc(without).to_be_bytes()].concat());
    let with = b"\x93BALLOT\n\x00\x01\x00\x4a\
        \x00\x00\x00\x00\x00\x00\x00\x2a\
        \x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10\
        \xd6\x50\x4e\x44\x0f\x05\x6d\x84\
        \x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x01\x02\x09replica-1\
        \x1d\xaf\xc2\x82";
    assert_eq!(bytes(&ballot(Some("replica-1"))), with);
    assert_eq!(Record::read(with), Ok(ballot(Some("replica-1"))));
}

#[test]
fn a_record_cut_at_every_place_is_torn() {
    for whole in [bytes(&ballot(None)), bytes(&ballot(Some("replica-1")))] {
        for cut in 0..whole.len() {
            let read = Record::read(&whole[..cut]);
            assert!(matches!(read, Err(E::Torn { found, .. }) if found == cut), "{cut}: {read:?}");
        }
    }
}

/// A file system that lengthened the file before it wrote the data.
#[test]
fn a_record_whose_end_is_zeros_is_refused() {
    let whole = bytes(&ballot(Some("replica-1")));
    for cut in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[cut..].fill(0);
        assert!(Record::read(&bytes).is_err(), "zeros from {cut}");
    }
}

/// A partly overwritten record: the beginning of one vote and the end of another.
#[test]
fn half_of_each_of_two_records_is_refused() {
    let mut later = ballot(Some("replica-2"));
    later.promised = Epoch::new(43);
    let (old, new) = (bytes(&ballot(Some("replica-1"))), bytes(&later));
    for cut in 0..=old.len() {
        let mixed = [&new[..cut], &old[cut..]].concat();
        if mixed != old && mixed != new {
            assert_eq!(Record::read(&mixed), Err(E::Corrupt), "{cut}");
        }
    }
}

#[test]
fn a_record_with_any_bit_or_byte_changed_is_refused() {
    for whole in [bytes(&ballot(None)), bytes(&ballot(Some("replica-1")))] {
        for place in 0..whole.len() {
            for change in 1..=u8::MAX {
                let mut bytes = whole.clone();
                bytes[place] ^= change;
                let read = Record::read(&bytes);
                assert!(read.is_err(), "byte {place} changed by {change}: {read:?}");
            }
        }
    }
}

#[test]
fn what_follows_a_record_is_refused() {
    let mut bytes = bytes(&ballot(None));
    let length = bytes.len();
    for more in [&b"\0"[..], b"\n", &bytes.clone()] {
        bytes.extend(more);
        let found = bytes.len();
        assert_eq!(Record::read(&bytes), Err(E::Overlong { found, length }));
    }
}

#[test]
fn other_files_are_foreign() {
    for foreign in [&b"{\"epoch\": 42}"[..], b"\0", b"BALLOT\n", b"\x93BALLOT\r\n\0\x01", &[0; 500]]
    {
        assert_eq!(Record::read(foreign), Err(E::Foreign), "{foreign:?}");
    }
}

/// A later version's record is told from damage, whatever its body and its length.
#[test]
fn a_newer_version_is_named() {
    for version in [2_u16, 3, u16::MAX] {
        for body in [0, 1, 33, 5_000] {
            let mut content = content(&ballot(None));
            content[8..10].copy_from_slice(&version.to_be_bytes());
            content.resize(12 + body, 7);
            let record = sealed(content);
            assert_eq!(Record::read(&record), Err(E::UnknownVersion(version)));
            let torn = Record::read(&record[..record.len() - 1]);
            assert!(matches!(torn, Err(E::Torn { .. })), "{torn:?}");
        }
    }
}

/// A right checksum is not enough: this program must have been able to write the content.
#[test]
fn a_sealed_body_must_still_be_a_ballot() {
    let whole = content(&ballot(Some("replica-1")));
    assert_eq!(Record::read(&sealed(whole.clone())), Ok(ballot(Some("replica-1"))));
    let spoil = |change: fn(&mut Vec<u8>)| {
        let mut content = whole.clone();
        change(&mut content);
        Record::read(&sealed(content))
    };
    assert_eq!(spoil(|content| content[60] = 8), Err(E::Corrupt), "a vote shorter than its bytes");
    assert_eq!(spoil(|content| content[60] = 10), Err(E::Corrupt), "a vote longer than its bytes");
    assert_eq!(spoil(|content| content[60] = 0), Err(E::Corrupt), "bytes without a vote");
    assert_eq!(spoil(|content| content.truncate(60)), Err(E::Corrupt), "no vote and no length");
    assert_eq!(spoil(|content| content.truncate(12)), Err(E::Corrupt), "no body");
    assert_eq!(spoil(|content| content.push(0)), Err(E::Corrupt), "a byte too much");
    assert_eq!(spoil(|content| content[66] = 0xff), Err(E::Corrupt), "an id that is no text");
    assert_eq!(spoil(|content| content[66] = 0), Err(E::Corrupt), "an id with a NUL");
    assert_eq!(spoil(|content| content[9] = 0), Err(E::UnknownVersion(0)));
}

#[test]
fn every_error_says_not_to_vote_and_what_to_do() {
    let errors = [
        E::Torn { found: 7, needed: 16 },
        E::Overlong { found: 60, length: 58 },
        E::Foreign,
        E::Corrupt,
        E::UnknownVersion(2),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("must not vote"), "{text}");
        assert!(text.contains("estore the file") || text.contains("newer one"), "{text}");
    }
}

#[test]
fn the_longest_record_is_as_long_as_documented() {
    let longest = bytes(&ballot(Some(&"x".repeat(255))));
    assert_eq!(longest.len(), Record::MAX);
    const { assert!(Record::MAX <= 512, "a sector") };
}

proptest! {
    #[test]
    fn ballots_go_there_and_back(
        promised in any::<u64>(),
        voted_for in option::of("[^\0]{1,60}"),
        life in any::<u128>(),
        members in any::<u64>(),
        (history, offset) in any::<(u64, u64)>(),
    ) {
        let ballot = Ballot {
            promised: Epoch::new(promised),
            voted_for: voted_for.map(|id| NodeId::recorded(&id).unwrap()),
            incarnation: Incarnation::new(Uuid::from_u128(life)),
            members: Fingerprint::new(members),
            floor: Position { history, offset },
        };
        prop_assert_eq!(Record::read(&bytes(&ballot)), Ok(ballot));
    }

    #[test]
    fn noise_is_no_ballot(noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let head = content(&ballot(None))[..12].to_vec();
        prop_assert!(Record::read(&noise).is_err());
        prop_assert!(Record::read(&[&head[..], &noise[..]].concat()).is_err());
    }
}

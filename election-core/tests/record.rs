//! The exact bytes of a ballot on disk. Nothing else is ever taken for one.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use RecordError as E;
use core::time::Duration;
use election_core::{
    Epoch, Incarnation, NodeId,
    quorum::{
        Ballot, Fingerprint, Maintenance, MemberList, Membership, Peer, PeerSet, Position,
        Remainder, UnixMillis,
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
        lists: lists(),
        floor: Position { history: 7, offset: 258 },
        maintenance: Maintenance {
            number: 3,
            issuer: Peer::new(1),
            paused: true,
            by: Peer::new(2),
            since: Some(UnixMillis(0x0102_0304_0506_0708)),
            primary: Some(Peer::new(0)),
        },
        pause: Some(Remainder {
            left: Duration::from_millis(0x0a0b),
            at: Some(UnixMillis(0x0c0d)),
        }),
    }
}

/// The list has grown from one member to two, and is to get a third, at the last of four places.
fn lists() -> Membership {
    let list = |generation, voters, witnesses| MemberList {
        generation,
        voters: PeerSet::from_bits(voters),
        witnesses: PeerSet::from_bits(witnesses),
    };
    let ids = [Some("replica-1"), None, Some("replica-2"), Some("n4")];
    let ids = ids.map(|id| id.map(|id| NodeId::new(id).unwrap())).to_vec();
    let next = Some((Epoch::new(40), list(6, 0b1101, 0b100)));
    let (now, before) = (list(5, 0b101, 0b100), Some(list(4, 1, 0)));
    Membership::new(ids, Fingerprint::new(0x1112), now, before, next).unwrap()
}

/// Whose ballot it is.
fn me() -> NodeId {
    NodeId::new("replica-2").unwrap()
}

fn bytes(ballot: &Ballot) -> Vec<u8> {
    Record::new(ballot, &me()).as_bytes().to_vec()
}

fn read(bytes: &[u8]) -> Result<Ballot, RecordError> {
    Record::read(bytes, &me())
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

/// Between the header and the vote.
const BODY: &[u8] = b"\
    \x00\x00\x00\x00\x00\x00\x00\x2a\
    \x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10\
    \xd6\x50\x4e\x44\x0f\x05\x6d\x84\
    \x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x01\x02\
    \x00\x00\x00\x03\x01\x01\x02\x01\x02\x03\x04\x05\x06\x07\x08\
    \x00\
    \x00\x00\x00\x00\x00\x00\x0a\x0b\x00\x00\x00\x00\x00\x00\x0c\x0d";

/// Behind the names.
const LISTS: &[u8] = b"\
    \x00\x00\x00\x00\x00\x00\x11\x12\
    \x00\x00\x00\x00\x00\x00\x00\x05\
    \x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x04\
    \x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\
    \x00\x00\x00\x00\x00\x00\x00\x28\
    \x00\x00\x00\x00\x00\x00\x00\x0d\x00\x00\x00\x00\x00\x00\x00\x04\
    \x04\x09replica-1\x00\x09replica-2\x02n4";

#[test]
fn the_record_is_exactly_this() {
    for (vote, said, length) in
        [(None, &b"\x00"[..], 0xcc), (Some("replica-1"), b"\x09replica-1", 0xd5)]
    {
        let header = [&b"\x93BALLOT\n\x00\x04\x00"[..], &[length]].concat();
        let content = [&header, BODY, said, b"\x09replica-2", LISTS].concat();
        let whole = [&content[..], &crc(&content).to_be_bytes()].concat();
        assert_eq!(bytes(&ballot(vote)), whole);
        assert_eq!(read(&whole), Ok(ballot(vote)));
    }
}

#[test]
fn lists_that_no_cluster_could_record_are_refused() {
    let whole = content(&ballot(None));
    let lists = whole.len() - LISTS.len();
    let spoilt: [(usize, u8, &str); 8] = [
        (15, 0, "nothing could come before the first list"),
        (23, 0b111, "a member without an id"),
        (31, 0b101, "only witnesses"),
        (39, 0b1000, "the list before is no neighbour"),
        (47, 0b10, "a witness that was no member"),
        (55, 0, "a list of no primary"),
        (63, 0b1100, "a member more and one less"),
        (71, 0, "another role"),
    ];
    for (place, byte, why) in spoilt {
        let mut content = whole.clone();
        content[lists + place] = byte;
        assert_eq!(read(&sealed(content)), Err(E::Corrupt), "{why}");
    }
    let mut twice = whole.clone();
    let last = whole.len() - 3;
    twice.truncate(last);
    twice.extend(b"\x09replica-1");
    assert_eq!(read(&sealed(twice)), Err(E::Corrupt), "one id at two places");
}

#[test]
fn the_ballot_of_another_node_is_refused() {
    let other = NodeId::new("replica-20").unwrap();
    let refused = Record::read(&bytes(&ballot(Some("replica-1"))), &other);
    assert_eq!(refused, Err(E::OfAnother { owner: me(), node: other }));
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("replica-2,") && text.contains("replica-20"), "{text}");
}

#[test]
fn a_record_cut_at_every_place_is_torn() {
    for whole in [bytes(&ballot(None)), bytes(&ballot(Some("replica-1")))] {
        for cut in 0..whole.len() {
            let torn = read(&whole[..cut]);
            assert!(matches!(torn, Err(E::Torn { found, .. }) if found == cut), "{cut}: {torn:?}");
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
        assert!(read(&bytes).is_err(), "zeros from {cut}");
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
            assert_eq!(read(&mixed), Err(E::Corrupt), "{cut}");
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
                let changed = read(&bytes);
                assert!(changed.is_err(), "byte {place} changed by {change}: {changed:?}");
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
        assert_eq!(read(&bytes), Err(E::Overlong { found, length }));
    }
}

#[test]
fn other_files_are_foreign() {
    for foreign in [&b"{\"epoch\": 42}"[..], b"\0", b"BALLOT\n", b"\x93BALLOT\r\n\0\x01", &[0; 500]]
    {
        assert_eq!(read(foreign), Err(E::Foreign), "{foreign:?}");
    }
}

/// Another version's record is told from damage, whatever its body and its length.
#[test]
fn another_version_is_named() {
    for version in [3_u16, 5, u16::MAX] {
        for body in [0, 1, 33, 5_000] {
            let mut content = content(&ballot(None));
            content[8..10].copy_from_slice(&version.to_be_bytes());
            content.resize(12 + body, 7);
            let record = sealed(content);
            assert_eq!(read(&record), Err(E::UnknownVersion(version)));
            let torn = read(&record[..record.len() - 1]);
            assert!(matches!(torn, Err(E::Torn { .. })), "{torn:?}");
        }
    }
}

/// A right checksum is not enough: this program must have been able to write the content.
#[test]
fn a_sealed_body_must_still_be_a_ballot() {
    let whole = content(&ballot(Some("replica-1")));
    assert_eq!(read(&sealed(whole.clone())), Ok(ballot(Some("replica-1"))));
    let spoil = |change: fn(&mut Vec<u8>)| {
        let mut content = whole.clone();
        change(&mut content);
        read(&sealed(content))
    };
    assert_eq!(spoil(|content| content[92] = 8), Err(E::Corrupt), "a vote shorter than its bytes");
    assert_eq!(spoil(|content| content[92] = 10), Err(E::Corrupt), "a vote longer than its bytes");
    assert_eq!(spoil(|content| content[92] = 0), Err(E::Corrupt), "bytes without a vote");
    assert_eq!(spoil(|content| content.truncate(92)), Err(E::Corrupt), "no vote and no length");
    assert_eq!(spoil(|content| content[102] = 8), Err(E::Corrupt), "a name shorter than its bytes");
    assert_eq!(spoil(|content| content[102] = 10), Err(E::Corrupt), "a name longer than its bytes");
    let nobodys = spoil(|content| drop(content.splice(102..112, [0])));
    assert_eq!(nobodys, Err(E::Corrupt), "nobody's");
    assert_eq!(spoil(|content| content.truncate(12)), Err(E::Corrupt), "no body");
    assert_eq!(spoil(|content| content.push(0)), Err(E::Corrupt), "a byte too much");
    assert_eq!(spoil(|content| content[98] = 0xff), Err(E::Corrupt), "an id that is no text");
    assert_eq!(spoil(|content| content[98] = 0), Err(E::Corrupt), "an id with a NUL");
    assert_eq!(spoil(|content| content[9] = 0), Err(E::UnknownVersion(0)));
}

#[test]
fn every_error_says_not_to_vote_and_what_to_do() {
    let errors = [
        E::Torn { found: 7, needed: 16 },
        E::Overlong { found: 60, length: 58 },
        E::Foreign,
        E::Corrupt,
        E::UnknownVersion(4),
        E::OfAnother { owner: me(), node: me() },
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("must not vote"), "{text}");
        assert!(text.contains("older copy") || text.contains("newer one"), "{text}");
    }
}

#[test]
fn a_record_cut_within_its_header_lacks_its_checksum() {
    let whole = bytes(&ballot(None));
    for found in 0..16 {
        assert_eq!(read(&whole[..found]), Err(E::Torn { found, needed: 16 }));
    }
    assert!(matches!(read(&whole[..16]), Err(E::Torn { found: 16, needed: 100.. })));
}

/// Zero stands for a pause without an end.
#[test]
fn a_pause_that_is_over_stays_one_with_an_end() {
    let rest = |left| Some(Remainder { left: Duration::from_millis(left), at: None });
    let over = Ballot { pause: rest(0), ..ballot(None) };
    assert_eq!(read(&bytes(&over)).unwrap().pause, rest(1));
}

proptest! {
    #[test]
    fn ballots_go_there_and_back(
        promised in any::<u64>(),
        voted_for in option::of("[^\0]{1,60}"),
        life in any::<u128>(),
        members in any::<u64>(),
        (history, offset) in any::<(u64, u64)>(),
        (number, issuer, paused, by) in any::<(u32, u8, bool, u8)>(),
        (since, primary) in (option::of(1_u64..), option::of(0_u8..255)),
        pause in option::of((1_u64..1 << 44, option::of(1_u64..))),
    ) {
        let ballot = Ballot {
            promised: Epoch::new(promised),
            voted_for: voted_for.map(|id| NodeId::recorded(&id).unwrap()),
            incarnation: Incarnation::new(Uuid::from_u128(life)),
            members: Fingerprint::new(members),
            lists: lists(),
            floor: Position { history, offset },
            maintenance: Maintenance {
                number,
                issuer: Peer::new(issuer),
                paused,
                by: Peer::new(by),
                since: since.map(UnixMillis),
                primary: primary.map(Peer::new),
            },
            pause: pause.map(|(left, at)| Remainder {
                left: Duration::from_millis(left),
                at: at.map(UnixMillis),
            }),
        };
        prop_assert_eq!(read(&bytes(&ballot)), Ok(ballot));
    }

    #[test]
    fn noise_is_no_ballot(noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let head = content(&ballot(None))[..12].to_vec();
        prop_assert!(read(&noise).is_err());
        prop_assert!(read(&[&head[..], &noise[..]].concat()).is_err());
    }
}

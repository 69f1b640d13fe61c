//! What is kept from one frame to the next saves time, and changes nothing.

use crate::{
    cluster::{LIFE, encode, heartbeat, members, stamp},
    refusals::array,
};
use election_core::{
    Epoch, Timestamp,
    quorum::{
        Attestation, Availability, Extension, Fingerprint, Heartbeat, Held, Maintenance, Message,
        Outline, Peer, PeerSet, Role,
        wire::{Decoder, Dialect, Encoder, Frame, WireError},
    },
};

/// The heartbeat of the other tests, with an echo of a time as long as times are.
fn usual() -> Heartbeat {
    let attestation = Attestation::Echo(stamp(u128::MAX, 123_456_789_012));
    let extension = heartbeat().extension.map(|said| Extension { attestation, ..said });
    Heartbeat { extension, ..heartbeat() }
}

/// Heartbeats that differ from the first in one respect each.
fn heartbeats() -> Vec<Heartbeat> {
    type Differ = fn(&mut Heartbeat, &mut Extension);
    let differ: [Differ; 25] = [
        |_, _| {},
        |said, _| said.epoch = Epoch::new(43),
        |said, _| said.role = Role::Replica,
        |said, _| said.position.offset += 1,
        |said, _| said.position.offset = 999_999_999,
        |said, _| said.position.offset = 1_000_000_000,
        |said, _| said.position.offset = 1_000_000_000_000_000_000,
        |said, _| said.position.offset = 9_999_999_999_999_999_999,
        |said, _| said.position.history += 1,
        |_, more| more.stamp.at = Timestamp::from_nanos(98_765_432_109_877),
        |_, more| more.stamp.at = Timestamp::from_nanos(198_765_432_109_876),
        |_, more| more.stamp.at = Timestamp::from_nanos(7),
        |_, more| more.stamp.incarnation = stamp(LIFE + 1, 0).incarnation,
        |_, more| more.attestation = Attestation::Echo(stamp(u128::MAX, 123_456_789_013)),
        |_, more| more.attestation = Attestation::Echo(stamp(u128::MAX, 987_654_321)),
        |_, more| more.attestation = Attestation::Echo(stamp(LIFE, 123_456_789_012)),
        |_, more| more.attestation = Attestation::Token(Epoch::new(6)),
        |_, more| more.attestation = Attestation::Token(Epoch::new(7)),
        |_, more| more.attestation = Attestation::None,
        |_, more| {
            more.attestation = Attestation::None;
            more.stamp.incarnation = stamp(LIFE + 1, 0).incarnation;
        },
        |_, more| more.availability = Availability::Busy,
        |_, more| more.nominee = None,
        |_, more| more.fingerprint = Fingerprint::new(1),
        |_, more| more.hears = PeerSet::from_bits(1),
        |_, more| more.holds = Held::new(387),
    ];
    let all = differ.iter().map(|differ| {
        let mut said = usual();
        let mut more = said.extension.unwrap();
        differ(&mut said, &mut more);
        Heartbeat { extension: Some(more), ..said }
    });
    all.chain([Heartbeat { extension: None, ..usual() }]).collect()
}

fn record() -> Message {
    let (epoch, record) = (Epoch::new(7), Maintenance::default());
    let (left, stamp) = (None, Some(stamp(LIFE, 5)));
    Message::Maintenance { epoch, record, left, agreed: true, stamp }
}

#[test]
fn a_frame_that_is_used_again_holds_what_a_new_one_would() {
    let own = Encoder::new(members("primary-east")).unwrap();
    let other = Encoder::new(members("replica-1")).unwrap();
    let mut messages: Vec<Message> = heartbeats().into_iter().map(Message::Heartbeat).collect();
    messages.push(Message::Accept {
        epoch: Epoch::new(7),
        stamp: Some(stamp(LIFE, 5)),
        accepted: None,
    });
    messages.push(record());
    for first in &messages {
        for second in &messages {
            for (encoder, from) in [(&own, "primary-east"), (&other, "replica-1")] {
                for dialect in [Dialect::Extended, Dialect::Legacy] {
                    let mut frame = Frame::new();
                    own.encode(first, Dialect::Extended, &mut frame);
                    let again = encoder.encode(second, dialect, &mut frame).to_vec();
                    let new = encode(from, second, dialect);
                    assert_eq!(again, new, "{second:?} after {first:?}");
                    // A third is written over the second, not over the first.
                    let third = own.encode(first, Dialect::Extended, &mut frame).to_vec();
                    assert_eq!(third, encode("primary-east", first, Dialect::Extended));
                }
            }
        }
    }
}

#[test]
fn a_decoder_that_is_used_again_reads_what_a_new_one_would() {
    for first in heartbeats() {
        for second in heartbeats() {
            let mut decoder = Decoder::new(members("replica-2"));
            for said in [first, second, first, second, second] {
                let bytes = encode("primary-east", &Message::Heartbeat(said), Dialect::Extended);
                let heard = decoder.read(&mut &bytes[..]).unwrap();
                let wanted = said.extension.map(|_| Message::Heartbeat(said));
                assert_eq!(heard, wanted, "{first:?}, {second:?}");
            }
        }
    }
}

/// A later version may append fields, and then a heartbeat may be longer than any of this version.
#[test]
fn heartbeats_of_any_length_are_read_again_and_again() {
    let longest = Heartbeat {
        epoch: Epoch::new(u64::MAX),
        role: Role::Candidate,
        extension: Some(Extension {
            stamp: stamp(u128::MAX, u64::MAX),
            attestation: Attestation::Echo(stamp(u128::MAX, u64::MAX)),
            hears: PeerSet::from_bits(u64::MAX),
            holds: Held::new(u64::from(u32::MAX) << 7 | 127),
            lists: Outline { generation: 7, accepted: Some((Epoch::new(6), Fingerprint::new(5))) },
            nominee: Some(Peer::new(0)),
            ..heartbeat().extension.unwrap()
        }),
        ..heartbeat()
    };
    let bytes = encode("primary-east", &Message::Heartbeat(longest), Dialect::Extended);
    let (count, rest) = std::str::from_utf8(&bytes).unwrap().split_once("\r\n").unwrap();
    assert_eq!(count, "*19");
    for more in (0..400).step_by(3) {
        let later = "x".repeat(more);
        let frame = format!("*20\r\n{rest}${more}\r\n{later}\r\n");
        let mut decoder = Decoder::new(members("replica-2"));
        for _ in 0..3 {
            let heard = decoder.read(&mut frame.as_bytes());
            assert_eq!(heard, Ok(Some(Message::Heartbeat(longest))), "{more} more");
        }
        let short = encode("primary-east", &Message::Heartbeat(heartbeat()), Dialect::Extended);
        for _ in 0..2 {
            let wanted = Ok(Some(Message::Heartbeat(heartbeat())));
            assert_eq!(decoder.read(&mut &short[..]), wanted);
            for _ in 0..3 {
                let heard = decoder.read(&mut frame.as_bytes());
                assert_eq!(heard, Ok(Some(Message::Heartbeat(longest))), "{more} more");
            }
        }
    }
}

#[test]
fn only_what_repeats_a_heartbeat_is_taken_for_it() {
    let said = Heartbeat {
        extension: Some(Extension {
            attestation: Attestation::None,
            ..heartbeat().extension.unwrap()
        }),
        ..heartbeat()
    };
    let bytes = encode("primary-east", &Message::Heartbeat(said), Dialect::Extended);
    // Nothing but the digits of its numbers.
    let numbers = ["1234567", "98765432109876"];
    let mut hostile = vec![0; bytes.len()];
    for number in numbers {
        let at = bytes.windows(number.len()).position(|text| text == number.as_bytes()).unwrap();
        hostile[at..at + number.len()].copy_from_slice(number.as_bytes());
    }
    let mut decoder = Decoder::new(members("replica-2"));
    assert_eq!(decoder.read(&mut &bytes[..]), Ok(Some(Message::Heartbeat(said))));
    assert_eq!(decoder.read(&mut &hostile[..]), Err(WireError::NotAnArray(0)));
    // Nor does a frame of another kind, of the same length, hide behind it.
    let offer = array(&["offer", "7", "primary-east", "9", "5", &format!("{LIFE:032x}"), "6"]);
    let mut decoder = Decoder::new(members("replica-2"));
    assert_eq!(decoder.read(&mut &bytes[..]), Ok(Some(Message::Heartbeat(said))));
    assert!(matches!(decoder.read(&mut &offer[..]), Ok(Some(Message::Offer { .. }))));
    assert_eq!(decoder.read(&mut &bytes[..]), Ok(Some(Message::Heartbeat(said))));
}

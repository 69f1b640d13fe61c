//! Every frame, byte for byte, and split at every place.

use crate::cluster::{
    LIFE, encode, hear, hear_in_pieces, heartbeat, members, members_of, stamp, upper,
};
use core::time::Duration;
use election_core::{
    Epoch, Label, NodeId,
    quorum::{
        Attestation, Availability, Extension, Fingerprint, Heartbeat, Held, Maintenance,
        MemberList, Membership, Message, Outline, Peer, PeerSet, Position, Role, UnixMillis,
        wire::{Decoder, Dialect, Encoder, Frame, MAX_FRAME, WireError},
    },
};

struct Golden {
    from: &'static str,
    message: Message,
    legacy: &'static str,
    extended: &'static str,
}

fn announce() -> Message {
    Message::Announce {
        epoch: Epoch::new(7),
        address: Label::new("10.0.0.42:6004").unwrap(),
        token: Epoch::new(6),
        stamp: Some(stamp(LIFE, 5)),
    }
}

fn bare_extension() -> Message {
    let extension = heartbeat().extension.unwrap();
    Message::Heartbeat(Heartbeat {
        epoch: Epoch::NONE,
        role: Role::Candidate,
        position: Position { history: 0, offset: u64::MAX },
        extension: Some(Extension {
            attestation: Attestation::Token(Epoch::new(40)),
            availability: Availability::Busy,
            nominee: None,
            hears: PeerSet::default(),
            holds: Held::default(),
            ..extension
        }),
    })
}

/// kevy-elect's example frames with the verb in lower case.
fn frames() -> Vec<Golden> {
    let stamp = Some(stamp(LIFE, 5));
    let offer = Message::Offer {
        epoch: Epoch::new(7),
        position: Position { history: 6, offset: 99 },
        stamp,
    };
    vec![
        Golden {
            from: "primary-east",
            message: Message::Heartbeat(heartbeat()),
            legacy: "*5\r\n$2\r\nhb\r\n$2\r\n42\r\n$12\r\nprimary-east\r\n$7\r\nprimary\r\n\
                     $7\r\n1234567\r\n",
            extended: "*15\r\n$2\r\nhb\r\n$2\r\n42\r\n$12\r\nprimary-east\r\n$7\r\nprimary\r\n\
                       $7\r\n1234567\r\n$14\r\n98765432109876\r\n\
                       $32\r\n0123456789abcdeffedcba9876543210\r\n\
                       $1\r\n1\r\n$32\r\nffffffffffffffffffffffffffffffff\r\n\
                       $1\r\n1\r\n$2\r\n41\r\n$9\r\nreplica-1\r\n$20\r\n15443322594841914628\r\n\
                       $1\r\n6\r\n$1\r\n0\r\n",
        },
        Golden {
            from: "primary-east",
            message: bare_extension(),
            legacy: "*5\r\n$2\r\nhb\r\n$1\r\n0\r\n$12\r\nprimary-east\r\n$9\r\ncandidate\r\n\
                     $20\r\n18446744073709551615\r\n",
            extended: "*15\r\n$2\r\nhb\r\n$1\r\n0\r\n$12\r\nprimary-east\r\n$9\r\ncandidate\r\n\
                       $20\r\n18446744073709551615\r\n$14\r\n98765432109876\r\n\
                       $32\r\n0123456789abcdeffedcba9876543210\r\n\
                       $0\r\n\r\n$0\r\n\r\n\
                       $1\r\n0\r\n$1\r\n0\r\n$0\r\n\r\n$20\r\n15443322594841914628\r\n\
                       $1\r\n0\r\n$2\r\n40\r\n",
        },
        Golden {
            from: "replica-1",
            message: offer,
            legacy: "*4\r\n$5\r\noffer\r\n$1\r\n7\r\n$9\r\nreplica-1\r\n$2\r\n99\r\n",
            extended: "*7\r\n$5\r\noffer\r\n$1\r\n7\r\n$9\r\nreplica-1\r\n$2\r\n99\r\n\
                       $1\r\n5\r\n$32\r\n0123456789abcdeffedcba9876543210\r\n$1\r\n6\r\n",
        },
        Golden {
            from: "replica-1",
            message: Message::Accept { epoch: Epoch::new(7), stamp, accepted: None },
            legacy: "*3\r\n$6\r\naccept\r\n$1\r\n7\r\n$9\r\nreplica-1\r\n",
            extended: "*5\r\n$6\r\naccept\r\n$1\r\n7\r\n$9\r\nreplica-1\r\n\
                       $1\r\n5\r\n$32\r\n0123456789abcdeffedcba9876543210\r\n",
        },
        Golden {
            from: "replica-1",
            message: announce(),
            legacy: "*4\r\n$8\r\nannounce\r\n$1\r\n7\r\n$9\r\nreplica-1\r\n\
                     $14\r\n10.0.0.42:6004\r\n",
            extended: "*7\r\n$8\r\nannounce\r\n$1\r\n7\r\n$9\r\nreplica-1\r\n\
                       $14\r\n10.0.0.42:6004\r\n\
                       $1\r\n5\r\n$32\r\n0123456789abcdeffedcba9876543210\r\n$1\r\n6\r\n",
        },
    ]
}

/// The part of a message that a legacy peer gets.
pub(crate) fn legacy(message: &Message) -> Message {
    let mut message = message.clone();
    match &mut message {
        Message::Heartbeat(heartbeat) => {
            heartbeat.position.history = 0;
            heartbeat.extension = None;
        }
        Message::Offer { position, stamp, .. } => {
            position.history = 0;
            *stamp = None;
        }
        Message::Accept { stamp, accepted, .. } => (*stamp, *accepted) = (None, None),
        Message::Maintenance { stamp, .. } | Message::Lists { stamp, .. } => *stamp = None,
        Message::Announce { token, stamp, .. } => (*token, *stamp) = (Epoch::NONE, None),
    }
    message
}

#[test]
fn what_is_sent_is_exactly_this() {
    for Golden { from, message, legacy, extended } in frames() {
        let sent = |dialect| String::from_utf8(encode(from, &message, dialect)).unwrap();
        assert_eq!(sent(Dialect::Legacy), legacy);
        assert_eq!(sent(Dialect::Extended), extended);
    }
}

#[test]
fn what_is_heard_is_what_was_sent() {
    for golden in frames() {
        let plain = legacy(&golden.message);
        assert_eq!(hear(&upper(golden.legacy.as_bytes())), (vec![plain], Ok(())));
        assert_eq!(hear(golden.extended.as_bytes()), (vec![golden.message], Ok(())));
    }
}

#[test]
fn a_frame_cut_at_every_place_is_the_same_frame() {
    for golden in frames() {
        let plain = legacy(&golden.message);
        let legacy = upper(golden.legacy.as_bytes());
        let extended = golden.extended.as_bytes().to_vec();
        for (bytes, message) in [(legacy, plain), (extended, golden.message)] {
            for cut in 0..=bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                assert_eq!(hear_in_pieces([head, tail]), (vec![message.clone()], Ok(())), "{cut}");
            }
            assert_eq!(hear_in_pieces(bytes.chunks(1)), (vec![message], Ok(())));
        }
    }
}

/// A reader that fills a kilobyte at a time meets every frame at every place of its buffer.
#[test]
fn many_frames_come_out_of_pieces_of_any_size() {
    let golden = frames().into_iter().filter(|golden| golden.from == "replica-1");
    let (texts, messages): (Vec<_>, Vec<_>) =
        golden.map(|golden| (golden.extended, golden.message)).unzip();
    let bytes = texts.concat().repeat(20);
    let wanted = vec![messages; 20].concat();
    for size in 1..=1500 {
        let (heard, end) = hear_in_pieces(bytes.as_bytes().chunks(size));
        assert_eq!(end, Ok(()));
        assert!(heard == wanted, "in pieces of {size}");
    }
}

/// Like a driver: straight into the decoder.
#[test]
fn a_driver_reads_into_the_decoder() {
    let golden = &frames()[0];
    let mut stream = golden.extended.repeat(50).into_bytes();
    let mut decoder = Decoder::new(members("replica-2"));
    let mut heard = 0;
    while !stream.is_empty() {
        let space = decoder.space();
        assert!(!space.is_empty(), "a driver would take this for the end");
        let count = space.len().min(stream.len());
        space[..count].copy_from_slice(&stream[..count]);
        stream.drain(..count);
        decoder.filled(count);
        while let Some(message) = decoder.message().unwrap() {
            assert_eq!(message, golden.message);
            heard += 1;
        }
    }
    assert_eq!((heard, decoder.pending(), decoder.ended()), (50, 0, Ok(())));
    // A driver that has miscounted cannot have filled more than the buffer.
    assert_eq!(decoder.space().len(), MAX_FRAME);
    decoder.filled(usize::MAX);
    assert_eq!(decoder.pending(), MAX_FRAME);
}

#[test]
fn a_lower_case_verb_shows_the_extended_dialect() {
    let mut decoder = Decoder::new(members("replica-2"));
    assert_eq!((decoder.dialect(), decoder.peer()), (Dialect::Legacy, None));
    for (verb, shown) in [
        ("ACCEPT", Dialect::Legacy),
        ("Accept", Dialect::Legacy),
        ("accepT", Dialect::Legacy),
        ("accept", Dialect::Extended),
        ("ACCEPT", Dialect::Extended), // what was understood once is not forgotten
    ] {
        let frame = format!("*3\r\n$6\r\n{verb}\r\n$1\r\n7\r\n$9\r\nreplica-1\r\n");
        let heard = decoder.read(&mut frame.as_bytes()).unwrap();
        // Lower case without its extension is a greeting: its sender has not heard this node yet.
        assert_eq!(heard.is_some(), verb != "accept");
        assert_eq!(decoder.dialect(), shown, "after {verb}");
        assert_eq!(decoder.peer(), members("replica-2").find("replica-1"));
    }
}

/// A frame from a peer that has not heard this node counts for nothing: it says neither whom the
/// peer hears nor when it was sent. It is not a legacy frame, either.
#[test]
fn greetings_are_passed_over() {
    let golden = frames();
    let greetings: Vec<u8> = golden.iter().flat_map(|golden| golden.legacy.bytes()).collect();
    for golden in golden.iter().filter(|golden| golden.from == "replica-1") {
        assert_eq!(hear(golden.legacy.as_bytes()), (vec![], Ok(())), "{}", golden.legacy);
    }
    assert!(hear(&greetings).1.is_err(), "of two members on one connection");
    let [heartbeat, ..] = &golden[..] else { panic!("no heartbeat") };
    let bytes = [heartbeat.legacy, heartbeat.legacy, heartbeat.extended, heartbeat.legacy].concat();
    assert_eq!(hear(bytes.as_bytes()), (vec![heartbeat.message.clone()], Ok(())));
}

/// A later version may append fields: the known fields keep their meaning, the others are skipped.
#[test]
fn fields_of_later_versions_are_passed_over() {
    for golden in frames() {
        let (count, rest) = golden.extended.split_once("\r\n").unwrap();
        let known: usize = count[1..].parse().unwrap();
        // The last fields of a heartbeat and of a vote are known, but left out if they are zero.
        let left_out = [(15, 4), (5, 2)].into_iter().find(|(fields, _)| *fields == known);
        let left_out = left_out.map_or(0, |(_, left_out)| left_out);
        let (known, rest) = (known + left_out, format!("{rest}{}", "$1\r\n0\r\n".repeat(left_out)));
        for more in 1..=20 - known {
            let later = "$7\r\n\0later\n\r\n".repeat(more);
            let frame = format!("*{}\r\n{rest}{later}", known + more);
            assert_eq!(hear(frame.as_bytes()), (vec![golden.message.clone()], Ok(())));
        }
    }
}

/// The longest possible frame fits the encoder's buffer and any decoder's limit.
#[test]
fn the_longest_frames_are_as_long_as_documented() {
    let id = "x".repeat(32);
    let other = "y".repeat(32);
    let members = members_of(&[&id, &other], &id);
    let most = stamp(u128::MAX, u64::MAX);
    let encoder = Encoder::new(members.clone()).unwrap();
    let epoch = Epoch::new(u64::MAX);
    let announce = Message::Announce {
        epoch,
        address: Label::new(&"a".repeat(255)).unwrap(),
        token: epoch,
        stamp: Some(most),
    };
    let heartbeat = Message::Heartbeat(Heartbeat {
        epoch,
        role: Role::Candidate,
        position: Position { history: u64::MAX, offset: u64::MAX },
        extension: Some(Extension {
            stamp: most,
            attestation: Attestation::Echo(most),
            availability: Availability::Free,
            nominee: members.find(&other),
            fingerprint: Fingerprint::new(u64::MAX),
            hears: PeerSet::from_bits(u64::MAX),
            holds: Held::new(u64::from(u32::MAX) << 7 | 127),
            lists: Outline {
                generation: u64::MAX,
                accepted: Some((epoch, Fingerprint::new(u64::MAX))),
            },
        }),
    });
    let list = |generation, bits| MemberList {
        generation,
        voters: PeerSet::from_bits(bits),
        witnesses: PeerSet::from_bits(bits & !1),
    };
    let names = (0..63).map(|place| Some(NodeId::new(&format!("member{place:02}")).unwrap()));
    let (all, without) = (u64::MAX >> 1, u64::MAX >> 2);
    let origin = Fingerprint::new(u64::MAX);
    let (now, before) = (list(u64::MAX - 1, without), Some(list(u64::MAX - 2, all)));
    let next = Some((epoch, list(u64::MAX, all)));
    let lists = Membership::new(names.collect(), origin, now, before, next).unwrap();
    let lists = Message::Lists { epoch, lists: lists.into(), stamp: Some(most) };
    for (message, length) in [(announce, 440), (heartbeat, 487), (lists, 960)] {
        let mut frame = Frame::new();
        let bytes = encoder.encode(&message, Dialect::Extended, &mut frame);
        assert_eq!(bytes.len(), length);
        let mut decoder = Decoder::new(members_of(&[&id, &other], &other));
        assert_eq!(decoder.read(&mut &*bytes), Ok(Some(message)));
    }
}

/// Ids by their places, of which one is free; then the list in force, the one before and none to follow.
#[test]
fn lists_are_sent_by_places() {
    let list = |generation, bits, witnesses| MemberList {
        generation,
        voters: PeerSet::from_bits(bits),
        witnesses: PeerSet::from_bits(witnesses),
    };
    let ids = ["primary-east", "", "w"].map(|id| NodeId::new(id).ok());
    let (now, before) = (list(3, 0b101, 0b100), list(2, 0b001, 0));
    let lists = Membership::new(ids.to_vec(), Fingerprint::new(9), now, Some(before), None);
    let stamp = Some(stamp(LIFE, 5));
    let lists = Message::Lists { epoch: Epoch::new(7), lists: lists.unwrap().into(), stamp };
    assert_eq!(
        String::from_utf8(encode("primary-east", &lists, Dialect::Extended)).unwrap(),
        "*15\r\n$5\r\nlists\r\n$1\r\n7\r\n$12\r\nprimary-east\r\n\
         $1\r\n5\r\n$32\r\n0123456789abcdeffedcba9876543210\r\n$1\r\n9\r\n\
         $16\r\n primary-east  w\r\n$1\r\n3\r\n$1\r\n5\r\n$1\r\n4\r\n$1\r\n1\r\n$1\r\n0\r\n\
         $1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n"
    );
}

/// A new member has a place beside the others, and the connections of these stay what they are.
#[test]
fn another_list_is_encoded_and_decoded_by() {
    let (old, new) = (["a", "b"], ["a", "b", "c"]);
    let frame = |of: &str, ids: &[&str]| {
        let mut frame = Frame::new();
        let encoder = Encoder::new(members_of(ids, of)).unwrap();
        encoder.encode(&announce(), Dialect::Extended, &mut frame).to_vec()
    };
    let mut known = Decoder::new(members_of(&old, "a"));
    known.read(&mut &*frame("b", &old)).unwrap();
    let mut stranger = Decoder::new(members_of(&old, "a"));
    for decoder in [&mut known, &mut stranger] {
        decoder.decode_by(members_of(&new, "a"));
    }
    assert_eq!(known.peer(), Some(Peer::new(1)));
    assert!(known.read(&mut &*frame("b", &new)).is_ok());
    assert!(stranger.read(&mut &*frame("c", &new)).is_ok());
    assert_eq!(stranger.peer(), Some(Peer::new(2)));
}

/// What was read before names members by the places that they had.
#[test]
fn a_repeated_frame_is_read_by_the_new_list() {
    let nominee = Some(Peer::new(2));
    let extension = heartbeat().extension.map(|said| Extension { nominee, ..said });
    let encoder = Encoder::new(members_of(&["a", "b", "c"], "b")).unwrap();
    let mut frame = Frame::new();
    let heartbeat = Message::Heartbeat(Heartbeat { extension, ..heartbeat() });
    let bytes = encoder.encode(&heartbeat, Dialect::Extended, &mut frame);
    let nominee = |decoder: &mut Decoder| match decoder.read(&mut &*bytes) {
        Ok(Some(Message::Heartbeat(said))) => said.extension.unwrap().nominee,
        other => panic!("{other:?}"),
    };
    let mut decoder = Decoder::new(members_of(&["a", "b", "c"], "a"));
    assert_eq!([0, 1].map(|_| nominee(&mut decoder)), [Some(Peer::new(2)); 2]);
    decoder.decode_by(members_of(&["a", "b", "b1", "c"], "a"));
    assert_eq!(nominee(&mut decoder), Some(Peer::new(3)));
}

fn maintenance() -> Message {
    let record = Maintenance {
        number: 3,
        issuer: Peer::new(1),
        paused: true,
        by: Peer::new(2),
        since: Some(UnixMillis(1_700_000_000_000)),
        primary: Some(Peer::new(0)),
    };
    Message::Maintenance {
        epoch: Epoch::new(7),
        record,
        left: None,
        agreed: true,
        stamp: Some(stamp(LIFE, 5)),
    }
}

/// Zero stands for a pause without an end: one that is over is not to be taken for that.
#[test]
fn a_pause_that_is_over_is_told_from_one_without_an_end() {
    for (rest, read) in [(None, None), (Some(0), Some(1)), (Some(1), Some(1)), (Some(7), Some(7))] {
        let mut message = maintenance();
        let Message::Maintenance { left, .. } = &mut message else { unreachable!() };
        *left = rest.map(Duration::from_millis);
        let bytes = encode("replica-1", &message, Dialect::Extended);
        let place = format!("$13\r\n1700000000000\r\n$1\r\n{}\r\n", read.unwrap_or(0));
        assert!(String::from_utf8(bytes).unwrap().contains(&place), "{rest:?}");
    }
}

#[test]
fn a_record_of_maintenance_is_for_peers_of_this_protocol_only() {
    let bytes = encode("replica-1", &maintenance(), Dialect::Extended);
    let expected = "*13\r\n$11\r\nmaintenance\r\n$1\r\n7\r\n$9\r\nreplica-1\r\n\
                    $1\r\n5\r\n$32\r\n0123456789abcdeffedcba9876543210\r\n\
                    $1\r\n3\r\n$9\r\nreplica-1\r\n$1\r\n1\r\n$9\r\nreplica-2\r\n\
                    $13\r\n1700000000000\r\n$1\r\n0\r\n$12\r\nprimary-east\r\n$1\r\n1\r\n";
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), expected);
    let read = |bytes: &[u8]| Decoder::new(members("replica-2")).read(&mut &*bytes);
    assert_eq!(read(&bytes), Ok(Some(maintenance())));
    let mut ended = maintenance();
    if let Message::Maintenance { record, agreed, .. } = &mut ended {
        (record.paused, *agreed) = (false, false);
    }
    assert_eq!(read(&encode("replica-1", &ended, Dialect::Extended)), Ok(Some(ended)));
    assert_eq!(encode("replica-1", &maintenance(), Dialect::Legacy), b"", "nothing to send");
    let mut bare = maintenance();
    if let Message::Maintenance { stamp, .. } = &mut bare {
        *stamp = None;
    }
    let stamp = "$1\r\n5\r\n$32\r\n0123456789abcdeffedcba9876543210\r\n";
    let without = expected.replace(stamp, "$0\r\n\r\n$0\r\n\r\n");
    let bytes = encode("replica-1", &bare, Dialect::Extended);
    assert_eq!(String::from_utf8(bytes).unwrap(), without, "as many fields as ever");
    let upper = expected.replace("maintenance", "MAINTENANCE");
    assert!(matches!(read(upper.as_bytes()), Err(WireError::WrongArity { fields: 13, .. })));
    for (from, to) in [
        ("$1\r\n1\r\n$9\r\nreplica-2", "$1\r\n2\r\n$9\r\nreplica-2"),
        ("$1\r\n1\r\n", "$0\r\n\r\n"),
    ] {
        let broken = expected.replace(from, to);
        assert!(matches!(read(broken.as_bytes()), Err(WireError::NotAFlag { .. })), "{broken}");
    }
}

#[test]
fn a_heartbeat_says_which_record_it_holds_only_if_there_is_one() {
    let mut said = heartbeat();
    let plain = encode("primary-east", &Message::Heartbeat(said), Dialect::Extended);
    said.extension.as_mut().unwrap().holds = Held::new(387);
    let bytes = encode("primary-east", &Message::Heartbeat(said), Dialect::Extended);
    let expected = String::from_utf8(plain).unwrap().replace("*15", "*16") + "$3\r\n387\r\n";
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), expected);
    let mut decoder = Decoder::new(members("replica-2"));
    for _ in 0..2 {
        assert_eq!(decoder.read(&mut &*bytes), Ok(Some(Message::Heartbeat(said))), "cached or not");
    }
}

#[test]
fn a_connection_costs_little_more_than_two_kibibytes() {
    assert!(size_of::<Decoder>() <= 2_300, "{}", size_of::<Decoder>());
}

//! Frames and ballots.

use election_core::{
    Epoch, Incarnation, Label, NodeId, Timestamp,
    quorum::{
        Attestation, Availability, Ballot, Connection, Extension, Heartbeat, Held, Maintenance,
        Members, Message, Peer, PeerSet, Position, Role, Stamp,
        record::Record,
        wire::{Decoder, Dialect, Encoder, Frame, Outbox},
    },
};
use uuid::Uuid;

fn members(me: &str) -> Members {
    let ids = ["a", "b", "c"].map(|id| NodeId::new(id).unwrap()).to_vec();
    Members::new(ids, &NodeId::new(me).unwrap()).unwrap()
}

/// One message of every kind, with all optional fields.
fn messages() -> [Message; 4] {
    let stamp = Stamp { incarnation: Incarnation::new(Uuid::from_u128(7)), at: Timestamp::MAX };
    let position = Position { history: 6, offset: u64::MAX };
    let epoch = Epoch::new(7);
    let extension = Extension {
        stamp,
        attestation: Attestation::Echo(stamp),
        availability: Availability::Free,
        nominee: Some(Peer::new(2)),
        fingerprint: members("a").fingerprint(),
        hears: PeerSet::from_bits(u64::MAX),
        holds: Held::default(),
    };
    [
        Message::Heartbeat(Heartbeat {
            epoch,
            role: Role::Primary,
            position,
            extension: Some(extension),
        }),
        Message::Offer { epoch, position, stamp: Some(stamp) },
        Message::Accept { epoch, stamp: Some(stamp) },
        Message::Announce {
            epoch,
            address: Label::new("10.0.0.2:4711").unwrap(),
            token: epoch,
            stamp: Some(stamp),
        },
    ]
}

#[test]
fn frames_allocate_only_for_an_address_that_is_new() {
    let encoder = Encoder::new(members("a")).unwrap();
    let mut decoder = Decoder::new(members("b"));
    let mut frame = Frame::new();
    let messages = messages();
    for (round, new_addresses) in [(0, 1), (1, 0), (2, 0)] {
        for message in &messages {
            for dialect in [Dialect::Extended, Dialect::Legacy] {
                let mut heard = None;
                let count = allocation_counter::measure(|| {
                    let bytes = encoder.encode(message, dialect, &mut frame);
                    let (mut head, mut tail) = bytes.split_at(bytes.len() / 2);
                    assert_eq!(decoder.read(&mut head), Ok(None));
                    heard = decoder.read(&mut tail).unwrap();
                });
                let announced = matches!(message, Message::Announce { .. });
                let first = announced && dialect == Dialect::Extended;
                let most = if first { new_addresses } else { 0 };
                assert_eq!(count.count_total, most, "{message:?} in round {round}");
                // Without the extension it is a greeting.
                assert_eq!(heard.is_some(), dialect == Dialect::Extended);
            }
        }
    }
}

#[test]
fn an_outbox_allocates_nothing_whatever_waits() {
    let down_after = core::time::Duration::from_secs(5);
    let mut outbox = Outbox::new(Encoder::new(members("a")).unwrap(), down_after);
    let messages = messages();
    let count = allocation_counter::measure(|| {
        for turn in 0..100 {
            let now = Timestamp::from_nanos(turn);
            match turn % 10 {
                0 => outbox.opened(now),
                5 => outbox.heard(Connection(turn), Dialect::Extended, now),
                9 => outbox.closed(),
                _ => messages.iter().for_each(|message| outbox.push(message, now)),
            }
            outbox.written(100, now);
        }
    });
    assert_eq!(count.count_total, 0);
}

#[test]
fn refusing_a_frame_allocates_nothing() {
    for bytes in [&b"*0\r\n"[..], b"PING\r\n", b"*3\r\n$6\r\naccept\r\n$1\r\nx\r\n$1\r\na\r\n"] {
        let mut decoder = Decoder::new(members("b"));
        let count = allocation_counter::measure(|| {
            assert!(decoder.read(&mut &*bytes).is_err());
        });
        assert_eq!(count.count_total, 0);
    }
}

#[test]
fn a_ballot_is_written_without_allocating() {
    let ballot = Ballot {
        promised: Epoch::new(7),
        voted_for: NodeId::new("a").ok(),
        incarnation: Incarnation::new(Uuid::from_u128(7)),
        members: members("a").fingerprint(),
        floor: Position { history: 7, offset: 9 },
        maintenance: Maintenance::default(),
        pause: None,
    };
    let (node, mut length) = (NodeId::new("b").unwrap(), 0);
    let write = || length = Record::new(&ballot, &node).as_bytes().len();
    let count = allocation_counter::measure(write);
    assert_eq!((count.count_total, length), (0, 100));
}

//! All messages survive encoding and decoding, however they are split, and are RESP2 to another
//! implementation, too.

use crate::{
    cluster::{IDS, encode, hear, hear_in_pieces, members, upper},
    golden::legacy,
    refusals::array,
};
use core::time::Duration;
use election_core::{
    Epoch, Incarnation, Label, Timestamp,
    quorum::{
        Attestation, Availability, Extension, Fingerprint, Heartbeat, Held, Message, Peer, PeerSet,
        Position, Role, Stamp,
        wire::{Decoder, Dialect},
    },
};
use proptest::{option, prelude::*};
use redis_protocol::resp2::{decode::decode as oracle, types::OwnedFrame};
use uuid::Uuid;

/// Numbers of every length.
fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(number, shift)| number >> shift)
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<u128>(), number()).prop_map(|(life, at)| Stamp {
        incarnation: Incarnation::new(Uuid::from_u128(life)),
        at: Timestamp::from_nanos(at),
    })
}

fn position() -> impl Strategy<Value = Position> {
    (number(), number()).prop_map(|(history, offset)| Position { history, offset })
}

fn extension() -> impl Strategy<Value = Extension> {
    let nominee = option::of((0_u8..3).prop_map(Peer::new));
    let list = prop_oneof![number(), Just(members("replica-2").fingerprint().get())];
    let said = (option::of(stamp()), availability(), nominee, list);
    let holds = prop_oneof![Just(0), number()].prop_map(Held::new);
    (stamp(), said, (number(), holds), number()).prop_map(
        |(stamp, (echo, availability, nominee, list), (hears, holds), token)| Extension {
            stamp,
            attestation: match echo {
                Some(echo) => Attestation::Echo(echo),
                None if token == 0 => Attestation::None,
                None => Attestation::Token(Epoch::new(token)),
            },
            availability,
            nominee,
            fingerprint: Fingerprint::new(list),
            hears: PeerSet::from_bits(hears),
            holds,
        },
    )
}

fn availability() -> impl Strategy<Value = Availability> {
    use Availability::{Busy, BusyAside, Free, FreeAside, Ineligible, Leaving, Loading, Waiting};
    prop_oneof![
        Just(Busy),
        Just(BusyAside),
        Just(Free),
        Just(FreeAside),
        Just(Waiting),
        Just(Leaving),
        Just(Ineligible),
        Just(Loading)
    ]
}

fn heartbeat() -> impl Strategy<Value = Heartbeat> {
    let role = prop_oneof![Just(Role::Primary), Just(Role::Replica), Just(Role::Candidate)];
    let parts = (number().prop_map(Epoch::new), role, position(), extension());
    parts.prop_map(|(epoch, role, position, extension)| Heartbeat {
        epoch,
        role,
        position,
        extension: Some(extension),
    })
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    let epoch = || number().prop_map(Epoch::new);
    let address = "[^\0]{1,60}".prop_map(|text| Label::recorded(&text).unwrap());
    prop_oneof![
        heartbeat().prop_map(Message::Heartbeat),
        (epoch(), position(), stamp()).prop_map(|(epoch, position, stamp)| Message::Offer {
            epoch,
            position,
            stamp: Some(stamp)
        }),
        (epoch(), stamp()).prop_map(|(epoch, stamp)| Message::Accept { epoch, stamp: Some(stamp) }),
        (epoch(), address, epoch(), stamp()).prop_map(|(epoch, address, token, stamp)| {
            Message::Announce { epoch, address, token, stamp: Some(stamp) }
        }),
    ]
}

/// How the next heartbeat of a peer differs from the last.
#[derive(Clone, Debug)]
enum Next {
    /// Only in its numbers, as from one heartbeat to the next.
    Numbers { offset: u64, stamp: u64, echo: u64 },
    /// In a byte that was damaged on the way.
    Byte(prop::sample::Index, u8),
    /// In a digit that became another digit, or no digit.
    Digit(prop::sample::Index, u8),
}

fn next() -> impl Strategy<Value = Next> {
    let byte = || (any::<prop::sample::Index>(), any::<u8>());
    prop_oneof![
        4 => (0..3_u64, 0..300_u64, 0..3_u64)
            .prop_map(|(offset, stamp, echo)| Next::Numbers { offset, stamp, echo }),
        1 => byte().prop_map(|(place, byte)| Next::Byte(place, byte)),
        1 => byte().prop_map(|(place, byte)| Next::Digit(place, b'/' + byte % 12)),
    ]
}

impl Next {
    fn after(&self, last: &mut Heartbeat) -> Vec<u8> {
        if let Self::Numbers { offset, stamp, echo } = self {
            last.position.offset = last.position.offset.saturating_add(*offset);
            let extension = last.extension.as_mut().unwrap();
            extension.stamp.at = extension.stamp.at + Duration::from_nanos(*stamp);
            if let Attestation::Echo(at) = &mut extension.attestation {
                at.at = at.at + Duration::from_nanos(*echo);
            }
        }
        let mut bytes = encode("replica-1", &Message::Heartbeat(*last), Dialect::Extended);
        match self {
            Self::Numbers { .. } => {}
            Self::Byte(place, byte) => {
                let at = place.index(bytes.len());
                bytes[at] = *byte;
            }
            Self::Digit(place, byte) => {
                let digits = bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit());
                let places: Vec<usize> = digits.map(|(at, _)| at).collect();
                bytes[*place.get(&places)] = *byte;
            }
        }
        bytes
    }
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![Just(Dialect::Legacy), Just(Dialect::Extended)]
}

/// The fields that the other implementation finds, if it finds exactly one array.
fn fields(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (frame, used) = oracle(bytes).ok()??;
    let OwnedFrame::Array(frames) = frame else { return None };
    assert!(used <= bytes.len());
    frames
        .into_iter()
        .map(|frame| match frame {
            OwnedFrame::BulkString(bytes) => Some(bytes),
            _ => None,
        })
        .collect()
}

proptest! {
    #[test]
    fn messages_go_there_and_back(message in message(), dialect in dialect()) {
        let bytes = encode("replica-1", &message, dialect);
        let wanted = if dialect == Dialect::Legacy { legacy(&message) } else { message };
        let heard = if dialect == Dialect::Legacy { hear(&upper(&bytes)) } else { hear(&bytes) };
        prop_assert_eq!(heard, (vec![wanted.clone()], Ok(())));
        // A message without an extension is the same in both dialects.
        if dialect == Dialect::Legacy {
            prop_assert_eq!(encode("replica-1", &wanted, Dialect::Extended), bytes);
        }
    }

    #[test]
    fn what_came_before_does_not_matter(
        first in heartbeat(),
        later in prop::collection::vec(next(), 1..8),
    ) {
        let mut last = first;
        let speaker = array(&["ACCEPT", "7", "replica-1"]);
        let mut decoder = Decoder::new(members("replica-2"));
        let bytes = encode("replica-1", &Message::Heartbeat(last), Dialect::Extended);
        prop_assert_eq!(decoder.read(&mut &bytes[..]), Ok(Some(Message::Heartbeat(last))));
        // A damaged number of fields can end a frame early: the rest of it is read with the next.
        let mut rest = Vec::new();
        for next in later {
            let bytes = next.after(&mut last);
            let unread = [&rest[..], &bytes].concat();
            let mut other = Decoder::new(members("replica-2"));
            prop_assert!(matches!(other.read(&mut &speaker[..]), Ok(Some(_))));
            let alone = other.read(&mut &unread[..]);
            let heard = decoder.read(&mut &bytes[..]);
            prop_assert_eq!(&heard, &alone, "{:?}", next);
            if !matches!(heard, Ok(Some(_))) {
                break;
            }
            prop_assert_eq!(decoder.pending(), other.pending());
            rest = unread[unread.len() - other.pending()..].to_vec();
        }
    }

    #[test]
    fn pieces_do_not_matter(
        messages in prop::collection::vec(message(), 1..12),
        sizes in prop::collection::vec(1_usize..1200, 1..12),
    ) {
        let bytes: Vec<u8> = messages
            .iter()
            .flat_map(|message| encode("replica-1", message, Dialect::Extended))
            .collect();
        let mut rest = &bytes[..];
        let mut pieces = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, later) = rest.split_at(rest.len().min(*size));
            pieces.push(piece);
            rest = later;
        }
        prop_assert_eq!(hear_in_pieces(pieces), (messages, Ok(())));
    }

    #[test]
    fn another_implementation_reads_the_same_fields(message in message(), dialect in dialect()) {
        let bytes = encode("replica-1", &message, dialect);
        let fields = fields(&bytes).expect("an array of bulk strings");
        let texts: Vec<&str> =
            fields.iter().map(|field| std::str::from_utf8(field).unwrap()).collect();
        prop_assert_eq!(&array(&texts), &bytes);
        prop_assert_eq!(texts[2], IDS[1]);
    }
}

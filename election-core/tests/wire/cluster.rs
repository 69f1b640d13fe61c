//! The members in these tests, and both ends of a connection between two of them.

use election_core::{
    Epoch, Incarnation, NodeId, Timestamp,
    quorum::{
        Attestation, Availability, Extension, Heartbeat, Held, Members, Message, Outline, Peer,
        PeerSet, Position, Role, Stamp,
        wire::{Decoder, Dialect, Encoder, Frame, WireError},
    },
};
use uuid::Uuid;

pub(crate) const IDS: [&str; 3] = ["primary-east", "replica-1", "replica-2"];
pub(crate) const LIFE: u128 = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210;

pub(crate) fn members_of(ids: &[&str], me: &str) -> Members {
    let ids = ids.iter().map(|id| NodeId::new(id).unwrap()).collect();
    Members::new(ids, &NodeId::new(me).unwrap()).unwrap()
}

pub(crate) fn members(me: &str) -> Members {
    members_of(&IDS, me)
}

pub(crate) fn stamp(incarnation: u128, nanos: u64) -> Stamp {
    let incarnation = Incarnation::new(Uuid::from_u128(incarnation));
    Stamp { incarnation, at: Timestamp::from_nanos(nanos) }
}

/// The heartbeat of kevy-elect's example, with all optional fields.
pub(crate) fn heartbeat() -> Heartbeat {
    Heartbeat {
        epoch: Epoch::new(42),
        role: Role::Primary,
        position: Position { history: 41, offset: 1_234_567 },
        extension: Some(Extension {
            stamp: stamp(LIFE, 98_765_432_109_876),
            attestation: Attestation::Echo(stamp(u128::MAX, 1)),
            availability: Availability::Free,
            nominee: Some(Peer::new(1)),
            fingerprint: members("replica-2").fingerprint(),
            hears: PeerSet::from_bits(0b110),
            holds: Held::default(),
            lists: Outline::default(),
        }),
    }
}

pub(crate) fn encode(from: &str, message: &Message, dialect: Dialect) -> Vec<u8> {
    let encoder = Encoder::new(members(from)).unwrap();
    encoder.encode(message, dialect, &mut Frame::new()).to_vec()
}

/// The same frame as kevy-elect writes it, with its verb in upper case.
pub(crate) fn upper(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let verb = b"*0\r\n$0\r\n".len()..;
    let letters = frame[verb].iter_mut().take_while(|byte| byte.is_ascii_alphabetic());
    letters.for_each(u8::make_ascii_uppercase);
    frame
}

/// What `replica-2` receives: all messages, then the end of the connection.
pub(crate) fn hear(bytes: &[u8]) -> (Vec<Message>, Result<(), WireError>) {
    hear_in_pieces([bytes])
}

pub(crate) fn hear_in_pieces<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Message>, Result<(), WireError>) {
    let mut decoder = Decoder::new(members("replica-2"));
    let mut heard = Vec::new();
    for mut piece in pieces {
        loop {
            match decoder.read(&mut piece) {
                Ok(Some(message)) => heard.push(message),
                Ok(None) => break,
                Err(error) => return (heard, Err(error)),
            }
        }
        assert!(piece.is_empty(), "something was left");
    }
    (heard, decoder.ended())
}

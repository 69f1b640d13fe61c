//! Damaged frames, and noise that looks like frames: no panic, the same answer however they are
//! split, and no frame accepted that another implementation of RESP2 would not accept.

use crate::{
    cluster::{encode, hear, hear_in_pieces, members},
    properties::message,
};
use election_core::quorum::wire::{Decoder, Dialect, MAX_FRAME};
use proptest::prelude::*;
use redis_protocol::resp2::decode::decode as oracle;

#[derive(Clone, Debug)]
enum Damage {
    Flip(usize, u8),
    Remove(usize),
    Insert(usize, u8),
    Cut(usize),
    Double(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte =
        prop_oneof![any::<u8>(), proptest::sample::select(&b"*$\r\n0123456789-+: hbHB\0\xff"[..])];
    let place = 0_usize..800;
    prop_oneof![
        (place.clone(), 0_u8..8).prop_map(|(place, bit)| Damage::Flip(place, 1 << bit)),
        place.clone().prop_map(Damage::Remove),
        (place.clone(), byte).prop_map(|(place, byte)| Damage::Insert(place, byte)),
        place.clone().prop_map(Damage::Cut),
        (place.clone(), place).prop_map(|(from, to)| Damage::Double(from, to)),
    ]
}

fn spoil(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let len = bytes.len();
    match *damage {
        Damage::Flip(place, bits) => bytes[place % len] ^= bits,
        Damage::Remove(place) => drop(bytes.remove(place % len)),
        Damage::Insert(place, byte) => bytes.insert(place % len, byte),
        Damage::Cut(place) => bytes.truncate(place % len),
        Damage::Double(from, to) => {
            let piece = bytes[(from % len).min(to % len)..(from % len).max(to % len)].to_vec();
            bytes.splice(from % len..from % len, piece);
        }
    }
}

/// For any bytes: splitting does not matter, and each accepted frame is one frame to the oracle.
fn check(bytes: &[u8]) {
    let whole = hear(bytes);
    assert_eq!(hear_in_pieces(bytes.chunks(1)), whole);
    assert_eq!(hear_in_pieces(bytes.chunks(7)), whole);
    let mut decoder = Decoder::new(members("replica-2"));
    let (mut fed, mut start) = (0, 0);
    while fed < bytes.len() {
        fed += 1;
        match decoder.read(&mut &bytes[fed - 1..fed]) {
            Ok(None) => {}
            Ok(Some(_)) => {
                let frame = &bytes[start..fed];
                let (_, used) = oracle(frame).expect("RESP2").expect("whole");
                assert_eq!(used, frame.len());
                start = fed;
            }
            Err(_) => break,
        }
        assert!(decoder.pending() < MAX_FRAME);
    }
}

#[test]
fn a_connection_costs_little_more_than_two_kibibytes() {
    assert!(size_of::<Decoder>() <= 2_200, "{}", size_of::<Decoder>());
}

proptest! {
    #[test]
    fn damaged_frames_are_harmless(
        messages in prop::collection::vec(message(), 1..3),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let mut bytes: Vec<u8> = messages
            .iter()
            .flat_map(|message| encode("replica-1", message, Dialect::Extended))
            .collect();
        damages.iter().for_each(|damage| spoil(&mut bytes, damage));
        check(&bytes);
    }

    #[test]
    fn noise_is_harmless(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes);
    }

    #[test]
    fn noise_of_the_right_letters_is_harmless(
        bytes in prop::collection::vec(proptest::sample::select(&b"*$\r\n0123hb-"[..]), 0..300),
    ) {
        check(&[b"*3\r\n$6\r\naccept\r\n", &bytes[..]].concat());
    }
}

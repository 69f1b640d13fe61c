//! A ballot from a disk that lies: no bytes panic the reader, what it accepts is written the same
//! again, every ballot comes back, and never after it has been damaged.
#![no_main]

use arbitrary::Arbitrary;
use election_core::{
    Epoch, Incarnation, NodeId,
    quorum::{Ballot, Fingerprint, Position, record::Record},
};
use libfuzzer_sys::fuzz_target;
use uuid::Uuid;

#[derive(Arbitrary, Debug)]
struct Disk<'a> {
    noise: &'a [u8],
    promised: u64,
    voted_for: Option<&'a str>,
    life: u128,
    members: u64,
    floor: (u64, u64),
    damage: (u16, u8),
    cut: u16,
}

fn rewritten(bytes: &[u8]) {
    match Record::read(bytes) {
        Ok(ballot) => assert_eq!(Record::new(&ballot).as_bytes(), bytes),
        Err(error) => assert!(error.to_string().contains("must not vote")),
    }
}

fuzz_target!(|disk: Disk<'_>| {
    rewritten(disk.noise);
    let ballot = Ballot {
        promised: Epoch::new(disk.promised),
        voted_for: disk.voted_for.and_then(|id| NodeId::recorded(id).ok()),
        incarnation: Incarnation::new(Uuid::from_u128(disk.life)),
        members: Fingerprint::new(disk.members),
        floor: Position { history: disk.floor.0, offset: disk.floor.1 },
    };
    let record = Record::new(&ballot);
    let whole = record.as_bytes();
    assert!(whole.len() <= Record::MAX);
    assert_eq!(Record::read(whole), Ok(ballot));

    let mut damaged = whole.to_vec();
    let (place, change) = disk.damage;
    damaged[usize::from(place) % whole.len()] ^= change;
    assert_eq!(Record::read(&damaged).is_ok(), change == 0);
    assert!(Record::read(&whole[..usize::from(disk.cut) % whole.len()]).is_err());
    assert!(disk.noise.is_empty() || Record::read(&[whole, disk.noise].concat()).is_err());
});

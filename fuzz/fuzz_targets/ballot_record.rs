//! A ballot from a disk that lies: no bytes panic the reader, what it accepts is written the same
//! again, every ballot comes back, and never after it has been damaged.
#![no_main]

use arbitrary::Arbitrary;
use election_core::{
    Epoch, Incarnation, NodeId,
    quorum::{
        Ballot, Fingerprint, Maintenance, MemberChange, Members, Membership, Position, Remainder,
        UnixMillis, record::Record,
    },
};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;
use uuid::Uuid;

#[derive(Arbitrary, Debug)]
struct Disk<'a> {
    noise: &'a [u8],
    promised: u64,
    node: Option<&'a str>,
    voted_for: Option<&'a str>,
    life: u128,
    members: u64,
    /// Who joins or leaves, and whether that holds.
    lists: [(u8, bool); 4],
    floor: (u64, u64),
    pause: Option<(u64, u64)>,
    damage: (u16, u8),
    cut: u16,
}

fn lists(node: &NodeId, changes: [(u8, bool); 4]) -> Membership {
    let members = Members::new(vec![node.clone()], node).expect("a list of one");
    let mut lists = members.first_lists();
    for (who, holds) in changes {
        let id = NodeId::new(&format!("n{}", who % 4)).expect("an id");
        let change = match who / 4 % 3 {
            0 => MemberChange::Remove(id),
            role => MemberChange::Add { id, witness: role == 1 },
        };
        let Some(next) = lists.propose(Epoch::new(u64::from(who) + 1), &change) else { continue };
        lists = if holds { next.establish().expect("a proposal") } else { next };
    }
    lists
}

fn rewritten(bytes: &[u8], node: &NodeId) {
    match Record::read(bytes, node) {
        Ok(ballot) => assert_eq!(Record::new(&ballot, node).as_bytes(), bytes),
        Err(error) => assert!(error.to_string().contains("must not vote")),
    }
}

fuzz_target!(|disk: Disk<'_>| {
    let node = disk.node.and_then(|id| NodeId::recorded(id).ok());
    let Some(node) = node else { return };
    rewritten(disk.noise, &node);
    let ballot = Ballot {
        promised: Epoch::new(disk.promised),
        voted_for: disk.voted_for.and_then(|id| NodeId::recorded(id).ok()),
        incarnation: Incarnation::new(Uuid::from_u128(disk.life)),
        members: Fingerprint::new(disk.members),
        lists: lists(&node, disk.lists),
        floor: Position { history: disk.floor.0, offset: disk.floor.1 },
        maintenance: Maintenance::default(),
        pause: disk.pause.map(|(left, at)| Remainder {
            left: Duration::from_millis(left.max(1)),
            at: Some(UnixMillis(at)).filter(|at| at.0 > 0),
        }),
    };
    let record = Record::new(&ballot, &node);
    let whole = record.as_bytes();
    assert_eq!(Record::read(whole, &node), Ok(ballot));

    let mut damaged = whole.to_vec();
    let (place, change) = disk.damage;
    damaged[usize::from(place) % whole.len()] ^= change;
    assert_eq!(Record::read(&damaged, &node).is_ok(), change == 0);
    assert!(Record::read(&whole[..usize::from(disk.cut) % whole.len()], &node).is_err());
    assert!(disk.noise.is_empty() || Record::read(&[whole, disk.noise].concat(), &node).is_err());
});

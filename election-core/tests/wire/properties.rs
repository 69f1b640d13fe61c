//! All messages survive encoding and decoding, and are RESP2 to another implementation, too.

use crate::{
    cluster::{encode, hear, members, upper},
    golden::legacy,
};
use election_core::{
    Epoch, Incarnation, Label, NodeId, Timestamp,
    quorum::{
        Attestation, Availability, Extension, Fingerprint, Heartbeat, Held, MemberChange,
        Membership, Message, Outline, Peer, PeerSet, Position, Role, Stamp, wire::Dialect,
    },
};
use proptest::{collection, option, prelude::*};
use redis_protocol::resp2::decode::decode as oracle;
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
    (stamp(), said, (number(), holds, outline()), number()).prop_map(
        |(stamp, (echo, availability, nominee, list), (hears, holds, lists), token)| Extension {
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
            lists,
        },
    )
}

fn accepted() -> impl Strategy<Value = Option<(Epoch, Fingerprint)>> {
    option::of(((1..u64::MAX).prop_map(Epoch::new), number().prop_map(Fingerprint::new)))
}

fn outline() -> impl Strategy<Value = Outline> {
    let generation = prop_oneof![Just(0), number()];
    (generation, accepted()).prop_map(|(generation, accepted)| Outline { generation, accepted })
}

/// Some of the lists that a cluster could have recorded.
fn lists() -> impl Strategy<Value = Membership> {
    let change = (0_u8..6, any::<bool>(), any::<bool>()).prop_map(|(nth, adds, witness)| {
        let id = NodeId::new(&format!("n{nth}")).unwrap();
        if adds { MemberChange::Add { id, witness } } else { MemberChange::Remove(id) }
    });
    (collection::vec((change, any::<bool>()), 0..8), 1..u64::MAX).prop_map(|(changes, epoch)| {
        let mut lists = members("replica-1").first_lists();
        for (change, holds) in changes {
            let next = lists.propose(Epoch::new(epoch), &change);
            let Some(next) = next else { continue };
            lists = if holds { next.establish().unwrap() } else { next };
        }
        lists
    })
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
        (epoch(), stamp(), accepted()).prop_map(|(epoch, stamp, accepted)| Message::Accept {
            epoch,
            stamp: Some(stamp),
            accepted
        }),
        (epoch(), lists(), stamp()).prop_map(|(epoch, lists, stamp)| Message::Lists {
            epoch,
            lists: Box::new(lists),
            stamp: Some(stamp)
        }),
        (epoch(), address, epoch(), stamp()).prop_map(|(epoch, address, token, stamp)| {
            Message::Announce { epoch, address, token, stamp: Some(stamp) }
        }),
    ]
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![Just(Dialect::Legacy), Just(Dialect::Extended)]
}

proptest! {
    #[test]
    fn messages_go_there_and_back(message in message(), dialect in dialect()) {
        let bytes = encode("replica-1", &message, dialect);
        if bytes.is_empty() {
            let is_lists = matches!(message, Message::Lists { .. });
            prop_assert!(dialect == Dialect::Legacy && is_lists);
            return Ok(());
        }
        let wanted = if dialect == Dialect::Legacy { legacy(&message) } else { message };
        let heard = if dialect == Dialect::Legacy { hear(&upper(&bytes)) } else { hear(&bytes) };
        prop_assert_eq!(heard, (vec![wanted.clone()], Ok(())));
        let (_, used) = oracle(&bytes).expect("RESP2").expect("a whole frame");
        prop_assert_eq!(used, bytes.len());
        // A message without an extension is the same in both dialects.
        if dialect == Dialect::Legacy {
            prop_assert_eq!(encode("replica-1", &wanted, Dialect::Extended), bytes);
        }
    }
}

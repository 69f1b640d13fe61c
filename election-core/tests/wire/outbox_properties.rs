//! Whatever happens in whatever order, the outbox keeps its rules.

use crate::outbox_model::{Happening, Kind, Model};
use election_core::quorum::Role;
use proptest::{collection::vec, prelude::*};

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => prop_oneof![Just(Role::Primary), Just(Role::Replica), Just(Role::Candidate)]
            .prop_map(Kind::Heartbeat),
        1 => Just(Kind::Offer),
        1 => Just(Kind::Accept),
        1 => Just(Kind::Announce),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => (kind(), 0_u8..4).prop_map(|(kind, epoch)| Happening::Push(kind, epoch)),
        6 => (0_u16..500).prop_map(Happening::Take),
        2 => Just(Happening::Open),
        1 => Just(Happening::Close),
        2 => Just(Happening::Hear),
        1 => Just(Happening::End),
        1 => Just(Happening::Stranger),
    ]
}

proptest! {
    #[test]
    fn frames_arrive_in_order_with_the_newest_heartbeat(
        is_old: bool,
        happenings in vec(happening(), 0..200),
    ) {
        Model::new(is_old).play(&happenings);
    }
}

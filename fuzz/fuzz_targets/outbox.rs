//! An outbox whose node pushes whatever it likes, whose connections come and go and take bytes as
//! they like, and whose peer is heard or not: what arrives is what was pushed, in order, nothing
//! grows, and the newest heartbeat is never lost. The model is that of the property test.
#![no_main]

#[path = "../../election-core/tests/wire/outbox_model.rs"]
mod model;

use arbitrary::{Arbitrary, Unstructured};
use election_core::quorum::Role;
use libfuzzer_sys::fuzz_target;
use model::{Happening, Kind, Model};

#[derive(Debug)]
struct Story {
    is_old: bool,
    happenings: Vec<Happening>,
}

impl<'a> Arbitrary<'a> for Story {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let is_old = u.arbitrary()?;
        let mut happenings = Vec::new();
        while !u.is_empty() {
            happenings.push(happening(u)?);
        }
        Ok(Self { is_old, happenings })
    }
}

fn happening(u: &mut Unstructured<'_>) -> arbitrary::Result<Happening> {
    let heartbeat = |role| Kind::Heartbeat(role);
    let kinds = [
        heartbeat(Role::Primary),
        heartbeat(Role::Replica),
        heartbeat(Role::Candidate),
        Kind::Offer,
        Kind::Accept,
        Kind::Announce,
    ];
    Ok(match u.int_in_range(0..=10)? {
        0..=3 => Happening::Push(*u.choose(&kinds)?, u.int_in_range(0..=3)?),
        4..=5 => Happening::Take(u.int_in_range(0..=600)?),
        6 => Happening::Open,
        7 => Happening::Close,
        8 => Happening::Hear,
        9 => Happening::End,
        _ => Happening::Stranger,
    })
}

fuzz_target!(|story: Story| Model::new(story.is_old).play(&story.happenings));

//! Faults of the links between electors and their server: of one, or of all at once.

use super::Wound;
use crate::{plan::Hit, world::World};
use election_testing::{LinkState, Proxy};
use std::time::Duration;

/// The links that are meant: in two of three cases one, else all.
fn links(world: &mut World, hit: &Hit) -> Vec<usize> {
    match hit.degree % 3 {
        0 => (0..world.links.len()).collect(),
        _ => vec![world.pick(hit.target)],
    }
}

/// All that leads from these nodes to the database.
fn ways<'a>(world: &'a World, nodes: &'a [usize]) -> impl Iterator<Item = &'a Proxy> {
    nodes.iter().flat_map(|node| &world.links[*node])
}

fn set(world: &mut World, hit: &Hit, up: LinkState, down: LinkState) -> Option<Wound> {
    let links = links(world, hit);
    ways(world, &links).for_each(|way| way.set(up, down));
    Wound::until(move |world| {
        ways(world, &links).for_each(|way| way.set(LinkState::Open, LinkState::Open));
    })
}

/// Once, as a router does that has restarted.
pub(super) fn cut(world: &mut World, hit: &Hit) -> Option<Wound> {
    let links = links(world, hit);
    ways(world, &links).for_each(Proxy::cut);
    Some(Wound::Once)
}

pub(super) fn refuse(world: &mut World, hit: &Hit) -> Option<Wound> {
    let links = links(world, hit);
    for way in ways(world, &links) {
        way.set_refusing(true);
        way.cut();
    }
    Wound::until(move |world| {
        ways(world, &links).for_each(|way| way.set_refusing(false));
    })
}

pub(super) fn stall_both(world: &mut World, hit: &Hit) -> Option<Wound> {
    set(world, hit, LinkState::Stalled, LinkState::Stalled)
}

pub(super) fn stall_up(world: &mut World, hit: &Hit) -> Option<Wound> {
    set(world, hit, LinkState::Stalled, LinkState::Open)
}

/// What was asked is done, and nobody hears of it.
pub(super) fn stall_down(world: &mut World, hit: &Hit) -> Option<Wound> {
    set(world, hit, LinkState::Open, LinkState::Stalled)
}

pub(super) fn lose_up(world: &mut World, hit: &Hit) -> Option<Wound> {
    set(world, hit, LinkState::Lost, LinkState::Open)
}

pub(super) fn lose_down(world: &mut World, hit: &Hit) -> Option<Wound> {
    set(world, hit, LinkState::Open, LinkState::Lost)
}

/// From what is hardly felt to what no statement survives.
pub(super) fn slow(world: &mut World, hit: &Hit) -> Option<Wound> {
    let delay = LinkState::Slow(Duration::from_millis(5 + 2 * hit.degree));
    set(world, hit, delay, delay)
}

/// Repeats what electors have sent, late. Not what the application has sent: a fence proves nothing
/// to statements that are repeated without a look at its answer.
pub(super) fn repeat(world: &mut World, hit: &Hit) -> Option<Wound> {
    let says = |said: &[u8], words: &str| {
        said.windows(words.len()).any(|window| window == words.as_bytes())
    };
    let links = links(world, hit);
    for way in ways(world, &links) {
        way.repeat(|said| {
            !["INSERT INTO work", "UPDATE resource"].iter().any(|words| says(said, words))
        });
    }
    Some(Wound::Once)
}

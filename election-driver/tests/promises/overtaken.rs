//! A more urgent question overtakes another. Dropping a question costs its connection, so one that
//! is nearly done may still finish; one that hangs must not hold up a resignation.

use crate::world::{World, elector_of, poll};
use election_driver::{Driver, Handle, Runtime as _, core::lease::Query};
use futures_lite::future::{block_on, poll_once};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(15);

fn passes(world: &World, time: Duration) {
    world.set(world.now() + time);
}

/// A leader whose win has taken this long, whose registration hangs, and that has just been asked to
/// resign.
fn resigning(ttl: Duration, win: Duration) -> (World, Handle<World>, Driver) {
    let world = World::default();
    (world.state().win, world.state().list_hangs) = (win, true);
    let (world, handle, mut driver) = elector_of(ttl, world);
    poll(&mut driver);
    passes(&world, win);
    poll(&mut driver);
    assert!(handle.is_leader());
    assert!(matches!(world.state().asked.last(), Some(Query::Register { .. })));
    assert!(block_on(poll_once(handle.resign())).is_none());
    poll(&mut driver);
    assert!(!handle.is_leader());
    (world, handle, driver)
}

/// Whether the resignation was asked for, after this time.
fn resigns_after(world: &World, driver: &mut Driver, micros: u64) -> bool {
    passes(world, Duration::from_micros(micros));
    poll(driver);
    world.state().asked.iter().any(|query| matches!(query, Query::Resign { .. }))
}

#[test]
fn one_that_is_nearly_done_keeps_its_connection() {
    let (world, _handle, mut driver) = resigning(TTL, Duration::ZERO);
    assert!(!resigns_after(&world, &mut driver, 9_000));
    world.state().list_hangs = false;
    assert!(resigns_after(&world, &mut driver, 0));
}

/// Where statements take long, one that is nearly done does, too.
#[test]
fn what_statements_take_is_learnt_from_those_that_were_answered() {
    let (world, _handle, mut driver) = resigning(TTL, Duration::from_millis(200));
    // Twice a quarter of it, and ten milliseconds.
    assert!(!resigns_after(&world, &mut driver, 109_000));
    assert!(resigns_after(&world, &mut driver, 1_000));
}

#[test]
fn a_short_lease_waits_for_less() {
    let (world, _handle, mut driver) = resigning(Duration::from_millis(150), Duration::ZERO);
    assert!(!resigns_after(&world, &mut driver, 2_400));
    // An eighth of two fifteenths of the ttl.
    assert!(resigns_after(&world, &mut driver, 200));
}

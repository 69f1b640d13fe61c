//! How work ends, and what becomes of leadership then.

use crate::world::{World, elector, leader, poll};
use election_driver::{
    Driver, Handle, Lease, NotElected, Runtime, WorkError, core::lease::Failure,
};
use futures_lite::future::{block_on, poll_once};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    time::Duration,
};

const INSTANT: Duration = Duration::from_nanos(1);

/// What is ready at the end of belief comes too late.
#[test]
fn a_loss_goes_before_work_that_is_ready() {
    let (world, _handle, _driver, lease) = leader();
    assert_eq!(block_on(lease.until_lost(async { 7 })), Ok(7));
    world.set(lease.until());
    assert!(block_on(lease.until_lost(async { 7 })).is_err());
}

/// The end of the elector is no failure of the work, if somebody asked for it.
#[test]
fn a_shutdown_by_other_code_is_no_error() {
    let (_world, handle, mut driver, lease) = leader();
    drop(lease);
    let mut works = pin!(handle.run_while_leader(async |lease: Lease<_>| -> Result<(), String> {
        lease.lost().await;
        Ok(())
    }));
    assert!(block_on(poll_once(works.as_mut())).is_none());
    handle.withdraw();
    let mut done = None;
    for _ in 0..5 {
        poll(&mut driver);
        done = block_on(poll_once(works.as_mut()));
        if done.is_some() {
            break;
        }
    }
    assert!(matches!(done, Some(Ok(()))), "{done:?}");
}

/// It is one if nobody did: a panic of the elector, or the end of its runtime.
#[test]
fn an_elector_that_is_gone_is_an_error() {
    let (_world, handle, driver, lease) = leader();
    drop(lease);
    let mut works = pin!(handle.run_while_leader(async |lease: Lease<_>| -> Result<(), String> {
        lease.lost().await;
        Ok(())
    }));
    assert!(block_on(poll_once(works.as_mut())).is_none());
    drop(driver);
    let done = block_on(poll_once(works.as_mut()));
    assert!(matches!(done, Some(Err(WorkError::NotElected(NotElected::Stopped(_))))), "{done:?}");
}

/// Waits to lead for this many seconds at most.
fn wait(
    (world, handle, driver): &mut (World, Handle<World>, Driver),
    seconds: u64,
) -> Option<Result<Lease<World>, NotElected>> {
    let mut elected = pin!(handle.elected());
    let end = world.now() + Duration::from_secs(seconds);
    loop {
        let ended = block_on(poll_once(elected.as_mut()));
        if ended.is_some() || world.now() >= end {
            return ended;
        }
        world.set(world.now() + Duration::from_millis(100));
        poll(driver);
    }
}

/// Who waits to lead hears what an operator has to mend, after a ttl of 15 s.
#[test]
fn a_store_that_cannot_be_used_ends_the_wait() {
    let mut elector = elector();
    let began = elector.0.now();
    elector.0.state().fails = Some(Failure::Fatal);
    let ended = wait(&mut elector, 60);
    assert!(matches!(ended, Some(Err(NotElected::Unusable(_)))), "{ended:?}");
    let waited = elector.0.now().since(began);
    assert!((15..16).contains(&waited.as_secs()), "{waited:?}");
    // Who waits again waits for the operator, and the elector has not given up.
    elector.0.state().fails = None;
    assert!(matches!(wait(&mut elector, 15), Some(Ok(_))));
    elector.0.state().fails = Some(Failure::Fatal);
    let (world, _, driver) = &mut elector;
    world.set(world.now() + Duration::from_secs(15));
    poll(driver);
    assert!(wait(&mut elector, 60).is_none(), "it has been used");
}

/// The end of the elector may come while the wait looks at the clock, on another thread.
#[test]
fn a_wait_notices_the_end_of_the_elector_at_any_time() {
    let (world, handle, driver) = elector();
    world.state().hangs = true;
    let mut elected = pin!(handle.elected());
    assert!(block_on(poll_once(elected.as_mut())).is_none());
    world.set(world.now() + Duration::from_secs(15));
    world.state().between = Some((1, Box::new(move || drop(driver))));
    let mut ended = block_on(poll_once(elected.as_mut()));
    if ended.is_none() {
        ended = block_on(poll_once(elected.as_mut()));
    }
    assert!(matches!(ended, Some(Err(NotElected::Stopped(_)))), "{ended:?}");
}

/// It may come back by itself.
#[test]
fn a_store_that_cannot_be_reached_is_waited_for() {
    for failure in [Failure::Transient, Failure::Ambiguous, Failure::Conflict] {
        let mut elector = elector();
        elector.0.state().fails = Some(failure);
        assert!(wait(&mut elector, 60).is_none(), "{failure:?}");
        elector.0.state().fails = None;
        assert!(matches!(wait(&mut elector, 15), Some(Ok(_))), "{failure:?}");
    }
}

/// Others get the leadership at once, and whoever gave the work hears of it only then.
#[test]
fn work_that_is_done_gives_leadership_up() {
    for outcome in [Ok(()), Err("out of paper")] {
        let (world, handle, mut driver, lease) = leader();
        drop(lease);
        let mut works = pin!(handle.run_while_leader(async |_: Lease<_>| outcome));
        let mut done = block_on(poll_once(works.as_mut()));
        for _ in 0..5 {
            assert!(done.is_none() || world.state().released);
            if done.is_some() {
                break;
            }
            poll(&mut driver);
            done = block_on(poll_once(works.as_mut()));
        }
        let said = done.expect("an end").map_err(|error| error.to_string());
        let failed = outcome.map_err(|error| format!("leader work failed: {error}"));
        assert_eq!(said, failed);
    }
}

/// Whoever gives the work up has said nothing about leadership.
#[test]
fn work_that_is_dropped_does_not_resign() {
    let (_world, handle, mut driver, lease) = leader();
    let mut works = Box::pin(handle.run_while_leader(async |lease: Lease<_>| {
        lease.lost().await;
        Ok::<(), String>(())
    }));
    assert!(block_on(poll_once(works.as_mut())).is_none());
    drop(works);
    poll(&mut driver);
    assert!(lease.is_held() && handle.is_leader());
}

/// Panicked work does not go on: this process gives leadership up, though handles are left.
#[test]
fn work_that_panics_resigns() {
    let (_world, handle, mut driver, lease) = leader();
    let works = async {
        let works = handle.run_while_leader(async |_| -> Result<(), String> {
            panic!("a bug in leader work, as the test wants it")
        });
        let _ = works.await;
    };
    let panicked = catch_unwind(AssertUnwindSafe(|| block_on(poll_once(works))));
    assert!(panicked.is_err());
    poll(&mut driver);
    assert!(!lease.is_held() && !handle.is_leader());
}

/// To the nanosecond: belief ends at `until`, the hard stop is at `stop_by`.
#[test]
fn the_last_instants_of_a_leadership() {
    let (world, handle, _driver, lease) = leader();
    let (until, stop_by) = (lease.until(), lease.stop_by());
    let mut lost = pin!(lease.lost());
    let mut stopped = pin!(lease.hard_stop());
    world.set(until - INSTANT);
    assert!(handle.is_leader() && handle.lease().is_some());
    assert!(block_on(poll_once(lost.as_mut())).is_none());
    world.set(until);
    assert!(!handle.is_leader() && handle.lease().is_none());
    assert!(block_on(poll_once(lost)).is_some());
    world.set(stop_by - INSTANT);
    assert!(block_on(poll_once(stopped.as_mut())).is_none());
    world.set(stop_by);
    assert!(block_on(poll_once(stopped)).is_some());
}

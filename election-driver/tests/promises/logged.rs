//! What an operator reads at night.

use crate::{
    capture::told,
    world::{Renewal, World, elector_in, leader, poll, run},
};
use election_driver::{Notice, Runtime as _, core::lease::Failure};
use futures_lite::future::{block_on, poll_once};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    time::Duration,
};

#[test]
fn whether_the_database_notifies_is_logged() {
    let (notices, said) = async_channel::unbounded();
    let world = World::default();
    world.state().notices = Some(Box::pin(said));
    let names = told(|| {
        let (world, _handle, mut driver) = elector_in(world);
        poll(&mut driver);
        for notice in [Notice::NotListening("as the test says".into()), Notice::Listening] {
            notices.try_send(notice).unwrap();
            for _ in 0..600 {
                poll(&mut driver);
                world.set(world.now() + Duration::from_millis(100));
            }
        }
    });
    assert_eq!(names, ["elected", "notifications_lost", "notifications_restored"]);
}

#[test]
fn an_outage_is_logged_and_its_end() {
    let (world, _handle, mut driver, lease) = leader();
    let names = told(|| {
        world.state().renewal = Renewal::Fails(Failure::Transient);
        run(&world, &mut driver, &lease, || false);
        world.state().renewal = Renewal::Granted;
        drop(lease);
        for _ in 0..600 {
            world.set(world.now() + Duration::from_millis(100));
            poll(&mut driver);
        }
    });
    let at = |name| names.iter().position(|it| it == name);
    assert!(at("outage").is_some() && at("outage") < at("lost"), "{names:?}");
    assert!(at("outage_over").is_some(), "{names:?}");
}

#[test]
fn a_question_that_is_not_answered_is_logged() {
    let (world, _handle, mut driver, lease) = leader();
    world.state().hangs = true;
    let names = told(|| run(&world, &mut driver, &lease, || false));
    assert!(names.contains(&"outage".to_owned()), "{names:?}");
}

#[test]
fn what_becomes_of_work_is_logged() {
    for (outcome, last) in [(Ok(()), "work_ended"), (Err("as the test says"), "work_failed")] {
        let (world, handle, mut driver, lease) = leader();
        let names = told(|| {
            let mut works = pin!(handle.run_while_leader(async |lease| {
                lease.lost().await;
                outcome
            }));
            assert!(block_on(poll_once(works.as_mut())).is_none());
            world.state().renewal = Renewal::Fails(Failure::Transient);
            run(&world, &mut driver, &lease, || false);
            world.set(lease.until());
            poll(&mut driver);
            assert!(block_on(poll_once(works.as_mut())).is_none());
        });
        assert_eq!(names.first().map(String::as_str), Some("work_started"));
        assert_eq!(names.last().map(String::as_str), Some(last), "{names:?}");
    }
    let (_world, handle, _driver, _lease) = leader();
    let names = told(|| {
        let works = handle.run_while_leader(async |_| -> Result<(), String> {
            panic!("a bug in leader work, as the test wants it")
        });
        assert!(catch_unwind(AssertUnwindSafe(|| block_on(poll_once(works)))).is_err());
    });
    assert_eq!(names, ["work_started", "work_panicked"]);
}

/// To the nanosecond: a second after the work should have stopped.
#[test]
fn whoever_waits_for_a_guard_of_its_own_is_logged() {
    let (world, handle, mut driver, lease) = leader();
    let mut elected = pin!(handle.elected());
    let grace = lease.stop_by().since(lease.until());
    handle.set_healthy(false);
    poll(&mut driver);
    let began = world.now();
    assert!(!lease.is_held());
    let mut names = |at| {
        told(|| {
            world.set(at);
            assert!(block_on(poll_once(elected.as_mut())).is_none());
        })
    };
    let due = began + grace + Duration::from_secs(1);
    assert_eq!(names(began), [""; 0]);
    assert_eq!(names(due - Duration::from_nanos(1)), [""; 0]);
    assert_eq!(names(due), ["still_held"]);
    assert_eq!(names(due + Duration::from_secs(60)), [""; 0], "once");
}

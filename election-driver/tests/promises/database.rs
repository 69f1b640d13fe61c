//! What a database does, and what it says unasked, reaches the elector and whoever watches it.

use crate::world::{Asking, Renewal, World, elector_in, leader, poll};
use election_driver::{
    Driver, Election, Notice, Runtime as _,
    core::{
        Epoch,
        lease::{Failure, Query},
    },
};
use futures_lite::{
    future::{block_on, poll_once},
    stream,
};
use std::{pin::pin, time::Duration};

/// Lets this much time pass.
fn pass(world: &World, driver: &mut Driver, millis: u64) {
    for _ in 0..millis / 10 {
        world.set(world.now() + Duration::from_millis(10));
        poll(driver);
    }
}

/// A world whose database says what is put into the queue.
fn notifying() -> (World, async_channel::Sender<Notice>) {
    let (notices, said) = async_channel::unbounded();
    let world = World::default();
    world.state().notices = Some(Box::pin(said));
    (world, notices)
}

#[test]
fn a_store_knows_the_timing_before_it_is_asked() {
    let (world, ..) = leader();
    assert!(world.state().prepared);
}

#[test]
fn the_least_epoch_counts_as_seen() {
    let world = World::default();
    let builder = Election::builder_on(world.clone(), "x").min_epoch(Epoch::new(9));
    let (_handle, mut driver) = builder.store(world.clone()).build().unwrap().into_parts();
    poll(&mut driver);
    let asked = world.state().asked.clone();
    assert!(matches!(asked[..], [Query::Attempt { seen, .. }, ..] if seen.get() >= 8), "{asked:?}");
}

#[test]
fn a_notice_leads_to_a_look_long_before_the_next_poll() {
    for notice in [Notice::Wake, Notice::Resigned(Epoch::new(1))] {
        let (world, notices) = notifying();
        let (world, _handle, mut driver) = elector_in(world);
        poll(&mut driver);
        world.state().asked.clear();
        pass(&world, &mut driver, 200);
        assert_eq!(world.state().asked, [], "a leader only renews");
        notices.try_send(notice.clone()).unwrap();
        poll(&mut driver);
        pass(&world, &mut driver, 200);
        assert_eq!(world.state().asked, [Query::Observe], "{notice:?}");
    }
}

#[test]
fn a_look_that_was_asked_for_comes_long_before_the_next_poll() {
    let (world, handle, mut driver, _lease) = leader();
    world.state().asked.clear();
    handle.look();
    pass(&world, &mut driver, 200);
    assert_eq!(world.state().asked, [Query::Observe]);
}

#[test]
fn whether_a_database_notifies_is_known_to_the_watch() {
    let (world, notices) = notifying();
    let (_world, handle, mut driver) = elector_in(world);
    poll(&mut driver);
    assert!(!handle.status().listening);
    for (notice, listening) in
        [(Notice::Listening, true), (Notice::NotListening("as the test says".to_owned()), false)]
    {
        let mut watch = handle.watch();
        watch.get();
        notices.try_send(notice).unwrap();
        poll(&mut driver);
        let changed = block_on(poll_once(watch.changed()));
        assert_eq!(changed.map(|status| status.listening), Some(listening));
    }
}

/// The database may have room for one connection only, and the elector needs it.
#[test]
fn nobody_listens_before_the_database_has_answered() {
    let (world, notices) = notifying();
    world.state().hangs = true;
    let (world, handle, mut driver) = elector_in(world);
    notices.try_send(Notice::Listening).unwrap();
    poll(&mut driver);
    assert_eq!((notices.len(), handle.status().reached), (1, false));
    world.state().hangs = false;
    poll(&mut driver);
    assert_eq!((notices.len(), handle.status().reached), (0, true));
    assert!(handle.status().listening);
}

#[test]
fn who_is_notified_without_end_does_its_work_all_the_same() {
    let world = World::default();
    world.state().notices = Some(Box::pin(stream::repeat(Notice::Wake)));
    let (world, handle, mut driver) = elector_in(world);
    poll(&mut driver);
    pass(&world, &mut driver, 2_000);
    assert!(handle.is_leader());
}

#[test]
fn a_failure_is_told_at_once_and_cleared_by_the_next_answer() {
    let (world, handle, mut driver, lease) = leader();
    assert!(handle.status().reached && handle.status().error.is_none());
    world.state().renewal = Renewal::Fails(Failure::Transient);
    let renewals = || {
        let asked = &world.state().asked;
        asked.iter().filter(|query| matches!(query, Query::Renew { .. })).count()
    };
    while renewals() == 0 {
        pass(&world, &mut driver, 10);
    }
    assert!(handle.status().error.is_some());
    pass(&world, &mut driver, 1_500);
    assert!(renewals() > 1, "sooner than without any answer");
    world.state().renewal = Renewal::Granted;
    pass(&world, &mut driver, 2_000);
    assert!(handle.status().error.is_none() && lease.is_held());
}

#[test]
fn a_watch_wakes_for_a_failure_and_for_the_first_notice() {
    let (world, notices) = notifying();
    let (world, handle, mut driver) = elector_in(world);
    poll(&mut driver);
    let mut watch = handle.watch();
    for failing in [false, true] {
        watch.get();
        let asked = handle.clone();
        let by = Asking::new(move || (asked.status().listening, asked.status().error.is_some()));
        let mut changed = pin!(watch.changed());
        by.wait(changed.as_mut());
        if failing {
            world.state().renewal = Renewal::Fails(Failure::Transient);
            while handle.status().error.is_none() {
                pass(&world, &mut driver, 10);
            }
        } else {
            notices.try_send(Notice::Listening).unwrap();
            poll(&mut driver);
        }
        assert_eq!(by.answers()[0], (true, failing));
    }
}

#[test]
fn only_an_unanswered_question_is_a_failure() {
    // The renewal is not answered in its time.
    let (world, handle, mut driver, _lease) = leader();
    world.state().hangs = true;
    pass(&world, &mut driver, 9_000);
    let error = handle.status().error.expect("an error").to_string();
    assert!(error.contains("no answer within"), "{error}");
    // A look is overtaken by the release.
    let (world, notices) = notifying();
    let (world, handle, mut driver) = elector_in(world);
    poll(&mut driver);
    notices.try_send(Notice::Wake).unwrap();
    world.state().hangs = true;
    world.state().asked.clear();
    pass(&world, &mut driver, 200);
    assert_eq!(world.state().asked, [Query::Observe]);
    assert!(block_on(poll_once(handle.resign())).is_none());
    pass(&world, &mut driver, 100);
    assert!(matches!(world.state().asked[..], [Query::Observe, Query::Resign { .. }]));
    assert!(handle.status().error.is_none());
}

#[test]
fn what_becomes_of_the_list_says_nothing_about_the_database() {
    let world = World::default();
    world.state().list_fails = Some(Failure::Transient);
    let (world, handle, mut driver) = elector_in(world);
    let check = || assert!(handle.status().error.is_none(), "{:?}", world.state().asked.last());
    for _ in 0..100 {
        pass(&world, &mut driver, 50);
        check();
    }
    assert!(block_on(poll_once(handle.resign())).is_none());
    for _ in 0..20 {
        pass(&world, &mut driver, 50);
        check();
    }
    handle.withdraw();
    poll(&mut driver);
    check();
    let asked = &world.state().asked;
    for list in [Query::Others, Query::Unregister] {
        assert!(asked.contains(&list), "{list:?} was not asked");
    }
}

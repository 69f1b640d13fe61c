//! What is told and what can be asked agree at the very wake-up.

use crate::world::{Asking, Renewal, World, elector, leader, poll, run};
use election_driver::{
    Driver, Handle, Lease, Lost, Runtime as _, Stopped,
    core::{Change, Loss, lease::Failure},
};
use futures_lite::future::{block_on, poll_once};
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

/// What a waker finds: whether this process leads by every way of asking, and the guard's answer.
fn asking(handle: &Handle<World>, lease: &Lease<World>) -> Arc<Asking<Found>> {
    let (handle, lease) = (handle.clone(), lease.clone());
    Asking::new(move || Found {
        leads: [
            handle.is_leader(),
            handle.lease().is_some(),
            lease.is_held(),
            handle.status().tenure.is_some(),
            handle.status().leader.is_some_and(|leader| leader.own),
        ],
        loss: lease.check(),
    })
}

#[derive(Debug, PartialEq)]
struct Found {
    leads: [bool; 5],
    loss: Result<(), Lost>,
}

type End = fn(&World, &Handle<World>, &mut Option<Driver>, &Lease<World>);

fn renewed(renewal: Renewal, world: &World, driver: &mut Option<Driver>, lease: &Lease<World>) {
    world.state().renewal = renewal;
    run(world, driver.as_mut().unwrap(), lease, || !lease.is_held());
}

const ENDS: [(Loss, End); 7] = [
    (Loss::Resigned, |_, handle, driver, _| {
        assert!(block_on(poll_once(handle.resign())).is_none());
        poll(driver.as_mut().unwrap());
    }),
    (Loss::Unhealthy, |_, handle, driver, _| {
        handle.set_healthy(false);
        poll(driver.as_mut().unwrap());
    }),
    (Loss::Withdrawn, |_, handle, driver, _| {
        handle.withdraw();
        poll(driver.as_mut().unwrap());
    }),
    (Loss::Withdrawn, |_, _, driver, _| *driver = None),
    (Loss::Replaced, |world, _, driver, lease| renewed(Renewal::Gone, world, driver, lease)),
    (Loss::ResignRequested, |world, _, driver, lease| {
        renewed(Renewal::ResignRequested, world, driver, lease);
    }),
    (Loss::Expired, |world, _, driver, lease| {
        world.state().renewal = Renewal::Fails(Failure::Transient);
        world.set(lease.until());
        poll(driver.as_mut().unwrap());
    }),
];

/// Whoever is woken for the end of a leadership finds that it has ended, and why.
#[test]
fn who_is_told_of_a_loss_finds_it_everywhere() {
    for (reason, end) in ENDS {
        let (world, handle, driver, lease) = leader();
        let mut driver = Some(driver);
        let (mut changes, mut watch) = (handle.changes(), handle.watch());
        changes.try_next().unwrap().expect("the election");
        watch.get();
        let by = [(); 4].map(|()| asking(&handle, &lease));
        let mut change = pin!(changes.next());
        let mut changed = pin!(watch.changed());
        let mut lost = pin!(lease.lost());
        let mut ended = pin!(lease.ended());
        by[0].wait(change.as_mut());
        by[1].wait(changed.as_mut());
        by[2].wait(lost.as_mut());
        by[3].wait(ended.as_mut());
        end(&world, &handle, &mut driver, &lease);
        for (way, by) in by.iter().enumerate() {
            let lost = Lost { term: lease.term().clone(), reason, successor: None };
            let found = Found { leads: [false; 5], loss: Err(lost) };
            assert_eq!(by.answers()[0], found, "{reason:?}, told by way {way}");
        }
        let has_no_grace = lease.stop_by() <= world.now();
        assert_eq!(has_no_grace, reason == Loss::Replaced, "{reason:?}");
    }
}

/// Whoever is woken for an election finds this process leading.
#[test]
fn who_is_told_of_an_election_finds_it_everywhere() {
    let (_world, handle, mut driver) = elector();
    let (mut changes, mut watch) = (handle.changes(), handle.watch());
    watch.get();
    let question = {
        let handle = handle.clone();
        move || (handle.status().tenure.is_some(), handle.is_leader(), handle.lease().is_some())
    };
    let by = [Asking::new(question.clone()), Asking::new(question)];
    let mut change = pin!(changes.next());
    by[0].wait(change.as_mut());
    let mut told = false;
    // The watch is woken for other reasons, too.
    for _ in 0..3 {
        let mut changed = pin!(watch.changed());
        by[1].wait(changed.as_mut());
        while by[1].is_silent() && block_on(poll_once(&mut driver)).is_none() {}
        let (tenure, leads, lease) = by[1].take();
        assert_eq!((tenure, tenure), (leads, lease));
        if tenure {
            told = true;
            break;
        }
        block_on(changed);
    }
    assert!(told);
    assert_eq!(by[0].answers()[0], (true, true, true));
}

/// An elector that is dropped after the end of belief announces no later hard stop than before.
#[test]
fn a_dropped_elector_announces_no_later_hard_stop() {
    for after in ["an instant", "the whole grace"] {
        let (world, handle, driver, lease) = leader();
        let (until, stop_by) = (lease.until(), lease.stop_by());
        let mut changes = handle.changes();
        changes.try_next().unwrap().expect("the election");
        world.set(if after == "an instant" { until + Duration::from_nanos(1) } else { stop_by });
        drop(driver);
        let Ok(Some(Change::Lost { stop_by: told, .. })) = changes.try_next() else {
            panic!("no loss was told after {after}");
        };
        assert_eq!((told, lease.stop_by()), (stop_by, stop_by), "after {after}");
    }
}

/// A resignation is over, too, when the next leadership has begun, or the elector has ended.
#[test]
fn whoever_resigned_waits_for_nothing_that_has_passed() {
    let (world, handle, mut driver, lease) = leader();
    let (first, until) = (lease.epoch(), lease.until());
    drop(lease);
    let mut resigned = pin!(handle.resign());
    assert!(block_on(poll_once(resigned.as_mut())).is_none());
    while handle.lease().is_none_or(|lease| lease.epoch() == first) {
        world.set(world.now() + Duration::from_millis(100));
        poll(&mut driver);
        assert!(world.now() < until + Duration::from_secs(60), "nobody else leads");
    }
    assert_eq!(block_on(poll_once(resigned)), Some(Ok(())), "it leads again");
    // Whoever came when one had ended already, too.
    let (world, handle, mut driver, lease) = leader();
    handle.set_healthy(false);
    poll(&mut driver);
    let mut resigned = pin!(handle.resign());
    assert!(block_on(poll_once(resigned.as_mut())).is_none(), "a guard is held");
    drop(lease);
    handle.set_healthy(true);
    while !handle.is_leader() {
        world.set(world.now() + Duration::from_millis(100));
        poll(&mut driver);
    }
    assert_eq!(block_on(poll_once(resigned)), Some(Ok(())));
    // A guard is held, so nothing was released.
    let (_world, handle, mut driver, _lease) = leader();
    let mut resigned = pin!(handle.resign());
    assert!(block_on(poll_once(resigned.as_mut())).is_none());
    poll(&mut driver);
    drop(driver);
    assert_eq!(block_on(poll_once(resigned)), Some(Err(Stopped)));
}

/// Nothing is left to be given up.
#[test]
fn resigning_from_an_ended_elector_says_that_it_is_over() {
    let (_world, handle, driver) = elector();
    drop(driver);
    assert!(handle.status().closed);
    assert_eq!(block_on(poll_once(handle.resign())), Some(Ok(())));
}

#[test]
fn a_shutdown_is_over_when_the_elector_has_ended() {
    let (world, handle, mut driver, lease) = leader();
    let mut shutdown = pin!(handle.shutdown());
    assert!(block_on(poll_once(shutdown.as_mut())).is_none());
    poll(&mut driver);
    assert!(!lease.is_held());
    assert!(block_on(poll_once(shutdown.as_mut())).is_none(), "a guard is held");
    drop(lease);
    poll(&mut driver);
    assert!(world.state().released);
    assert_eq!(block_on(poll_once(shutdown)), Some(()));
}

/// A probe can tell that nobody polls it.
#[test]
fn an_elector_that_has_missed_its_next_step_is_overdue() {
    let (world, handle, mut driver, lease) = leader();
    assert!(handle.overdue().is_zero());
    let long = lease.until() + Duration::from_secs(60);
    world.set(long);
    assert!(handle.overdue() > Duration::from_secs(60), "a renewal was due before");
    poll(&mut driver);
    assert!(handle.overdue().is_zero());
    drop(driver);
    world.set(long + Duration::from_secs(60));
    assert!(handle.overdue().is_zero(), "nothing is due any more");
}

#[test]
fn a_leader_knows_its_term_and_how_exactly_time_is_kept() {
    let (world, handle, _driver, lease) = leader();
    assert_eq!(handle.leader().as_ref(), Some(lease.term()));
    assert_eq!(handle.timer_slice(), Duration::from_millis(500), "a thirtieth of the lease");
    assert_eq!(lease.remaining(), lease.until().since(world.now()));
    assert!(!lease.remaining().is_zero());
}

/// Nobody can ask for leadership any more, so it is given up.
#[test]
fn the_last_handle_takes_leadership_with_it() {
    let (world, handle, mut driver, lease) = leader();
    let other = handle.clone();
    drop(handle);
    poll(&mut driver);
    assert!(lease.is_held() && other.is_leader());
    drop(other);
    poll(&mut driver);
    assert!(!lease.is_held());
    drop(lease);
    poll(&mut driver);
    assert!(world.state().released);
}

/// A reader finds belief to be over at the `reading`-th look at the clock, after a renewal was
/// answered in the last microsecond. Returns whether the reader was told so, and whether the guard
/// or the handle says otherwise afterwards.
fn a_look_between(reading: u32) -> (bool, bool) {
    let (world, handle, mut driver, lease) = leader();
    world.state().renewal = Renewal::Hangs;
    let (until, stop_by) = (lease.until(), lease.stop_by());
    while world.now() + Duration::from_millis(100) < until {
        world.set(world.now() + Duration::from_millis(100));
        poll(&mut driver);
    }
    world.set(until - Duration::from_micros(1));
    world.state().renewal = Renewal::Granted;
    let told = Arc::new(AtomicBool::new(false));
    let (teller, guard, clock) = (told.clone(), lease.clone(), world.clone());
    let looks = move || {
        clock.set(until + Duration::from_millis(5));
        teller.store(guard.check().is_err(), SeqCst);
    };
    world.state().between = Some((reading, Box::new(looks)));
    poll(&mut driver);
    world.state().between = None;
    let published = handle.status().tenure.is_some_and(|own| own.until > world.now());
    let told = told.load(SeqCst);
    if told {
        assert_eq!(lease.stop_by(), stop_by, "the hard stop stays where it was");
    }
    let held = lease.is_held() || handle.is_leader() || published;
    // A term that nobody works under is given back, though its renewal was granted.
    drop(lease);
    poll(&mut driver);
    assert!(world.state().released || !told, "nobody leads, and nobody else can");
    (told, held)
}

#[test]
fn a_guard_that_was_told_of_the_loss_is_never_held_again() {
    let mut told = 0;
    for reading in 1..20 {
        let (lost, held) = a_look_between(reading);
        assert!(!(lost && held), "told of the loss at reading {reading}, and then held again");
        told += u32::from(lost);
    }
    assert!(told > 0, "no reading was in the worst moment");
}

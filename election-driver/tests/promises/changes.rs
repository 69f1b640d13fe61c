//! A stream of changes that is opened too late says how things stand and ends; it never hangs.

use crate::world::{Asking, elector, leader, poll};
use election_driver::core::{Change, Loss};
use futures_lite::future::{block_on, poll_once};
use std::{pin::pin, sync::Mutex};

#[test]
fn a_stream_that_is_opened_after_the_end_ends_at_once() {
    for withdraws in [true, false] {
        let (_world, handle, mut driver, lease) = leader();
        drop(lease);
        if withdraws {
            handle.withdraw();
            poll(&mut driver);
        }
        drop(driver);
        let mut late = handle.changes();
        assert_eq!(block_on(poll_once(late.next())), Some(Ok(Some(Change::Vacant))));
        assert_eq!(block_on(poll_once(late.next())), Some(Ok(None)), "withdraws: {withdraws}");
        assert!(handle.status().closed && handle.status().leader.is_none());
        let mut watch = handle.watch();
        assert!(watch.get().closed);
        let again = block_on(poll_once(watch.changed()));
        assert!(again.is_some_and(|status| status.closed), "a watch does not hang, either");
    }
}

/// Its elector has never been polled, so nothing is known.
#[test]
fn a_stream_of_an_elector_that_never_ran_ends_at_once() {
    let (_world, handle, driver) = elector();
    let mut early = handle.changes();
    assert_eq!(block_on(poll_once(early.next())), None);
    drop(driver);
    let mut late = handle.changes();
    assert_eq!(block_on(poll_once(early.next())), Some(Ok(None)));
    assert_eq!(block_on(poll_once(late.next())), Some(Ok(None)));
    assert!(handle.status().closed);
    assert!(block_on(poll_once(handle.elected())).is_some_and(|elected| elected.is_err()));
}

/// Nothing is made up before the database has answered.
/// Whoever is woken by the end finds it everywhere.
#[test]
fn a_stream_has_ended_when_the_end_is_told() {
    let (_world, handle, driver, _lease) = leader();
    let (mut watch, changes) = (handle.watch(), Mutex::new(handle.changes()));
    watch.get();
    let asking = Asking::new(move || {
        let mut changes = changes.lock().unwrap();
        while let Some(Ok(Some(_))) = block_on(poll_once(changes.next())) {}
        block_on(poll_once(changes.next())).is_some()
    });
    let mut changed = pin!(watch.changed());
    asking.wait(changed.as_mut());
    drop(driver);
    assert!(asking.take(), "it has");
}

#[test]
fn a_stream_begins_with_the_first_state_that_is_known() {
    let (_world, handle, mut driver) = elector();
    let mut changes = handle.changes();
    assert_eq!(changes.try_next(), Ok(None));
    poll(&mut driver);
    assert!(matches!(changes.try_next(), Ok(Some(Change::Elected(_)))));
}

/// A reader that is woken by the end opens a stream right then.
#[test]
fn a_stream_that_is_opened_at_the_wake_up_has_no_gap() {
    let (_world, handle, driver, _lease) = leader();
    let mut changes = handle.changes();
    changes.try_next().unwrap().expect("the election");
    let opens = {
        let handle = handle.clone();
        Asking::new(move || handle.changes())
    };
    {
        let mut change = pin!(changes.next());
        opens.wait(change.as_mut());
        drop(driver);
        let change = block_on(poll_once(change));
        let lost = |change| matches!(change, Change::Lost { reason: Loss::Withdrawn, .. });
        assert!(change.unwrap().unwrap().is_some_and(lost));
    }
    let mut opened = opens.answers().remove(0);
    assert_eq!(opened.try_next(), Ok(Some(Change::Vacant)));
    assert_eq!(block_on(poll_once(opened.next())), Some(Ok(None)));
    assert_eq!(block_on(poll_once(changes.next())), Some(Ok(None)));
}

//! A stream of changes that is opened too late says how things stand and ends; it never hangs.

use crate::world::{Asking, leader, poll};
use election_driver::core::Change;
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

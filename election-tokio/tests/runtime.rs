//! What only tokio has: cancellation tokens, and runtimes that are blocked or dropped. (What every
//! runtime has is in the conformance suite.)
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)]

use election_driver::conformance::{
    InFile, awaited,
    sqlite::{LONG, SHORT},
};
use election_testing::process::{PATIENCE, eventually};
use election_tokio::{CancellationTokenExt as _, Tokio, core::Loss, now};
use std::{sync::mpsc, time::Duration};
use tokio::runtime::{Builder, Runtime};

type Place = InFile<Tokio>;

/// An elector whose runtime is blocked can tell nobody anything. The clock can.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_elector_does_not_lead() {
    let place = Place::new().await;
    let election = place.elector("stalled", SHORT);
    let (give, mut take) = tokio::sync::mpsc::unbounded_channel();
    let (resume, stalled) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let handle = election.start();
            let lease = handle.elected().await.unwrap();
            assert_eq!(handle.overdue(), Duration::ZERO);
            give.send((handle.clone(), lease)).unwrap();
            let _ = stalled.recv(); // blocks the only thread there is
            handle.shutdown().await;
        });
    });
    let (handle, lease) = awaited("the first leader", take.recv()).await.unwrap();
    let tenure = handle.status().tenure.unwrap();
    let heir = place.start("heir", SHORT);
    let lost = awaited("the end of belief", lease.lost()).await;
    assert!(now() >= tenure.until);
    assert!(!handle.is_leader() && !lease.is_held() && handle.lease().is_none());
    assert_eq!((lost.reason, lost.term), (Loss::Expired, tenure.term.clone()));
    assert!(handle.require().is_err());
    assert_eq!(handle.status().tenure, Some(tenure.clone()), "nobody has stepped since");
    awaited("the hard stop", lease.hard_stop()).await;
    assert!(now() >= tenure.stop_by);
    // It should have renewed, and then have noticed its loss.
    let overdue = handle.overdue();
    assert!(overdue >= tenure.stop_by.since(tenure.until), "{overdue:?}");
    drop(lease);
    let next = awaited("the heir to lead", heir.elected()).await.unwrap();
    assert!(next.epoch() > tenure.term.epoch);
    drop(next);
    assert!(now() >= tenure.stop_by, "another led before this one's work had to be over");
    resume.send(()).unwrap();
    eventually("the end of the blocked elector", || thread.is_finished().then_some(()));
    thread.join().unwrap();
    assert!(handle.status().closed && handle.overdue().is_zero(), "nothing is due any more");
    assert!(heir.is_leader() || heir.status().tenure.is_none());
    awaited("the heir to leave", heir.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancellation_token_holds_no_guard() {
    let place = Place::new().await;
    let a = place.start("a", LONG);
    let lease = awaited("a to lead", a.elected()).await.unwrap();
    let (token, other) = (lease.cancellation_token(), lease.cancellation_token());
    other.cancel(); // the work's own business
    assert!(!token.is_cancelled());
    drop(lease);
    awaited("a to resign, which waits for guards", a.resign()).await.unwrap();
    awaited("the token of a leadership that is over", token.cancelled()).await;
    awaited("a to leave", a.shutdown()).await;
}

/// A runtime that stands still: nobody drives it between two calls.
struct Idle(Option<Runtime>);

impl Drop for Idle {
    /// Waits for nothing: a runtime that is dropped as it is would block the test's own.
    fn drop(&mut self) {
        self.0.take().unwrap().shutdown_background();
    }
}

/// Work on another runtime must learn of the end all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancellation_token_outlives_the_runtime_it_was_made_on() {
    let place = Place::new().await;
    let a = place.start("a", LONG);
    let lease = awaited("a to lead", a.elected()).await.unwrap();
    let runtime = Runtime::new().unwrap();
    let made = lease.clone();
    let ended = runtime.spawn(async move { made.cancellation_token() });
    let ended = awaited("a token on another runtime", ended).await.unwrap();
    runtime.shutdown_background();

    let idle = Builder::new_current_thread().enable_all().build().unwrap();
    let idle = Idle(Some(idle));
    let made = lease.clone();
    let makes = tokio::task::spawn_blocking(move || {
        let token = idle.0.as_ref().unwrap().block_on(async { made.cancellation_token() });
        (idle, token)
    });
    let (_idle, still) = awaited("a token on a runtime that stops", makes).await.unwrap();

    let made = lease.clone();
    let outside = std::thread::spawn(move || made.cancellation_token()).join().unwrap();
    let tokens = [ended, still, outside];
    assert!(tokens.iter().all(|token| !token.is_cancelled()), "it still leads");
    drop(lease);
    awaited("a to resign", a.resign()).await.unwrap();
    for (place, token) in
        ["a runtime that ended", "an idle runtime", "no runtime"].iter().zip(tokens)
    {
        awaited(&format!("the token made on {place}"), token.cancelled()).await;
    }
    awaited("a to leave", a.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_of_an_ended_leadership_is_already_cancelled() {
    let place = Place::new().await;
    let (a, driver) = place.elector("a", LONG).into_parts();
    let driver = tokio::spawn(driver);
    let lease = awaited("a to lead", a.elected()).await.unwrap();
    driver.abort();
    awaited("the end of the elector", a.watch().until(|status| status.closed)).await;
    assert!(lease.cancellation_token().is_cancelled());
}

/// Dropping a runtime drops its tasks: the elector with them, and with the elector leadership.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_that_is_dropped_ends_leadership() {
    let place = Place::new().await;
    let election = place.elector("doomed", SHORT);
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (give, take) = mpsc::channel();
    runtime.spawn(async move {
        let handle = election.start();
        let lease = handle.elected().await.unwrap();
        give.send((handle, lease)).unwrap();
    });
    let (handle, lease) = take.recv_timeout(PATIENCE).expect("a leader");
    assert!(handle.is_leader() && lease.is_held());
    runtime.shutdown_background();
    let lost = awaited("the end of belief", lease.lost()).await;
    assert_eq!(lost.reason, Loss::Withdrawn, "at once, not when the lease is over");
    let mut watch = handle.watch();
    let closed = awaited("the end of the elector", watch.until(|status| status.closed)).await;
    assert!(closed.tenure.is_none());
    let epoch = lease.epoch();
    // Nobody can have released it. It runs out.
    assert!(place.row().await.live_holder().is_some());
    drop(lease);
    let heir = place.start("heir", SHORT);
    assert!(awaited("the heir to lead", heir.elected()).await.unwrap().epoch() > epoch);
}

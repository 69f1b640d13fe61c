//! A guard that reported a loss never reports otherwise under the same term, and knows the reason
//! with the loss. The test needs a clock and a database that act in the worst moment.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use election_driver::{
    Election, Runtime, Store, StoreError,
    core::{
        Epoch, Timestamp,
        lease::{Answer, Query, Registration, Row},
    },
};
use futures_lite::future::{block_on, poll_fn, poll_once};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst},
    },
    task::Poll,
    time::Duration,
};

/// A clock that lets other code act between two of its readings.
#[derive(Clone, Default)]
struct Clock {
    nanos: Arc<AtomicU64>,
    readings: Arc<AtomicI64>,
    between: Arc<Mutex<Option<Act>>>,
}

type Act = Box<dyn FnOnce() + Send>;

impl Runtime for Clock {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn now(&self) -> Timestamp {
        let now = self.nanos.load(SeqCst);
        if self.readings.fetch_sub(1, SeqCst) == 1 {
            if let Some(act) = self.between.lock().unwrap().take() {
                act();
            }
        }
        Timestamp::from_nanos(now)
    }

    fn sleep(&self, _: Duration) -> Self::Sleep {
        Box::pin(std::future::pending())
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, _: F) {
        unreachable!("the test polls the driver itself");
    }
}

/// Grants everything, but renewals only once they may be answered.
struct Granting {
    renews: Arc<AtomicBool>,
    released: Arc<AtomicBool>,
}

impl Store for Granting {
    async fn answer(&mut self, _: &Registration, query: &Query) -> Result<Answer, StoreError> {
        Ok(match query {
            Query::Attempt { ttl, .. } | Query::TakeOver { ttl, .. } => {
                Answer::Won { epoch: Epoch::new(7), remaining: *ttl }
            }
            Query::Renew { ttl, .. } => {
                poll_fn(|_| match self.renews.load(SeqCst) {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                })
                .await;
                Answer::Renewed { remaining: *ttl, resign_requested: false }
            }
            Query::Resign { .. } => {
                self.released.store(true, SeqCst);
                Answer::Released
            }
            Query::Observe => Answer::Seen(Row::vacant()),
            Query::Register { .. } | Query::Unregister => Answer::Listed,
            Query::Others => Answer::Others(true),
        })
    }
}

/// A reader finds belief to be over at the `reading`-th look at the clock, after a renewal was
/// answered in the last microsecond. Returns whether the reader was told so, and whether the guard
/// or the handle says otherwise afterwards.
fn a_look_between(reading: i64) -> (bool, bool) {
    let clock = Clock::default();
    clock.nanos.store(1_000_000_000, SeqCst);
    let renews = Arc::new(AtomicBool::new(false));
    let released = Arc::new(AtomicBool::new(false));
    let store = Granting { renews: renews.clone(), released: released.clone() };
    let builder = Election::builder_on(clock.clone(), "x").ttl(Duration::from_secs(1));
    let (handle, mut driver) = builder.store(store).build().unwrap().into_parts();
    let mut poll = || {
        for _ in 0..5 {
            block_on(poll_once(&mut driver));
        }
    };
    poll();
    let lease = handle.lease().expect("a leader");
    let until = lease.until().as_nanos();
    while clock.nanos.load(SeqCst) < until - 2_000_000 {
        clock.nanos.fetch_add(1_000_000, SeqCst);
        poll();
    }
    let stop_by = lease.stop_by();
    clock.nanos.store(until - 1_000, SeqCst);
    renews.store(true, SeqCst);
    let told = Arc::new(AtomicBool::new(false));
    let (teller, guard, nanos) = (told.clone(), lease.clone(), clock.nanos.clone());
    *clock.between.lock().unwrap() = Some(Box::new(move || {
        nanos.store(until + 5_000_000, SeqCst);
        teller.store(guard.check().is_err(), SeqCst);
    }));
    clock.readings.store(reading, SeqCst);
    poll();
    clock.readings.store(i64::MIN / 2, SeqCst);
    let published = handle.status().tenure.is_some_and(|own| own.until > clock.now());
    let told = told.load(SeqCst);
    if told {
        assert_eq!(lease.stop_by(), stop_by, "the hard stop stays where it was");
    }
    let held = lease.is_held() || handle.is_leader() || published;
    // A term that nobody works under is given back, though its renewal was granted.
    drop(lease);
    poll();
    assert!(released.load(SeqCst) || !told, "nobody leads, and nobody else can");
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

//! A more urgent question overtakes another. Dropping a question costs its connection, so one that
//! is nearly done may still finish; one that hangs must not hold up a resignation.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use election_driver::{
    Driver, Election, Handle, Runtime, Store, StoreError,
    core::{
        Epoch, Timestamp,
        lease::{Answer, Query, Registration, Row},
    },
};
use futures_lite::future::{block_on, poll_fn, poll_once};
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::Poll,
    time::Duration,
};

/// A clock that the test moves, and a record of what the database was asked and did.
#[derive(Clone, Default)]
struct World(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    nanos: u64,
    asked: Vec<Query>,
    /// Whether a registration is answered.
    registers: bool,
    dropped: usize,
    /// How long a win takes.
    win: Duration,
}

impl World {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Time passes.
    fn passes(&self, time: Duration) {
        self.state().nanos += u64::try_from(time.as_nanos()).unwrap();
    }

    fn resign_asked(&self) -> bool {
        self.state().asked.iter().any(|query| matches!(query, Query::Resign { .. }))
    }
}

impl Runtime for World {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.state().nanos)
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        let (world, until) = (self.clone(), self.now() + duration);
        Box::pin(poll_fn(move |_| match world.now() >= until {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }))
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, _: F) {
        unreachable!("the test polls the driver itself");
    }
}

impl Store for World {
    async fn answer(&mut self, _: &Registration, query: &Query) -> Result<Answer, StoreError> {
        self.state().asked.push(query.clone());
        if matches!(query, Query::Attempt { .. }) {
            let win = self.state().win;
            self.sleep(win).await;
        }
        Ok(match query {
            Query::Attempt { ttl, .. } | Query::TakeOver { ttl, .. } => {
                Answer::Won { epoch: Epoch::new(7), remaining: *ttl }
            }
            Query::Renew { ttl, .. } => {
                Answer::Renewed { remaining: *ttl, resign_requested: false }
            }
            Query::Resign { .. } => Answer::Released,
            Query::Observe => Answer::Seen(Row::vacant()),
            Query::Register { .. } => {
                let mut dropped = Dropped(self.clone(), true);
                poll_fn(|_| match self.state().registers {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                })
                .await;
                dropped.1 = false;
                Answer::Listed
            }
            Query::Unregister => Answer::Listed,
            Query::Others => Answer::Others(true),
        })
    }
}

struct Dropped(World, bool);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.state().dropped += usize::from(self.1);
    }
}

/// A leader whose registration hangs, and that has just been asked to resign.
fn resigning(ttl: Duration) -> (World, Handle<World>, Driver) {
    resigning_after(ttl, Duration::ZERO)
}

/// The same, if its win has taken this long.
fn resigning_after(ttl: Duration, win: Duration) -> (World, Handle<World>, Driver) {
    let world = World::default();
    world.passes(Duration::from_secs(1));
    world.state().win = win;
    let builder = Election::builder_on(world.clone(), "x").ttl(ttl);
    let (handle, mut driver) = builder.store(world.clone()).build().unwrap().into_parts();
    poll(&mut driver);
    world.passes(win);
    poll(&mut driver);
    assert!(handle.is_leader());
    assert!(matches!(world.state().asked.last(), Some(Query::Register { .. })));
    let resigns = handle.resign();
    assert!(block_on(poll_once(resigns)).is_none());
    poll(&mut driver);
    assert!(!handle.is_leader());
    (world, handle, driver)
}

fn poll(driver: &mut Driver) {
    for _ in 0..5 {
        block_on(poll_once(&mut *driver));
    }
}

#[test]
fn one_that_is_nearly_done_keeps_its_connection() {
    let (world, _handle, mut driver) = resigning(Duration::from_secs(15));
    assert!(!world.resign_asked());
    world.state().nanos += 9_000_000;
    poll(&mut driver);
    world.state().registers = true;
    poll(&mut driver);
    assert!(world.resign_asked());
    assert_eq!(world.state().dropped, 0);
}

#[test]
fn one_that_hangs_is_dropped_after_ten_milliseconds() {
    let (world, _handle, mut driver) = resigning(Duration::from_secs(15));
    world.state().nanos += 10_000_000;
    poll(&mut driver);
    assert!(world.resign_asked());
    assert_eq!(world.state().dropped, 1);
}

/// Where statements take long, one that is nearly done does, too.
#[test]
fn what_statements_take_is_learnt_from_those_that_were_answered() {
    let win = Duration::from_millis(200);
    let (world, _handle, mut driver) = resigning_after(Duration::from_secs(15), win);
    world.passes(Duration::from_millis(109)); // twice a quarter of it, and ten milliseconds
    poll(&mut driver);
    assert!(!world.resign_asked());
    world.passes(Duration::from_millis(1));
    poll(&mut driver);
    assert!(world.resign_asked());
}

#[test]
fn a_short_lease_waits_for_less() {
    let (world, _handle, mut driver) = resigning(Duration::from_millis(150));
    world.state().nanos += 2_400_000;
    poll(&mut driver);
    assert!(!world.resign_asked());
    world.state().nanos += 200_000; // an eighth of two fifteenths of the ttl
    poll(&mut driver);
    assert!(world.resign_asked());
}

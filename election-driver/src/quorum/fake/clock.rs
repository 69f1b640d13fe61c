//! A clock that the test moves, and those who sleep by it.

use election_core::Timestamp;
use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

#[derive(Default)]
pub(super) struct Clock(Mutex<Time>);

#[derive(Default)]
struct Time {
    now: Timestamp,
    /// Who sleeps, until when, and how to wake it.
    asleep: BTreeMap<u64, (Timestamp, Option<Waker>)>,
    numbered: u64,
    /// After how many more readings time goes on, and until when.
    goes_on: Option<(u64, Timestamp)>,
}

pub(in crate::quorum) fn at(millis: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_millis(millis)
}

impl Clock {
    fn time(&self) -> MutexGuard<'_, Time> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Timestamp {
        let mut time = self.time();
        let read = time.now;
        match &mut time.goes_on {
            Some((0, then)) => {
                time.now = *then;
                time.goes_on = None;
            }
            Some((readings, _)) => *readings -= 1,
            None => {}
        }
        read
    }

    pub(super) fn goes_on(&self, readings: u64, then: Timestamp) {
        self.time().goes_on = Some((readings, then));
    }

    pub(super) fn set_now(&self, now: Timestamp) {
        let due: Vec<Waker> = {
            let mut time = self.time();
            time.now = now;
            let due = time.asleep.values_mut().filter(|(until, _)| *until <= now);
            due.filter_map(|(_, waker)| waker.take()).collect()
        };
        due.into_iter().for_each(Waker::wake);
    }

    /// When the next one wakes up.
    pub(super) fn next(&self) -> Option<Timestamp> {
        let time = self.time();
        time.asleep.values().map(|(until, _)| *until).filter(|until| *until > time.now).min()
    }
}

/// Sleeps until the test has moved the clock so far.
pub(in crate::quorum) struct Sleep {
    clock: Arc<Clock>,
    number: u64,
    until: Timestamp,
}

impl Sleep {
    pub(super) fn new(clock: Arc<Clock>, duration: Duration) -> Self {
        let mut time = clock.time();
        let (number, until) = (time.numbered, time.now + duration);
        time.numbered += 1;
        time.asleep.insert(number, (until, None));
        drop(time);
        Self { clock, number, until }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut time = self.clock.time();
        if time.now >= self.until {
            return Poll::Ready(());
        }
        time.asleep.insert(self.number, (self.until, Some(cx.waker().clone())));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.time().asleep.remove(&self.number);
    }
}

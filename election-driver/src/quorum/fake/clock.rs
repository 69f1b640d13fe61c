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
    /// What time it is as soon as somebody has read the clock once more.
    goes_on: Option<Timestamp>,
    /// How long it takes to read the clock.
    reading: Duration,
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
        let later = time.now + time.reading;
        let then = time.goes_on.take().unwrap_or(later);
        std::mem::replace(&mut time.now, then)
    }

    pub(super) fn goes_on(&self, then: Timestamp) {
        self.time().goes_on = Some(then);
    }

    pub(super) fn reading_takes(&self, reading: Duration) {
        self.time().reading = reading;
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

//! A timer that a suspended machine delays by no more than a slice.

use crate::Runtime;
use election_core::Timestamp;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// Waits for instants of the runtime's clock, sleeping in slices.
pub(crate) struct Timer<R: Runtime> {
    runtime: R,
    slice: Duration,
    asleep: Option<(Timestamp, Pin<Box<R::Sleep>>)>,
}

impl<R: Runtime> Timer<R> {
    pub(crate) fn new(runtime: R, slice: Duration) -> Self {
        Self { runtime, slice, asleep: None }
    }

    /// Ready once the clock has reached `at`. Another `at` replaces the earlier one.
    pub(crate) fn poll_at(&mut self, cx: &mut Context<'_>, at: Timestamp) -> Poll<()> {
        loop {
            let now = self.runtime.now();
            if now >= at {
                self.asleep = None;
                return Poll::Ready(());
            }
            let sleep = match &mut self.asleep {
                Some((until, sleep)) if *until == at => sleep,
                asleep => {
                    let sleep = Box::pin(self.runtime.sleep(at.since(now).min(self.slice)));
                    &mut asleep.insert((at, sleep)).1
                }
            };
            match sleep.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => self.asleep = None,
            }
        }
    }

    pub(crate) async fn wait_until(&mut self, at: Timestamp) {
        poll_fn(|cx| self.poll_at(cx, at)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_lite::future::{block_on, poll_once};
    use std::sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    };

    /// A runtime whose clock and timers drift apart, as they do when a machine is suspended.
    #[derive(Clone, Default)]
    struct Suspended {
        now: Arc<AtomicU64>,
        sleeps: Arc<Mutex<Vec<Asleep>>>,
    }

    /// The duration of a sleep, and the sender that ends it when dropped.
    type Asleep = (Duration, async_channel::Sender<()>);

    impl Suspended {
        fn at(&self, seconds: u64) {
            self.now.store(seconds * 1_000_000_000, Ordering::Relaxed);
        }

        /// The runtime's timer fires.
        fn fire(&self) -> Duration {
            let (duration, fired) = self.sleeps.lock().unwrap().pop().expect("a sleep");
            drop(fired);
            duration
        }
    }

    impl Runtime for Suspended {
        type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

        fn now(&self) -> Timestamp {
            Timestamp::from_nanos(self.now.load(Ordering::Relaxed))
        }

        fn sleep(&self, duration: Duration) -> Self::Sleep {
            let (sender, receiver) = async_channel::bounded(1);
            self.sleeps.lock().unwrap().push((duration, sender));
            Box::pin(async move {
                let _ = receiver.recv().await;
            })
        }

        fn spawn<F: Future<Output = ()> + Send + 'static>(&self, _: F) {
            unreachable!("a timer spawns nothing");
        }
    }

    #[test]
    fn a_resumed_machine_notices_within_a_slice() {
        let runtime = Suspended::default();
        let mut timer = Timer::new(runtime.clone(), Duration::from_secs(1));
        let deadline = Timestamp::from_nanos(10_000_000_000);
        block_on(async {
            let wait = timer.wait_until(deadline);
            futures_lite::pin!(wait);
            assert!(poll_once(&mut wait).await.is_none());
            runtime.at(1);
            assert_eq!(runtime.fire(), Duration::from_secs(1), "never longer than a slice");
            assert!(poll_once(&mut wait).await.is_none());
            runtime.at(3_600); // suspended for an hour; the timer has a slice left
            assert_eq!(runtime.fire(), Duration::from_secs(1));
            assert!(poll_once(&mut wait).await.is_some());
        });
    }

    #[test]
    fn a_timer_wakes_for_an_earlier_instant() {
        let runtime = Suspended::default();
        let mut timer = Timer::new(runtime.clone(), Duration::from_secs(1));
        let sleeps = || runtime.sleeps.lock().unwrap().len();
        block_on(async {
            for later in [8, 8, 9] {
                let wait = timer.wait_until(Timestamp::from_nanos(later * 1_000_000_000));
                assert!(poll_once(wait).await.is_none());
            }
            assert_eq!(sleeps(), 2);
            let wait = timer.wait_until(Timestamp::from_nanos(250_000_000));
            assert!(poll_once(wait).await.is_none());
            assert_eq!(runtime.fire(), Duration::from_millis(250));
        });
    }

    #[test]
    fn the_last_slice_is_as_short_as_what_is_left() {
        let runtime = Suspended::default();
        let mut timer = Timer::new(runtime.clone(), Duration::from_secs(1));
        block_on(async {
            let wait = timer.wait_until(Timestamp::from_nanos(1_250_000_000));
            futures_lite::pin!(wait);
            assert!(poll_once(&mut wait).await.is_none());
            runtime.at(1);
            runtime.fire();
            assert!(poll_once(&mut wait).await.is_none());
            assert_eq!(runtime.fire(), Duration::from_millis(250));
        });
    }
}

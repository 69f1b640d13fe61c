//! Tasks, patience and news on any runtime.

use super::watchdog::{PATIENCE, current, end};
use crate::Runtime;
use async_channel::{Receiver, Sender};
use event_listener::Event;
use futures_core::Stream as _;
use futures_lite::{
    FutureExt as _,
    future::{or, pending},
};
use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, resume_unwind},
    pin::Pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    task::{Context, Poll, ready},
    thread,
    time::Duration,
};

/// A background task, which a test can wait for, and end as a crash does. It goes on if nobody waits
/// for it.
pub struct Task<T> {
    outcome: Pin<Box<Receiver<Result<T, Panic>>>>,
    abort: Sender<()>,
}

type Panic = Box<dyn Any + Send>;

/// Why a task has no result.
#[derive(Debug)]
pub enum End {
    Panicked(Panic),
    Aborted,
}

/// Starts a task on the runtime.
pub fn spawn<R: Runtime + Default, T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Task<T> {
    let (done, outcome) = async_channel::bounded(1);
    let (abort, aborted) = async_channel::bounded(1);
    R::default().spawn(async move {
        let finished = async { Some(AssertUnwindSafe(future).catch_unwind().await) };
        let aborted = async {
            match aborted.recv().await {
                Ok(()) => None,
                Err(_) => pending().await,
            }
        };
        if let Some(outcome) = or(finished, aborted).await {
            let _ = done.try_send(outcome);
        }
    });
    Task { outcome: Box::pin(outcome), abort }
}

impl<T> Task<T> {
    /// Drops the task's future where it stands.
    pub fn abort(&self) {
        let _ = self.abort.try_send(());
    }

    pub fn is_finished(&self) -> bool {
        self.outcome.is_closed()
    }

    /// The result, or why there is none.
    pub async fn outcome(self) -> Result<T, End> {
        let outcome = self.outcome.recv().await.map_err(|_| End::Aborted)?;
        outcome.map_err(End::Panicked)
    }
}

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match ready!(self.outcome.as_mut().poll_next(cx)) {
            Some(Ok(result)) => Poll::Ready(result),
            Some(Err(panic)) => resume_unwind(panic),
            None => panic!("the task was aborted"),
        }
    }
}

/// The results of all of these, in their order.
pub async fn join_all<T>(tasks: Vec<Task<T>>) -> Vec<T> {
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await);
    }
    results
}

/// The result, unless it takes longer than this.
pub async fn timeout<R: Runtime + Default, T>(
    limit: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    let result = async { Some(future.await) };
    or(result, async {
        R::default().sleep(limit).await;
        None
    })
    .await
}

/// Runs a test to its end; one that hangs fails and says so.
pub async fn patiently<R: Runtime + Default, T>(test: impl Future<Output = T>) -> T {
    let long = Duration::from_secs(150); // a busy machine forks a server's processes slowly
    let done = timeout::<R, T>(long, test).await;
    done.unwrap_or_else(|| panic!("what is waited for did not come in {long:?}"))
}

/// What this future gives, for tests beside the suite.
///
/// # Panics
/// If it takes longer than [`PATIENCE`]; the message says what was awaited. A thread of its own
/// measures that, for the runtime's timers may be what is broken. If the future does not even give its
/// own thread back, that other thread ends the process soon after.
pub async fn awaited<T>(what: &str, future: impl Future<Output = T>) -> T {
    let (waits, waited) = mpsc::channel::<()>();
    let (patience, ends) = async_channel::bounded::<()>(1);
    let (test, awaited) = (current(), what.to_owned());
    thread::spawn(move || {
        let _ = waited.recv_timeout(PATIENCE);
        drop(patience);
        if waited.recv_timeout(PATIENCE / 4) == Err(RecvTimeoutError::Timeout) {
            end(&test, &awaited, PATIENCE * 5 / 4);
        }
    });
    let late = async {
        let _ = ends.recv().await;
        None
    };
    let came = or(async { Some(future.await) }, late).await;
    drop(waits);
    came.unwrap_or_else(|| panic!("waited {PATIENCE:?} for this in vain: {what}"))
}

/// A value that tests change, and wait for.
#[derive(Default)]
pub struct News<T> {
    value: Mutex<T>,
    changed: Event,
}

impl<T> News<T> {
    pub fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Event::new() }
    }

    /// The value as it is. Nobody changes it meanwhile.
    pub fn get(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn change<O>(&self, change: impl FnOnce(&mut T) -> O) -> O {
        let outcome = change(&mut self.get());
        self.changed.notify(usize::MAX);
        outcome
    }

    /// What this finds in the value, as soon as it finds something.
    pub async fn until<O>(&self, mut look: impl FnMut(&T) -> Option<O>) -> O {
        loop {
            let changed = self.changed.listen();
            if let Some(found) = look(&self.get()) {
                return found;
            }
            changed.await;
        }
    }
}

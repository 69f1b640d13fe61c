//! A runtime that a user could have written: a thread for each task, and one for each sleep.

use election_driver::{Runtime, core::Timestamp};
use election_tokio::now;
use futures_lite::{FutureExt as _, future::block_on};
use std::{
    future::Future,
    pin::Pin,
    sync::mpsc::{self, RecvTimeoutError},
    task::{Context, Poll},
    thread,
    time::Duration,
};

#[derive(Clone, Copy, Default)]
pub(crate) struct Threads;

/// Its thread sleeps for as long as this is there.
pub(crate) struct Sleep {
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
    _wanted: mpsc::Sender<()>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.over.poll(cx)
    }
}

impl Runtime for Threads {
    type Sleep = Sleep;

    fn now(&self) -> Timestamp {
        now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let (wakes, woken) = async_channel::bounded::<()>(1);
        let (wanted, unwanted) = mpsc::channel::<()>();
        thread::spawn(move || {
            if unwanted.recv_timeout(duration) == Err(RecvTimeoutError::Timeout) {
                drop(wakes);
            }
        });
        let over = async move {
            let _ = woken.recv().await; // it is never sent anything
        };
        Sleep { over: Box::pin(over), _wanted: wanted }
    }

    fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        thread::spawn(move || block_on(future));
    }
}

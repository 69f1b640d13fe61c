//! Runs the tasks of one life, in an order that the seed decides.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Wake, Waker},
};

pub(super) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The tasks of a life; the first is the service itself.
#[derive(Default)]
pub(super) struct Executor {
    tasks: Vec<Option<(Task, Waker)>>,
    ready: Arc<Mutex<Vec<usize>>>,
}

struct Ready {
    task: usize,
    ready: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if !ready.contains(&self.task) {
            ready.push(self.task);
        }
    }
}

impl Executor {
    /// Adds a task, which is ready.
    pub(super) fn spawn(&mut self, task: Task) {
        let number = self.tasks.len();
        let waker = Waker::from(Arc::new(Ready { task: number, ready: self.ready.clone() }));
        waker.wake_by_ref();
        self.tasks.push(Some((task, waker)));
    }

    /// Polls one of the tasks that are ready, the one that `choose` picks of so many. Returns `false`
    /// if none is.
    pub(super) fn poll_one(&mut self, choose: impl FnOnce(usize) -> usize) -> bool {
        let number = {
            let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
            match ready.len() {
                0 => return false,
                1 => ready.remove(0),
                many => ready.remove(choose(many)),
            }
        };
        if let Some((task, waker)) = &mut self.tasks[number] {
            let waker = waker.clone();
            if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                self.tasks[number] = None;
            }
        }
        true
    }

    /// Whether the service itself has ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.tasks.first(), Some(None))
    }
}

//! The runtime of simulated services.

use super::cell::{Cell, Deed, Order};
use election_core::{
    Candidate, Change, Input, Timestamp,
    lease::{Action, Config, Event, Lease},
};
use election_driver::{Observer, Runtime};
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

/// The runtime of a simulated service: the clock of its node, and timers on it.
#[derive(Clone)]
pub struct SimRuntime {
    cell: Cell,
    watched: Arc<Watched>,
}

struct Watched {
    cell: Cell,
    candidate: Candidate,
    config: Config,
}

impl SimRuntime {
    pub(super) fn new(cell: Cell, candidate: Candidate, config: Config) -> Self {
        Self { watched: Arc::new(Watched { cell: cell.clone(), candidate, config }), cell }
    }
}

impl fmt::Debug for SimRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimRuntime").field(&self.watched.candidate).finish()
    }
}

impl Runtime for SimRuntime {
    type Sleep = Sleep;

    fn now(&self) -> Timestamp {
        self.cell.state().now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let at = self.cell.state().now() + duration;
        Sleep { cell: self.cell.clone(), at, timer: None }
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
        self.cell.state().spawned.push(Box::pin(future));
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(self.watched.clone())
    }
}

/// Completes when the node's clock has reached an instant.
pub struct Sleep {
    cell: Cell,
    at: Timestamp,
    timer: Option<u64>,
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let mut state = this.cell.state();
        if state.now() >= this.at {
            return Poll::Ready(());
        }
        state.arm(this.at, &mut this.timer, cx.waker());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            self.cell.state().disarm(self.at, timer);
        }
    }
}

impl Observer for Watched {
    fn candidate(&self) -> Candidate {
        self.candidate.clone()
    }

    fn starts(&self, config: &Config, order: Order) {
        assert_eq!(
            *config, self.config,
            "the timing of a simulated election is the schedule's: begin with `Node::election`, and              set what you need with `Sim::timing`"
        );
        let before = self.cell.state().order.replace(order);
        assert!(before.is_none(), "a second election in one process cannot be simulated yet");
    }

    fn takes(&self, input: &Input<Event>) {
        self.cell.state().does(Deed::Took(input.clone()));
    }

    fn stepped(&self, lease: &Lease, change: Option<&Change>) {
        self.cell.state().does(Deed::Stepped(Box::new(lease.clone()), change.cloned()));
    }

    fn asks(&self, action: &Action) {
        self.cell.state().asks(action);
    }
}

//! The runtime of simulated services.

use super::{
    cell::Cell,
    life::Life,
    stream::{SimListener, SimStream},
    watched::Watched,
};
use election_core::Timestamp;
use election_driver::{MemberObserver, Network, Observer, Runtime};
use std::{
    fmt,
    future::Future,
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener},
    os::fd::BorrowedFd,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

/// The runtime of a simulated service: the clock of its node, timers on it, and sockets.
#[derive(Clone)]
pub struct SimRuntime {
    cell: Cell,
    watched: Arc<Watched>,
}

impl SimRuntime {
    pub(super) fn new(cell: Cell, life: Arc<Life>) -> Self {
        Self { watched: Arc::new(Watched::new(cell.clone(), life)), cell }
    }
}

impl fmt::Debug for SimRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimRuntime").field(&self.watched.life().candidate).finish()
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

impl Network for SimRuntime {
    type Stream = SimStream;
    type Listener = SimListener;

    fn listener(&self, _: TcpListener) -> io::Result<SimListener> {
        Err(ErrorKind::Unsupported.into())
    }

    fn listen(&self, _: &[SocketAddr]) -> io::Result<SimListener> {
        self.watched.life().quorum(); // a lease has no sockets
        Ok(SimListener::new(self.cell.clone()))
    }

    fn poll_accept(
        &self,
        _: &mut SimListener,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(SimStream, SocketAddr)>> {
        let accepted = self.cell.state().sockets.accepted.poll(cx);
        accepted.map(|(connection, from)| Ok((SimStream::new(self.cell.clone(), connection), from)))
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<SimStream> {
        self.watched.life().quorum();
        SimStream::connect(&self.cell, address).await
    }

    fn descriptor(_: &SimStream) -> Option<BorrowedFd<'_>> {
        None
    }

    fn member_observer(&self) -> Option<Arc<dyn MemberObserver>> {
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

//! The tokio runtime for the driver.

use election_driver::{Network, Runtime, core::Timestamp};
#[cfg(unix)]
use std::os::fd::{AsFd as _, BorrowedFd};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt as _};

/// The tokio runtime that is current at each use.
///
/// Its time driver must be enabled, and for quorums its I/O driver (`#[tokio::main]` does both). Spawning outside a runtime
/// panics, as `tokio::spawn` does.
///
/// Time is measured by [`now`](crate::now), which counts the time that a machine is suspended. With the
/// feature `test-util`, which is for tests, it is tokio's own once that has been paused
/// (`#[tokio::test(start_paused = true)]`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokio;

impl Runtime for Tokio {
    type Sleep = tokio::time::Sleep;

    fn now(&self) -> Timestamp {
        #[cfg(feature = "test-util")]
        if let Some(now) = paused::now() {
            return now;
        }
        election_driver::now()
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        tokio::time::sleep(duration)
    }

    fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(tokio::spawn(future));
    }
}

impl Network for Tokio {
    type Stream = Compat<TcpStream>;
    type Listener = TcpListener;

    fn listener(&self, socket: std::net::TcpListener) -> io::Result<TcpListener> {
        TcpListener::from_std(socket)
    }

    fn poll_accept(
        &self,
        listener: &mut TcpListener,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(Self::Stream, SocketAddr)>> {
        let (stream, address) = ready!(listener.poll_accept(cx))?;
        Poll::Ready(Ok((stream.compat(), address)))
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Self::Stream> {
        Ok(TcpStream::connect(address).await?.compat())
    }

    #[cfg(unix)]
    fn descriptor(stream: &Self::Stream) -> Option<BorrowedFd<'_>> {
        Some(stream.get_ref().as_fd())
    }
}

/// Tokio's clock after somebody has paused it.
#[cfg(feature = "test-util")]
mod paused {
    use election_driver::core::Timestamp;
    use std::{sync::OnceLock, time::Instant};

    /// The reading, if tokio's clock differs from the standard library's, as it does from the first
    /// pause on.
    pub(super) fn now() -> Option<Timestamp> {
        static ORIGIN: OnceLock<(Instant, Timestamp)> = OnceLock::new();
        let before = Instant::now();
        let now = tokio::time::Instant::now().into_std();
        let (first, reading) = ORIGIN.get_or_init(|| (now, election_driver::now()));
        let is_real = before <= now && now <= Instant::now();
        (!is_real).then(|| *reading + now.saturating_duration_since(*first))
    }
}

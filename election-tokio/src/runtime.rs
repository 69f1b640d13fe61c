//! The tokio runtime for the driver.

use election_driver::{Network, Runtime, core::Timestamp};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    os::fd::{AsFd as _, BorrowedFd},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt as _};

/// The tokio runtime that is current at each use.
///
/// Its time driver must be enabled, and for quorums its I/O driver (`#[tokio::main]` does both). Spawning outside a runtime
/// panics, as `tokio::spawn` does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokio;

impl Runtime for Tokio {
    type Sleep = tokio::time::Sleep;

    fn now(&self) -> Timestamp {
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

    fn descriptor(stream: &Self::Stream) -> BorrowedFd<'_> {
        stream.get_ref().as_fd()
    }
}

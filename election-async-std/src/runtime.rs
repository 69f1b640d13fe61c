//! The async-std runtime for the driver.

use async_std::net::{TcpListener, TcpStream};
use election_driver::{Network, Runtime, core::Timestamp};
#[cfg(unix)]
use std::os::fd::{AsFd as _, BorrowedFd};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

/// The global async-std runtime.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsyncStd;

impl Runtime for AsyncStd {
    // async-std's sleep future has no public name.
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn now(&self) -> Timestamp {
        election_driver::now()
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        Box::pin(async_std::task::sleep(duration))
    }

    fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(async_std::task::spawn(future));
    }
}

type Accepted = io::Result<(TcpStream, SocketAddr)>;

/// A listener and the connection that it waits for.
pub struct Listener {
    listener: Arc<TcpListener>,
    next: Pin<Box<dyn Future<Output = Accepted> + Send>>,
}

impl Listener {
    fn new(listener: Arc<TcpListener>) -> Self {
        let waiting = listener.clone();
        Self { listener, next: Box::pin(async move { waiting.accept().await }) }
    }
}

impl Network for AsyncStd {
    type Stream = TcpStream;
    type Listener = Listener;

    fn listener(&self, socket: std::net::TcpListener) -> io::Result<Listener> {
        Ok(Listener::new(Arc::new(socket.into())))
    }

    fn poll_accept(
        &self,
        listener: &mut Listener,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accepted = ready!(listener.next.as_mut().poll(cx));
        *listener = Listener::new(listener.listener.clone());
        Poll::Ready(accepted)
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }

    #[cfg(unix)]
    fn descriptor(stream: &TcpStream) -> Option<BorrowedFd<'_>> {
        Some(stream.as_fd())
    }
}

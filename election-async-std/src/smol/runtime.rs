//! The smol runtime for the driver.

use election_driver::{Network, Runtime, core::Timestamp};
use smol::{Async, Timer, net::TcpStream};
#[cfg(unix)]
use std::os::fd::{AsFd as _, BorrowedFd};
use std::{
    future::Future,
    io,
    net::{SocketAddr, TcpListener},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

/// smol's global executor and reactor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Smol;

/// A timer of smol's reactor, which does not tell when it fired.
#[derive(Debug)]
pub struct Sleep(Timer);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}

impl Runtime for Smol {
    type Sleep = Sleep;

    fn now(&self) -> Timestamp {
        election_driver::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep(Timer::after(duration))
    }

    fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        smol::spawn(future).detach();
    }
}

impl Network for Smol {
    type Stream = TcpStream;
    type Listener = Async<TcpListener>;

    fn listener(&self, socket: TcpListener) -> io::Result<Self::Listener> {
        Async::new_nonblocking(socket)
    }

    fn poll_accept(
        &self,
        listener: &mut Self::Listener,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        loop {
            // First, or the reactor would not be asked to wake this task.
            match listener.get_ref().accept() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                accepted => {
                    let (stream, address) = accepted?;
                    return Poll::Ready(Async::new(stream).map(|stream| (stream.into(), address)));
                }
            }
            ready!(listener.poll_readable(cx))?;
        }
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }

    #[cfg(unix)]
    fn descriptor(stream: &TcpStream) -> Option<BorrowedFd<'_>> {
        Some(stream.as_fd())
    }
}

//! What a quorum needs from a runtime beyond what a lease does: sockets.

#[cfg(unix)]
use crate::MemberObserver;
use crate::Runtime;
use futures_lite::io::{AsyncRead, AsyncWrite};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    task::{Context, Poll},
};
#[cfg(unix)]
use std::{os::fd::BorrowedFd, sync::Arc};

/// A runtime with TCP. A runtime without it still serves leases, which need [`Runtime`] only.
pub trait Network: Runtime {
    /// A TCP connection.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    /// A TCP listener.
    type Listener: Send + Unpin + 'static;

    /// Takes over a listener that is bound and does not block.
    ///
    /// # Errors
    /// If the runtime cannot watch it.
    fn listener(&self, socket: std::net::TcpListener) -> io::Result<Self::Listener>;

    /// Listens at the first of these addresses that can be had.
    #[doc(hidden)]
    fn listen(&self, addresses: &[SocketAddr]) -> io::Result<Self::Listener> {
        let socket = std::net::TcpListener::bind(addresses)?;
        socket.set_nonblocking(true)?;
        self.listener(socket)
    }

    /// The next connection that somebody has made, and from where.
    ///
    /// # Errors
    /// If the system gives none out, for lack of descriptors for instance. The listener stays
    /// usable.
    fn poll_accept(
        &self,
        listener: &mut Self::Listener,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(Self::Stream, SocketAddr)>>;

    /// Connects to an address. Dropping the future gives the attempt up.
    fn connect(&self, address: SocketAddr)
    -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// The descriptor of a connection, for its options; `None` if it has none.
    #[cfg(unix)]
    fn descriptor(stream: &Self::Stream) -> Option<BorrowedFd<'_>>;

    /// Who watches the member, in a simulation.
    #[cfg(unix)]
    #[doc(hidden)]
    fn member_observer(&self) -> Option<Arc<dyn MemberObserver>> {
        None
    }
}

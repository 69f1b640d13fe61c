//! Sockets as the code of a process has them.

use super::{cell::Cell, mailbox::Mailbox};
use crate::{deed::Effect, socket::SocketDeed};
use futures_lite::io::{AsyncRead, AsyncWrite};
use std::{
    fmt,
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

/// A listener of a simulated process.
pub struct SimListener(Cell);

impl fmt::Debug for SimListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimListener").finish_non_exhaustive()
    }
}

impl SimListener {
    pub(super) fn new(cell: Cell) -> Self {
        cell.state().does(Effect::Socket(SocketDeed::Listens(true)));
        Self(cell)
    }
}

impl Drop for SimListener {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.does(Effect::Socket(SocketDeed::Listens(false)));
        let waiting: Vec<_> = state.sockets.accepted.drain().collect();
        for (connection, _) in waiting {
            state.does(Effect::Socket(SocketDeed::Drops(connection)));
        }
    }
}

/// An attempt to connect: once dropped, nobody waits for it.
struct Dial<'a>(&'a Cell, u64);

impl Drop for Dial<'_> {
    fn drop(&mut self) {
        self.0.state().sockets.dials.remove(&self.1);
    }
}

/// A connection of a simulated process.
pub struct SimStream {
    cell: Cell,
    connection: u64,
}

impl fmt::Debug for SimStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimStream").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl SimStream {
    pub(super) fn new(cell: Cell, connection: u64) -> Self {
        Self { cell, connection }
    }

    pub(super) async fn connect(cell: &Cell, to: SocketAddr) -> io::Result<Self> {
        let dial = {
            let mut state = cell.state();
            state.sockets.dialed += 1;
            let dial = state.sockets.dialed;
            state.sockets.dials.insert(dial, Mailbox::default());
            state.does(Effect::Socket(SocketDeed::Dials { dial, to }));
            Dial(cell, dial)
        };
        let outcome = poll_fn(|cx| {
            let mut state = cell.state();
            state.sockets.dials.get_mut(&dial.1).map_or(Poll::Pending, |it| it.poll(cx))
        });
        Ok(Self::new(cell.clone(), outcome.await?))
    }
}

impl AsyncRead for SimStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.cell.state();
        let it = state.sockets.connections.entry(self.connection).or_default();
        if !it.bytes.is_empty() {
            let count = buffer.len().min(it.bytes.len());
            buffer.iter_mut().zip(it.bytes.drain(..count)).for_each(|(to, from)| *to = from);
            return Poll::Ready(Ok(count));
        }
        match it.ended {
            Some(how) => Poll::Ready(how.map(|()| 0).map_err(Into::into)),
            None => {
                it.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl AsyncWrite for SimStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.cell.state();
        let it = state.sockets.connections.entry(self.connection).or_default();
        if let Some(Err(kind)) = it.ended {
            return Poll::Ready(Err(kind.into()));
        }
        let count = bytes.len().min(it.room);
        if it.room == 0 {
            it.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        it.room -= count;
        let (connection, bytes) = (self.connection, bytes[..count].to_vec());
        state.does(Effect::Socket(SocketDeed::Writes { connection, bytes }));
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.cell.state().does(Effect::Socket(SocketDeed::Finishes(self.connection)));
        Poll::Ready(Ok(()))
    }
}

impl Drop for SimStream {
    fn drop(&mut self) {
        let mut state = self.cell.state();
        state.sockets.connections.remove(&self.connection);
        state.does(Effect::Socket(SocketDeed::Drops(self.connection)));
    }
}

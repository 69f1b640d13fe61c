//! Sockets as a process has them.

use super::cell::{Cell, Mailbox};
use crate::{
    deed::Effect,
    socket::{SocketDeed, SocketEvent},
};
use futures_lite::io::{AsyncRead, AsyncWrite};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    future::poll_fn,
    io::{self, ErrorKind},
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, Waker},
};

/// How many bytes may be under way on a connection in each direction.
const WINDOW: usize = 4_096;

/// What a process knows of its connections.
#[derive(Default)]
pub(super) struct Sockets {
    dialed: u64,
    dials: HashMap<u64, Mailbox<Result<u64, ErrorKind>>>,
    accepted: Mailbox<(u64, SocketAddr)>,
    connections: HashMap<u64, Connection>,
    /// Connections that nobody waits for any more.
    unwanted: Vec<u64>,
}

struct Connection {
    bytes: VecDeque<u8>,
    ended: Option<Result<(), ErrorKind>>,
    room: usize,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Default for Connection {
    fn default() -> Self {
        let bytes = VecDeque::new();
        Self { bytes, ended: None, room: WINDOW, reader: None, writer: None }
    }
}

impl Connection {
    fn wake(waker: &mut Option<Waker>) -> bool {
        waker.take().map(Waker::wake).is_some()
    }
}

impl Sockets {
    /// Returns whether a task waits for this.
    pub(super) fn receive(&mut self, event: SocketEvent) -> bool {
        match event {
            SocketEvent::Dialed { dial, outcome } => match (self.dials.get_mut(&dial), outcome) {
                (Some(waiting), outcome) => {
                    outcome.into_iter().for_each(|it| _ = self.connections.entry(it).or_default());
                    waiting.put(outcome)
                }
                (None, Ok(connection)) => {
                    self.unwanted.push(connection);
                    true
                }
                (None, Err(_)) => false,
            },
            SocketEvent::Accepted { connection, from } => {
                self.connections.insert(connection, Connection::default());
                self.accepted.put((connection, from))
            }
            SocketEvent::Came { connection, bytes } => {
                self.connections.get_mut(&connection).is_some_and(|it| {
                    it.bytes.extend(bytes);
                    Connection::wake(&mut it.reader)
                })
            }
            SocketEvent::Ended { connection, how } => {
                self.connections.get_mut(&connection).is_some_and(|it| {
                    it.ended.get_or_insert(how);
                    let reads = Connection::wake(&mut it.reader);
                    Connection::wake(&mut it.writer) || reads
                })
            }
            SocketEvent::Left { connection, count } => {
                self.connections.get_mut(&connection).is_some_and(|it| {
                    it.room += count;
                    Connection::wake(&mut it.writer)
                })
            }
        }
    }

    /// The connections that have come about though nobody waits for them any more.
    pub(super) fn take_unwanted(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.unwanted)
    }

    pub(super) fn poll_accept(&mut self, waker: &Waker) -> Option<(u64, SocketAddr)> {
        self.accepted.take(waker)
    }
}

/// A listener of a simulated process.
#[derive(Debug)]
pub struct SimListener(());

impl SimListener {
    pub(super) fn new(cell: &Cell) -> Self {
        cell.state().does(Effect::Socket(SocketDeed::Listens));
        Self(())
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
            let waiting = state.sockets.dials.get_mut(&dial.1);
            waiting.and_then(|it| it.take(cx.waker())).map_or(Poll::Pending, Poll::Ready)
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
        if count == 0 {
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

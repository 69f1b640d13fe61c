//! A connection in memory. A test holds one end, or has both ends do their work.

use futures_lite::io::{AsyncRead, AsyncWrite};
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

/// One direction of a connection.
struct Pipe {
    /// What was written and not read yet.
    bytes: VecDeque<u8>,
    /// How many bytes it takes at once, and how many more in all.
    at_once: usize,
    room: usize,
    /// Whether the writer has said that nothing more comes, or is gone.
    closed: bool,
    dropped: bool,
    /// Whether the end is kept back, and all that was not flushed.
    lingers: bool,
    /// With which error reading and writing end.
    reading_fails: Option<io::ErrorKind>,
    writing_fails: Option<io::ErrorKind>,
    flushing_fails: Option<io::ErrorKind>,
    /// Who waits for bytes, or for room.
    waker: Option<Waker>,
}

impl Default for Pipe {
    fn default() -> Self {
        Self {
            bytes: VecDeque::new(),
            at_once: usize::MAX,
            room: usize::MAX,
            closed: false,
            dropped: false,
            lingers: false,
            reading_fails: None,
            writing_fails: None,
            flushing_fails: None,
            waker: None,
        }
    }
}

impl Pipe {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn waits<T>(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    // A test that fails lets its connections go all the same.
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One end of a connection.
pub(in crate::quorum) struct Stream {
    reads: Arc<Mutex<Pipe>>,
    writes: Arc<Mutex<Pipe>>,
    /// What options are set on.
    socket: Option<Arc<OwnedFd>>,
}

/// Both ends of a connection.
pub(in crate::quorum) fn pair() -> (Stream, Stream) {
    let (near, far) = held();
    (near, far.into_stream())
}

/// The same, with options that are set on this socket.
pub(super) fn pair_on(socket: &Arc<OwnedFd>) -> (Stream, Stream) {
    let (mut near, mut far) = pair();
    (near.socket, far.socket) = (Some(socket.clone()), Some(socket.clone()));
    (near, far)
}

/// A connection between two nodes, which a test can cut.
pub(super) struct Line([Weak<Mutex<Pipe>>; 2]);

impl Line {
    pub(super) fn of(end: &Stream) -> Self {
        Self([&end.reads, &end.writes].map(Arc::downgrade))
    }

    /// Each end can read no more than what the other has written.
    pub(super) fn cut(&self) {
        for pipe in self.0.iter().filter_map(Weak::upgrade) {
            let mut pipe = lock(&pipe);
            pipe.closed = true;
            pipe.wake();
        }
    }
}

/// What a node has of a connection, and what the test has.
pub(in crate::quorum) fn held() -> (Stream, Remote) {
    let (one, other) = (Arc::<Mutex<Pipe>>::default(), Arc::<Mutex<Pipe>>::default());
    let near = Stream { reads: one.clone(), writes: other.clone(), socket: None };
    (near, Remote { reads: other, writes: one })
}

/// The same, with options on this socket.
pub(super) fn held_on(socket: &Arc<OwnedFd>) -> (Stream, Remote) {
    let (mut near, remote) = held();
    near.socket = Some(socket.clone());
    (near, remote)
}

impl Stream {
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().expect("a connection of a network").as_fd()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut pipe = lock(&self.writes);
        (pipe.closed, pipe.dropped) = (true, true);
        pipe.wake();
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = lock(&self.reads);
        if let Some(kind) = pipe.reading_fails {
            return Poll::Ready(Err(kind.into()));
        }
        if pipe.bytes.is_empty() && !pipe.closed {
            return pipe.waits(cx);
        }
        let count = buffer.len().min(pipe.bytes.len());
        buffer.iter_mut().zip(pipe.bytes.drain(..count)).for_each(|(to, from)| *to = from);
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = lock(&self.writes);
        if let Some(kind) = pipe.writing_fails {
            return Poll::Ready(Err(kind.into()));
        }
        let count = bytes.len().min(pipe.at_once).min(pipe.room);
        if count == 0 && pipe.room == 0 {
            return pipe.waits(cx);
        }
        pipe.room -= count;
        pipe.bytes.extend(&bytes[..count]);
        pipe.wake();
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        for part in parts {
            assert!(self.as_mut().poll_write(cx, part)?.is_ready());
        }
        Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let failed = lock(&self.writes).flushing_fails;
        Poll::Ready(failed.map_or(Ok(()), |kind| Err(kind.into())))
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut pipe = lock(&self.writes);
        if pipe.lingers {
            return pipe.waits(cx);
        }
        pipe.closed = true;
        pipe.wake();
        Poll::Ready(Ok(()))
    }
}

/// The other end of a connection of a node, which the test has. While the test does not say
/// otherwise, it takes all bytes and is silent, also when it is dropped.
pub(in crate::quorum) struct Remote {
    reads: Arc<Mutex<Pipe>>,
    writes: Arc<Mutex<Pipe>>,
}

impl Remote {
    /// The node can read this.
    pub(in crate::quorum) fn says(&self, bytes: &[u8]) {
        let mut pipe = lock(&self.writes);
        pipe.bytes.extend(bytes);
        pipe.wake();
    }

    /// The node can read no more than what was said.
    pub(in crate::quorum) fn hangs_up(&self) {
        let mut pipe = lock(&self.writes);
        pipe.closed = true;
        pipe.wake();
    }

    /// Whatever the node reads next fails.
    pub(in crate::quorum) fn fails_to_be_read(&self, kind: io::ErrorKind) {
        let mut pipe = lock(&self.writes);
        pipe.reading_fails = Some(kind);
        pipe.wake();
    }

    /// Whatever the node writes next fails.
    pub(in crate::quorum) fn fails_to_be_written(&self, kind: io::ErrorKind) {
        lock(&self.reads).writing_fails = Some(kind);
    }

    /// What the node has written does not leave.
    pub(in crate::quorum) fn fails_to_be_flushed(&self, kind: io::ErrorKind) {
        lock(&self.reads).flushing_fails = Some(kind);
    }

    /// It takes so many more bytes.
    pub(in crate::quorum) fn takes(&self, room: usize) {
        let mut pipe = lock(&self.reads);
        pipe.room = room;
        pipe.wake();
    }

    /// It takes no more than so many bytes at once.
    pub(in crate::quorum) fn takes_at_once(&self, bytes: usize) {
        lock(&self.reads).at_once = bytes;
    }

    /// Whether the connection keeps its end back.
    pub(in crate::quorum) fn lingers(&self, lingers: bool) {
        let mut pipe = lock(&self.reads);
        pipe.lingers = lingers;
        pipe.wake();
    }

    /// What it has taken of what the node has written.
    pub(in crate::quorum) fn taken(&self) -> Vec<u8> {
        lock(&self.reads).bytes.iter().copied().collect()
    }

    /// Whether the node has said that nothing more comes.
    pub(in crate::quorum) fn is_closed(&self) -> bool {
        lock(&self.reads).closed
    }

    /// Whether the node still has this connection.
    pub(in crate::quorum) fn is_open(&self) -> bool {
        !lock(&self.reads).dropped
    }

    /// The end itself, for what is more than bytes.
    pub(in crate::quorum) fn into_stream(self) -> Stream {
        Stream { reads: self.reads, writes: self.writes, socket: None }
    }
}

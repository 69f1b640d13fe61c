//! A connection in memory.

use futures_lite::io::{AsyncRead, AsyncWrite};
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

/// One direction of a connection in memory.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    closed: bool,
    waker: Option<Waker>,
}

/// One end of a connection in memory.
pub(in crate::quorum) struct End {
    reads: Arc<Mutex<Pipe>>,
    writes: Arc<Mutex<Pipe>>,
}

pub(in crate::quorum) fn pair() -> (End, End) {
    let (one, other) = (Arc::<Mutex<Pipe>>::default(), Arc::<Mutex<Pipe>>::default());
    let first = End { reads: one.clone(), writes: other.clone() };
    (first, End { reads: other, writes: one })
}

impl Pipe {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut pipe = self.writes.lock().unwrap();
        pipe.closed = true;
        pipe.wake();
    }
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = self.reads.lock().unwrap();
        if pipe.bytes.is_empty() && !pipe.closed {
            pipe.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let count = buffer.len().min(pipe.bytes.len());
        for (place, byte) in pipe.bytes.drain(..count).enumerate() {
            buffer[place] = byte;
        }
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = self.writes.lock().unwrap();
        pipe.bytes.extend(bytes);
        pipe.wake();
        Poll::Ready(Ok(bytes.len()))
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
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut pipe = self.writes.lock().unwrap();
        pipe.closed = true;
        pipe.wake();
        Poll::Ready(Ok(()))
    }
}

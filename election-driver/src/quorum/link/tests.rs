mod kept;
#[cfg(feature = "tls")]
mod replaced;

use super::*;
use election_core::{
    Epoch, NodeId,
    quorum::{
        Heartbeat, Members, Message, Position, Role,
        wire::{Decoder, Encoder},
    },
};
use std::task::Waker;

const DOWN_AFTER: Duration = Duration::from_secs(5);

/// A connection that takes so many bytes at once, and then so many in all.
#[derive(Default)]
struct Narrow {
    at_once: usize,
    room: usize,
    taken: Vec<u8>,
    /// What is there to be read; nothing at the end of the connection.
    read: Option<&'static [u8]>,
}

impl AsyncWrite for Narrow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = bytes.len().min(self.at_once).min(self.room);
        if count == 0 {
            return Poll::Pending;
        }
        self.room -= count;
        self.taken.extend(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Narrow {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self.read {
            None => Poll::Pending,
            Some(bytes) => {
                buffer[..bytes.len()].copy_from_slice(bytes);
                Poll::Ready(Ok(bytes.len()))
            }
        }
    }
}

fn at(millis: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_millis(millis)
}

fn members(me: &str) -> Members {
    let ids = ["a", "b"].map(|id| NodeId::new(id).unwrap());
    Members::new(ids.to_vec(), &NodeId::new(me).unwrap()).unwrap()
}

/// The outbox of a for b, in which a heartbeat waits.
fn outbox() -> Outbox {
    let mut outbox = Outbox::new(Encoder::new(members("a")).unwrap(), DOWN_AFTER);
    outbox.opened(at(0));
    let heartbeat = Heartbeat {
        epoch: Epoch::new(3),
        role: Role::Replica,
        position: Position::default(),
        extension: None,
    };
    outbox.push(&Message::Heartbeat(heartbeat), at(0));
    outbox
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[test]
fn a_connection_that_takes_a_byte_at_a_time_gets_all() {
    let (mut outbox, whole) = (outbox(), outbox().bytes().to_vec());
    let mut stream = Narrow { at_once: 1, room: 1_000, ..Narrow::default() };
    flush(&mut outbox, &mut stream, &mut cx(), at(1)).unwrap();
    assert!(outbox.is_empty());
    assert_eq!(stream.taken, whole);
    let mut decoder = Decoder::new(members("b"));
    decoder.read(&mut &*stream.taken).unwrap();
    assert_eq!(decoder.peer(), Some(Peer::new(0)));
}

#[test]
fn a_connection_that_takes_nothing_is_cut() {
    let mut outbox = outbox();
    let mut stream = Narrow { at_once: 100, room: 7, ..Narrow::default() };
    flush(&mut outbox, &mut stream, &mut cx(), at(1)).unwrap();
    assert_eq!(stream.taken.len(), 7);
    let cut_at = outbox.cut_at().expect("a frame waits");
    flush(&mut outbox, &mut stream, &mut cx(), cut_at - Duration::from_millis(1)).unwrap();
    let error = flush(&mut outbox, &mut stream, &mut cx(), cut_at).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    // A process that stood still writes first.
    stream.room = 1_000;
    flush(&mut outbox, &mut stream, &mut cx(), cut_at + DOWN_AFTER).unwrap();
    assert!(outbox.is_empty());
}

#[test]
fn a_peer_that_hangs_up_or_answers_is_left() {
    let ends = |read| {
        let mut stream = Narrow { read, ..Narrow::default() };
        goes_on(&mut stream, &mut cx()).map_err(|error| error.kind())
    };
    assert_eq!(ends(None), Ok(()));
    assert_eq!(ends(Some(b"")), Err(io::ErrorKind::UnexpectedEof));
    assert_eq!(ends(Some(b"SSH-2.0-x")), Err(io::ErrorKind::InvalidData), "another service");
}

#[test]
fn waits_grow_up_to_the_longest_and_begin_anew() {
    let (longest, mut random) = (Duration::from_millis(200), Random::new(1));
    let mut pace = Pace::new(longest, DOWN_AFTER);
    let waits: Vec<_> = (0..8).map(|_| pace.wait(&mut random)).collect();
    let bounds = [10, 20, 40, 80, 160, 200, 200, 200].map(Duration::from_millis);
    for (wait, bound) in waits.iter().zip(bounds) {
        assert!(*wait >= bound / 2 && *wait <= bound, "{waits:?}");
    }
    pace.begin_anew();
    assert!(pace.wait(&mut random) <= SOON);
}

mod kept;
#[cfg(feature = "tls")]
mod proved;

use super::*;
use crate::quorum::fake::{DOWN_AFTER, Remote, at, held, members, outbox as outbox_of};
use election_core::quorum::wire::Decoder;
use std::task::Waker;

/// The outbox of a, in which a heartbeat waits.
fn outbox() -> Outbox {
    outbox_of("a")
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[test]
fn a_connection_that_takes_a_byte_at_a_time_gets_all() {
    let (mut outbox, whole) = (outbox(), outbox().bytes().to_vec());
    let (mut stream, remote) = held();
    remote.takes_at_once(1);
    flush(&mut outbox, &mut stream, &mut cx(), at(1)).unwrap();
    assert!(outbox.is_empty());
    assert_eq!(remote.taken(), whole);
    let mut decoder = Decoder::new(members("b"));
    decoder.read(&mut &*remote.taken()).unwrap();
    assert_eq!(decoder.peer(), Some(Peer::new(0)));
}

#[test]
fn a_connection_that_takes_nothing_is_cut() {
    let mut outbox = outbox();
    let (mut stream, remote) = held();
    remote.takes(7);
    flush(&mut outbox, &mut stream, &mut cx(), at(1)).unwrap();
    assert_eq!(remote.taken().len(), 7);
    let cut_at = outbox.cut_at().expect("a frame waits");
    flush(&mut outbox, &mut stream, &mut cx(), cut_at - Duration::from_millis(1)).unwrap();
    let error = flush(&mut outbox, &mut stream, &mut cx(), cut_at).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    // A process that stood still writes first.
    remote.takes(1_000);
    flush(&mut outbox, &mut stream, &mut cx(), cut_at + DOWN_AFTER).unwrap();
    assert!(outbox.is_empty());
}

/// What the other end does.
type Act = fn(&Remote);

#[test]
fn a_peer_that_hangs_up_or_answers_is_left() {
    let ends = |acts: Act| {
        let (mut stream, remote) = held();
        acts(&remote);
        goes_on(&mut stream, &mut cx()).map_err(|error| error.to_string())
    };
    assert_eq!(ends(|_| ()), Ok(()));
    let cases: [(Act, &str); 6] = [
        (|it| it.hangs_up(), "it closed the connection"),
        (|it| it.fails_to_be_read(io::ErrorKind::UnexpectedEof), "it closed the connection"),
        (|it| it.says(b"SSH-2.0-x"), "its answer is not a member's"),
        (|it| it.says(&[HANDSHAKE, 3]), "it speaks TLS"),
        (|it| it.says(&[COMPLAINT, 3]), "it speaks TLS"),
        (|it| it.fails_to_be_read(io::ErrorKind::ConnectionReset), "reset"),
    ];
    for (acts, part) in cases {
        let said = ends(acts).unwrap_err();
        assert!(said.contains(part), "{said} lacks {part:?}");
    }
}

#[test]
fn a_connection_that_cannot_be_written_is_left() {
    const BROKEN: io::ErrorKind = io::ErrorKind::BrokenPipe;
    let ends = |acts: Act| {
        let (mut stream, remote) = held();
        acts(&remote);
        flush(&mut outbox(), &mut stream, &mut cx(), at(1)).map_err(|error| error.kind())
    };
    assert_eq!(ends(|it| it.takes_at_once(0)), Err(io::ErrorKind::WriteZero));
    assert_eq!(ends(|it| it.fails_to_be_written(BROKEN)), Err(BROKEN));
    assert_eq!(ends(|it| it.fails_to_be_flushed(BROKEN)), Err(BROKEN));
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

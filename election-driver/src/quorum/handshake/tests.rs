mod admission;

use super::*;
use crate::quorum::{
    fake::{DOWN_AFTER as LIMIT, ELSEWHERE, FakeNetwork, Secured, Stream, id, pair},
    tls::News,
};
use election_core::Timestamp;
use futures_lite::{AsyncWriteExt as _, future::block_on};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    task::{Wake, Waker},
    time::Instant,
};

/// How many handshakes there may be.
const MOST: usize = 4;

/// The handshakes of b.
struct Entrance {
    network: FakeNetwork,
    handshakes: Handshakes<FakeNetwork>,
    b: Secured,
}

impl Entrance {
    fn new() -> Self {
        let (network, b) = (FakeNetwork::new(), Secured::new());
        let handshakes = Handshakes::new(network.clone(), b.security(), LIMIT);
        Self { network, handshakes, b }
    }

    /// Somebody connects. Returns its end.
    fn comes(&mut self) -> Stream {
        self.comes_from(ELSEWHERE)
    }

    fn comes_from(&mut self, address: SocketAddr) -> Stream {
        let (near, far) = pair();
        assert!(self.handshakes.admit(far, address, MOST).is_none());
        near
    }

    /// The member a proves to be one.
    fn shakes(&self, near: Stream) {
        drop(self.b.a_connects(near, || self.network.run()).expect("a handshake"));
    }

    /// Who has come in, or why not, once nothing more happens.
    fn outcomes(&mut self) -> Vec<Result<Option<NodeId>, &'static str>> {
        self.network.run();
        let mut cx = Context::from_waker(Waker::noop());
        let mut outcomes = Vec::new();
        while let Poll::Ready(outcome) = self.handshakes.poll(&mut cx) {
            let entered = outcome.map(|entered| entered.proved);
            outcomes.push(entered.map_err(|(_, refusal)| refusal.as_str()));
        }
        outcomes
    }
}

#[test]
fn who_is_refused_by_now_does_not_enter() {
    let mut entrance = Entrance::new();
    let near = entrance.comes();
    entrance.shakes(near);
    assert_eq!(entrance.outcomes(), [Ok(Some(id("a")))]);

    let near = entrance.comes();
    entrance.shakes(near);
    entrance.network.run();
    entrance.b.is_strict();
    assert_eq!(entrance.outcomes(), [], "its handshake was over before it was taken off the list");
}

/// However few there are, and however little each of them costs.
#[test]
fn a_handshake_has_a_bounded_time() {
    let mut entrance = Entrance::new();
    let _silent = entrance.comes();
    assert_eq!(entrance.outcomes(), []);
    assert_eq!(entrance.network.pass(), Timestamp::ZERO + LIMIT);
    assert_eq!(entrance.outcomes(), [Err("tls_slow")]);
    assert_eq!(entrance.outcomes(), []);
}

/// A member may be behind those that only take its place.
#[test]
fn the_oldest_of_too_many_handshakes_makes_room() {
    let mut entrance = Entrance::new();
    let mut ends: Vec<_> = (0..MOST).map(|_| entrance.comes()).collect();
    entrance.network.run();
    let last = entrance.comes();
    assert!(!entrance.handshakes.is_crowded(MOST));
    assert_eq!(entrance.outcomes(), [], "nobody is told of");
    // The first has gone, and the second has not.
    let second = ends.remove(1);
    entrance.shakes(second);
    assert_eq!(entrance.outcomes(), [Ok(Some(id("a")))]);
    entrance.shakes(last);
    assert_eq!(entrance.outcomes(), [Ok(Some(id("a")))]);
    let first = ends.remove(0);
    let shaken = entrance.b.a_connects(first, || entrance.network.run());
    assert!(shaken.is_err(), "its connection is closed");
}

/// Tasks that do not get their turn to end are no fewer tasks.
#[test]
fn nobody_is_let_in_before_the_tasks_that_had_to_go_have_ended() {
    let mut entrance = Entrance::new();
    let _ends: Vec<_> = (0..2 * MOST - 1).map(|_| entrance.comes()).collect();
    assert!(!entrance.handshakes.is_crowded(MOST));
    let _one_more = entrance.comes();
    assert!(entrance.handshakes.is_crowded(MOST));
    entrance.network.run();
    assert!(!entrance.handshakes.is_crowded(MOST));
    assert_eq!(Arc::strong_count(&entrance.handshakes.tasks), MOST + 1);
}

/// Nobody would tell of the room once more.
#[test]
fn whoever_is_woken_by_the_end_of_a_handshake_finds_its_room() {
    struct Counts(Arc<()>, AtomicUsize);
    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.1.store(Arc::strong_count(&self.0), Ordering::SeqCst);
        }
    }
    let mut entrance = Entrance::new();
    drop(entrance.comes());
    let counts = Arc::new(Counts(entrance.handshakes.tasks.clone(), AtomicUsize::new(0)));
    let waker = Waker::from(counts.clone());
    assert!(entrance.handshakes.poll(&mut Context::from_waker(&waker)).is_pending());
    entrance.network.run();
    assert_eq!(counts.1.load(Ordering::SeqCst), 2, "the handshakes', and that of this test");
}

/// Whoever had to go while its handshake was about to succeed is in nobody's way, and nobody's news.
#[test]
fn who_had_to_go_does_not_enter_and_takes_no_others_place() {
    let mut entrance = Entrance::new();
    let first = entrance.comes();
    entrance.shakes(first);
    entrance.network.run();
    let _others: Vec<_> = (0..MOST).map(|_| entrance.comes()).collect();
    assert_eq!(entrance.outcomes(), []);
    assert_eq!(entrance.handshakes.under_way.len(), MOST);
}

#[test]
fn plain_tcp_is_refused_and_a_probe_is_not_logged() {
    let mut entrance = Entrance::new();
    let mut near = entrance.comes();
    drop(entrance.comes());
    assert_eq!(entrance.outcomes(), []);
    assert_eq!(entrance.handshakes.under_way.len(), 1, "the probe is forgotten");
    block_on(near.write_all(b"*5\r\n$2\r\nHB\r\n")).expect("room");
    assert_eq!(entrance.outcomes(), [Err("not_tls")]);
    assert!(entrance.handshakes.under_way.is_empty());
}

/// The file may have been corrected meanwhile.
#[test]
fn a_refusal_makes_the_node_read_its_own_credentials_again() {
    let mut entrance = Entrance::new();
    let news = entrance.b.keyring.news();
    entrance.b.becomes_strict();
    let mut near = entrance.comes();
    block_on(near.write_all(b"*5\r\n$2\r\nHB\r\n")).expect("room");
    let began = Instant::now();
    entrance.outcomes();
    let renewed = news.recv_blocking().expect("news");
    assert!(matches!(renewed, News::Renewed { recheck: true }), "{renewed:?}");
    assert!(began.elapsed() < Duration::from_secs(4), "they are read every five seconds anyway");
}

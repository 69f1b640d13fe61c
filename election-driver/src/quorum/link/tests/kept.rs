//! How a connection is kept: when it is made anew, where, and how it ends.

use super::*;
use crate::quorum::{
    fake::{FakeNetwork, Remote, id},
    lookup::{Found, tests::at_9},
};
use futures_lite::future::{block_on, pending, poll_once};

const LONGEST: Duration = Duration::from_millis(200);

pub(super) struct Desk {
    pub(super) network: FakeNetwork,
    pub(super) link: Link<FakeNetwork>,
    random: Random,
}

impl Desk {
    fn new() -> Self {
        Self::with(Peer::new(1), Security::Plain)
    }

    pub(super) fn with(peer: Peer, security: Security) -> Self {
        let address = Address::parse("127.0.0.1:9").unwrap();
        let mut outbox = outbox();
        outbox.closed();
        let pace = Pace::new(LONGEST, DOWN_AFTER);
        let link =
            Link::new((peer, id(["a", "b", "c"][peer.index()])), address, security, outbox, pace);
        Self { network: FakeNetwork::new(), link, random: Random::new(1) }
    }

    /// The next attempt succeeds.
    pub(super) fn accepts(&self) -> Remote {
        self.network.accepts()
    }

    fn dialed(&self) -> usize {
        self.network.dialed().len()
    }

    pub(super) fn poll(&mut self, now: Timestamp) -> Option<News> {
        self.link.poll(&mut cx(), now, &self.network, &mut self.random)
    }

    #[track_caller]
    fn connects(&mut self, now: Timestamp) {
        assert!(matches!(self.poll(now), Some(News::Connected)));
        assert!(self.poll(now).is_none());
    }

    #[track_caller]
    pub(super) fn fails(&mut self, now: Timestamp) -> io::ErrorKind {
        match self.poll(now) {
            Some(News::Failed(error, _)) => error.kind(),
            _ => panic!("it goes on"),
        }
    }

    pub(super) fn deadline(&self) -> Timestamp {
        self.link.deadline().expect("something to wait for")
    }
}

#[test]
fn an_attempt_begins_where_the_member_was_or_behind_who_is_none() {
    let number = at_9;
    let order = |begin: Begin| begin.order([1, 2, 3].map(number).to_vec());
    for (begin, expected) in [
        (Begin::First, [1, 2, 3]),
        (Begin::With(number(2)), [2, 3, 1]),
        (Begin::After(number(2)), [3, 1, 2]),
        (Begin::After(number(3)), [1, 2, 3]),
        (Begin::With(number(9)), [1, 2, 3]),
        (Begin::After(number(9)), [1, 2, 3]),
    ] {
        assert_eq!(order(begin), expected.map(number), "{begin:?}");
    }
}

#[test]
fn a_connection_that_the_peer_does_not_hear_is_replaced() {
    let mut desk = Desk::new();
    desk.accepts();
    assert!(!desk.link.spoke(false, at(0)), "there is no connection yet");
    desk.connects(at(0));
    assert_eq!(desk.deadline(), at(5_000));
    assert!(!desk.link.spoke(true, at(500)), "a greeting shows nothing");
    assert_eq!(desk.deadline(), at(5_000));
    assert!(desk.link.spoke(false, at(1_000)));
    assert!(!desk.link.spoke(false, at(2_000)), "told once");
    assert_eq!(desk.deadline(), at(7_000));
    assert!(desk.link.doubt(at(6_999), &mut desk.random).is_none());
    let Some(News::Failed(error, since)) = desk.link.doubt(at(7_000), &mut desk.random) else {
        panic!("it goes on");
    };
    assert_eq!((error.kind(), since), (io::ErrorKind::TimedOut, at(2_000)));
    assert!(error.to_string().contains("nothing has arrived from it"), "{error}");
    // The next attempt comes soon, and not before its time.
    let due = desk.deadline();
    assert!(due > at(7_000) && due <= at(7_000) + SOON, "{due:?}");
    assert!(desk.poll(due - Duration::from_nanos(1)).is_none());
    assert_eq!(desk.dialed(), 1);
    desk.accepts();
    desk.connects(due);
    // Now it only greets: it is there, and hears nothing.
    desk.link.spoke(true, at(9_000));
    let Some(News::Failed(error, _)) = desk.link.doubt(due + DOWN_AFTER, &mut desk.random) else {
        panic!("it goes on");
    };
    assert!(error.to_string().contains("has not heard this node"), "{error}");
}

/// Fails until the pauses have grown. Returns when the next attempt is due.
fn refused_often(desk: &mut Desk) -> Timestamp {
    let mut due = at(0);
    for _ in 0..8 {
        assert_eq!(desk.fails(due), io::ErrorKind::ConnectionRefused);
        let next = desk.deadline();
        assert!(next > due && next <= due + LONGEST);
        due = next;
    }
    due
}

/// The longest pause among many before the next attempt, once they have grown.
fn longest_pause(refused: bool) -> Duration {
    let mut desk = Desk::new();
    let pause = |_| {
        desk.link.closed(at(0), refused, &mut desk.random);
        desk.deadline().since(at(0))
    };
    (0..200).map(pause).max().expect("many")
}

/// What two have refused each other lasts longer than what a network does.
#[test]
fn who_is_refused_is_tried_less_often() {
    for (refused, limit) in [(false, LONGEST), (true, DOWN_AFTER)] {
        let longest = longest_pause(refused);
        assert!(longest <= limit && longest > limit * 9 / 10, "{longest:?} of {limit:?}");
    }
}

/// A connection that lasted makes the pauses short again, unless the peer has then refused this node.
#[test]
fn a_connection_that_lasted_counts_unless_it_was_refused() {
    for refused in [false, true] {
        let mut desk = Desk::new();
        let due = refused_often(&mut desk);
        desk.accepts();
        desk.connects(due);
        assert_eq!(desk.link.number(), Some("127.0.0.1:9".parse().expect("an address")));
        let then = due + LONGEST;
        desk.link.closed(then, refused, &mut desk.random);
        assert_eq!(desk.link.number(), None);
        let pause = desk.deadline().since(then);
        assert_eq!(pause <= SOON, !refused, "{pause:?}");
    }
}

#[test]
fn a_connection_that_is_doubted_is_not_refused() {
    let mut desk = Desk::new();
    let due = refused_often(&mut desk);
    desk.accepts();
    desk.connects(due);
    let then = due + DOWN_AFTER;
    assert!(desk.link.doubt(then, &mut desk.random).is_some());
    let pause = desk.deadline().since(then);
    assert!(pause <= SOON, "{pause:?}");
}

#[test]
fn a_peer_that_shows_up_is_tried_once_for_each_connection() {
    let mut desk = Desk::new();
    let due = refused_often(&mut desk);
    desk.fails(due);
    desk.link.is_there(Connection(1));
    let sooner = desk.deadline();
    assert_eq!(sooner, due + SOON, "whoever says so often is not dialed without a pause");
    desk.fails(sooner);
    let next = desk.deadline();
    assert!(next <= sooner + SOON, "the pauses begin anew");
    for _ in 0..5 {
        desk.fails(desk.deadline());
    }
    let due = desk.deadline();
    desk.link.is_there(Connection(1));
    assert_eq!(desk.deadline(), due, "it has said so before");
    desk.link.is_there(Connection(2));
    assert!(desk.deadline() < due);
}

#[test]
fn who_accepts_and_hangs_up_at_once_is_tried_ever_more_rarely() {
    let mut desk = Desk::new();
    let (mut due, mut paused) = (at(0), Duration::ZERO);
    for _ in 0..8 {
        let remote = desk.accepts();
        desk.connects(due);
        remote.hangs_up();
        assert_eq!(desk.fails(due), io::ErrorKind::UnexpectedEof);
        assert!(!desk.link.outbox.is_open(), "nothing is written into what is gone");
        let next = desk.deadline();
        (paused, due) = (next.since(due), next);
    }
    assert!(paused >= LONGEST / 2, "{paused:?}");
    // One that lasts makes up for it.
    let remote = desk.accepts();
    desk.connects(due);
    remote.hangs_up();
    let ended = due + LONGEST;
    desk.fails(ended);
    assert!(desk.deadline() <= ended + SOON);
}

#[test]
fn the_last_frames_leave_before_the_connection_is_closed() {
    let mut desk = Desk::new();
    let remote = desk.accepts();
    remote.takes(0);
    desk.connects(at(0));
    assert!(desk.link.poll_farewell(&mut cx(), at(1)).is_pending());
    assert!(!remote.is_closed());
    remote.takes(usize::MAX);
    remote.lingers(true);
    assert!(desk.link.poll_farewell(&mut cx(), at(2)).is_pending());
    remote.lingers(false);
    assert!(desk.link.poll_farewell(&mut cx(), at(3)).is_ready());
    assert!(remote.is_closed() && !remote.taken().is_empty());
    // That was all.
    assert!(desk.poll(at(4)).is_none() && desk.link.deadline().is_none());
    assert_eq!(desk.dialed(), 1);
    // Whoever takes nothing is not waited for without end.
    let mut desk = Desk::new();
    let remote = desk.accepts();
    remote.takes(0);
    desk.connects(at(0));
    let cut_at = desk.deadline();
    assert!(desk.link.poll_farewell(&mut cx(), cut_at).is_ready());
    assert!(!remote.is_open(), "it is dropped");
    // Nor is one that cannot be written.
    let mut desk = Desk::new();
    let remote = desk.accepts();
    remote.takes(0);
    desk.connects(at(0));
    remote.fails_to_be_written(io::ErrorKind::BrokenPipe);
    assert!(desk.link.poll_farewell(&mut cx(), at(1)).is_ready());
    // Nor is a connection on which the peer is not heard, whatever else it does.
    let mut desk = Desk::new();
    let remote = desk.accepts();
    desk.connects(at(0));
    remote.lingers(true);
    assert!(desk.link.poll_farewell(&mut cx(), at(4_999)).is_pending());
    assert!(desk.link.poll_farewell(&mut cx(), desk.deadline()).is_ready());
}

/// The next attempt begins where the member was, and not where somebody else was.
#[test]
fn where_nobody_spoke_is_not_where_the_next_attempt_begins() {
    let number = SocketAddr::from(([127, 0, 0, 1], 9));
    for speaks in [true, false] {
        let mut desk = Desk::new();
        let remote = desk.accepts();
        desk.connects(at(0));
        if speaks {
            desk.link.spoke(false, at(1));
        }
        remote.hangs_up();
        desk.fails(at(2));
        let begins = match desk.link.begin {
            Begin::With(with) => with == number && speaks,
            Begin::After(after) => after == number && !speaks,
            Begin::First => false,
        };
        assert!(begins, "{:?}, speaks: {speaks}", desk.link.begin);
    }
}

/// The peer is heard, so there is no doubt, but what is written to it stays in the kernel.
#[test]
fn a_stalled_connection_is_checked_before_it_is_cut() {
    let mut desk = Desk::new();
    let remote = desk.accepts();
    remote.takes(0);
    desk.connects(at(0));
    desk.link.spoke(false, at(1_000));
    let cut_at = desk.link.outbox.cut_at().expect("a frame waits");
    assert_eq!(desk.deadline(), cut_at);
    assert_eq!(desk.fails(cut_at), io::ErrorKind::TimedOut);
}

/// The options of a connection are set before anything is written, and an address that answers is
/// the last that is tried.
#[test]
fn an_attempt_ends_with_the_first_address_that_answers() {
    use rustix::net::sockopt;
    let desk = Desk::new();
    let addresses = [1, 2, 3].map(at_9).to_vec();
    desk.network.refuses();
    desk.accepts();
    let connect = Connect {
        runtime: desk.network.clone(),
        security: Security::Plain,
        id: id("b"),
        begin: Begin::First,
        down_after: DOWN_AFTER,
    };
    assert!(!sockopt::tcp_nodelay(desk.network.socket()).unwrap());
    let tried = connect.tried(Found { addresses: addresses.clone(), stale: None }, DOWN_AFTER / 2);
    let connected = block_on(poll_once(tried)).expect("an outcome");
    assert!(connected.is_ok_and(|(_, number)| number == addresses[1]));
    assert_eq!(desk.dialed(), 2);
    assert!(sockopt::tcp_nodelay(desk.network.socket()).unwrap());
}

/// Whoever says nothing at all is not told to be there.
#[test]
fn a_connection_on_which_nothing_comes_is_told_as_such() {
    let mut desk = Desk::new();
    let _remote = desk.accepts();
    desk.connects(at(0));
    let Some(News::Failed(error, _)) = desk.link.doubt(at(5_000), &mut desk.random) else {
        panic!("it goes on");
    };
    assert!(error.to_string().contains("nothing has arrived from it"), "{error}");
}

/// What its name meant last serves the next attempt, if the name service is down by then.
#[test]
fn an_attempt_gives_back_what_it_has_looked_up() {
    let mut desk = Desk::new();
    desk.link.home = Address::parse("member.test:9").unwrap();
    desk.link.lookup = Some(Lookup::that_knows("member.test:9", &[at_9(1)], pending()));
    desk.network.refuses();
    assert!(desk.poll(at(0)).is_none());
    desk.network.pass();
    assert_eq!(desk.fails(at(700)), io::ErrorKind::ConnectionRefused);
    assert_eq!(desk.link.lookup.as_ref().map(Lookup::known), Some(&[at_9(1)][..]));
}

/// The address with this port on this machine.
fn port(number: u16) -> Address {
    Address::parse(&format!("127.0.0.1:{number}")).unwrap()
}

impl Desk {
    /// The next attempt succeeds, and the member speaks; then it hangs up.
    fn is_reached(&mut self) {
        let remote = self.accepts();
        self.connects(self.deadline());
        self.link.spoke(false, self.deadline());
        remote.hangs_up();
        self.fails(self.deadline());
    }

    /// At which ports so many further attempts are made, which are refused.
    fn tries(&mut self, count: usize) -> Vec<u16> {
        let before = self.dialed();
        for _ in 0..count {
            self.network.refuses();
            self.fails(self.deadline());
        }
        self.network.dialed()[before..].iter().map(SocketAddr::port).collect()
    }
}

#[test]
fn a_member_that_moves_is_tried_in_both_places_until_it_answers() {
    let mut desk = Desk::new();
    let remote = desk.accepts();
    desk.connects(at(0));
    desk.link.spoke(false, at(0));
    assert!(desk.link.relocate(&port(10), &[]));
    assert!(!desk.link.relocate(&port(10), &[]), "told once");
    assert!(desk.poll(at(1)).is_none(), "the connection is of use");
    remote.hangs_up();
    desk.fails(at(1));
    assert_eq!(desk.tries(4), [10, 9, 10, 9]);
    assert_eq!(desk.tries(1), [10]);
    desk.is_reached(); // at 9: it has not moved yet
    assert_eq!(desk.tries(2), [10, 9]);
    desk.is_reached(); // now it has
    assert_eq!(desk.tries(3), [10, 10, 10]);
}

#[test]
fn only_where_a_member_was_is_it_tried_after_a_move() {
    let mut desk = Desk::new();
    desk.is_reached();
    desk.link.relocate(&port(10), &[]);
    desk.link.relocate(&port(11), &[]); // 10 was a mistake
    assert_eq!(desk.tries(3), [11, 9, 11]);
    desk.link.relocate(&port(9), &[]); // it does not move after all
    assert_eq!(desk.tries(2), [9, 9]);
    desk.link.relocate(&port(12), &[port(13)]);
    assert_eq!(desk.tries(3), [12, 9, 12]);
    desk.link.relocate(&port(12), &[port(9)]); // another member has that one now
    assert_eq!(desk.tries(2), [12, 12]);
}

#[test]
fn an_attempt_at_an_old_address_gives_way_to_the_new_one() {
    let mut desk = Desk::new();
    desk.network.hangs();
    assert!(desk.poll(at(0)).is_none());
    desk.link.relocate(&port(10), &[]);
    assert_eq!(desk.deadline(), at(0) + SOON);
    assert_eq!(desk.tries(4), [10; 4], "it has never been at 9");
    let due = desk.deadline();
    desk.link.relocate(&port(10), &[]);
    assert_eq!(desk.deadline(), due, "nothing is new");
}

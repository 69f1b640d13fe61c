mod greeters;
#[cfg(feature = "tls")]
mod proved;

use super::*;
use crate::quorum::fake::{
    DOWN_AFTER, FakeNetwork, Remote, at, greeting, held, members, spoken as frame,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Wake, Waker},
};

/// Where the node listens.
const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// The node a, its peers, and what they hold.
struct Desk {
    network: FakeNetwork,
    inbound: Inbound<FakeNetwork>,
    /// The connection on which the node listens to a member.
    listens_on: Option<Connection>,
    bell: Arc<Bell>,
}

impl Desk {
    fn new() -> Self {
        Self::of("a", Security::Plain)
    }

    fn of(me: &str, security: Security) -> Self {
        let (network, members) = (FakeNetwork::new(), members(me));
        let inbound = Inbound::new(network.clone(), security, members, DOWN_AFTER, vec![HERE]);
        Self { network, inbound, listens_on: None, bell: Arc::default() }
    }

    /// Somebody connects and writes this.
    fn calls(&self, bytes: &[u8]) -> Remote {
        self.network.calls(HERE, bytes)
    }

    /// The same, from an address of one's own.
    fn calls_from(&mut self, address: &str, bytes: &[u8], millis: u64) -> Remote {
        let (stream, remote) = held();
        remote.says(bytes);
        let address = SocketAddr::new(address.parse().expect("an address"), 1);
        let transport = Transport::Plain(stream);
        self.inbound.add(Entered { transport, address, proved: None }, at(millis));
        remote
    }

    /// All that has come in.
    fn poll(&mut self, millis: u64) -> Vec<String> {
        let waker = Waker::from(self.bell.clone());
        let mut cx = Context::from_waker(&waker);
        let mut told = Vec::new();
        let listens_on = |_| self.listens_on;
        while let Poll::Ready(call) = self.inbound.poll(&mut cx, at(millis), listens_on) {
            told.push(match call {
                InboundEvent::Heard { connection, message, .. } => {
                    let what = if message.is_some() { "speaks" } else { "greets" };
                    format!("{} {what}", connection.0)
                }
                InboundEvent::Ended { connection, .. } => format!("{} ended", connection.0),
                InboundEvent::Refused { .. } => "refused".to_owned(),
                InboundEvent::DuplicateId { .. } => "duplicate_id".to_owned(),
                InboundEvent::AcceptFailed(_) => "accept_failed".to_owned(),
            });
        }
        told
    }
}

#[test]
fn the_stranger_that_came_first_makes_room() {
    let mut desk = Desk::new();
    let strangers: Vec<_> = (0..UNKNOWN).map(|_| desk.calls(b"")).collect();
    assert_eq!(desk.poll(0), [""; 0]);
    assert_eq!(desk.poll(0), [""; 0]);
    assert!(strangers.iter().all(Remote::is_open));
    let member = desk.calls(&frame("b"));
    let last = desk.calls(b"");
    assert!(desk.poll(1).iter().any(|told| told.ends_with("speaks")));
    assert!(member.is_open() && last.is_open(), "a member is no stranger");
    assert!(!strangers[0].is_open() && strangers[2..].iter().all(Remote::is_open));
}

#[test]
fn no_number_of_strangers_pushes_a_member_out() {
    let mut desk = Desk::new();
    let member = desk.calls(&frame("b"));
    desk.poll(0);
    let strangers: Vec<_> = (0..=UNKNOWN).map(|_| desk.calls(b"")).collect();
    for millis in 1..4 {
        desk.poll(millis);
    }
    assert!(member.is_open() && !strangers[0].is_open());
}

#[test]
fn silent_callers_in_a_members_name_make_room_for_others() {
    let mut desk = Desk::new();
    let silent = desk.calls(&frame("c"));
    desk.poll(0);
    let lines: Vec<_> = (0..OF_ONE).map(|_| desk.calls(&frame("b"))).collect();
    desk.poll(0);
    for (line, millis) in [0, 2, 3].into_iter().zip(1..) {
        lines[line].says(&frame("b"));
        desk.poll(millis);
    }
    assert!(lines.iter().all(Remote::is_open), "{OF_ONE} are not too many");
    let other = desk.calls(&frame("c"));
    desk.poll(10);
    assert!(lines.iter().all(Remote::is_open) && other.is_open(), "nor are those of another");
    let fifth = desk.calls(&frame("b"));
    assert!(desk.poll(20).contains(&"3 ended".to_owned()), "it was silent for longest");
    desk.poll(20);
    assert!(silent.is_open(), "another member is not in the way");
    assert!(!lines[1].is_open());
    assert!([0, 2, 3].iter().all(|line| lines[*line].is_open()) && fifth.is_open());
}

#[test]
fn a_connection_is_left_that_was_silent_for_long() {
    let mut desk = Desk::new();
    let (member, stranger) = (desk.calls(&frame("b")), desk.calls(b""));
    desk.poll(0);
    assert_eq!(desk.inbound.deadline(), Some(at(5_000)));
    desk.poll(4_999);
    assert!(stranger.is_open());
    member.says(&frame("b"));
    desk.poll(4_999);
    assert_eq!(desk.poll(5_000), [""; 0]);
    assert!(!stranger.is_open() && member.is_open());
    assert_eq!(desk.inbound.deadline(), Some(at(9_999)), "since it spoke");
    assert_eq!(desk.poll(9_999), ["1 ended"]);
    desk.poll(9_999);
    assert!(!member.is_open());
    assert_eq!(desk.inbound.deadline(), None);
}

#[test]
fn a_system_that_gives_nothing_out_is_asked_again_after_a_pause() {
    let mut desk = Desk::new();
    desk.network.fails_to_accept(HERE, io::ErrorKind::Other);
    assert_eq!(desk.poll(0), ["accept_failed"]);
    let line = desk.calls(&frame("b"));
    assert_eq!(desk.inbound.deadline(), Some(at(100)));
    assert_eq!(desk.poll(99), [""; 0]);
    assert_eq!(desk.poll(100), ["1 speaks"]);
    assert!(line.is_open());
    assert_eq!(desk.inbound.deadline(), Some(at(5_100)));
}

#[test]
fn a_caller_that_hangs_up_early_is_no_system_failure() {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    let mut desk = Desk::new();
    [ConnectionAborted, ConnectionReset, Interrupted]
        .into_iter()
        .for_each(|kind| desk.network.fails_to_accept(HERE, kind));
    desk.calls(&frame("b"));
    assert_eq!(desk.poll(0), ["1 speaks"]);
}

#[test]
fn whoever_connects_without_end_keeps_nobody_from_being_heard() {
    let mut desk = Desk::new();
    let lines: Vec<_> = (0..=AT_ONCE).map(|_| desk.calls(b"")).collect();
    lines[0].says(&frame("b"));
    let waker = Waker::from(desk.bell.clone());
    let mut cx = Context::from_waker(&waker);
    let first = desk.inbound.poll(&mut cx, at(0), |_| None);
    assert!(matches!(first, Poll::Ready(InboundEvent::Heard { connection: Connection(1), .. })));
    assert_eq!(desk.network.waiting(HERE), 1, "the others wait");
    assert_eq!(desk.bell.0.load(SeqCst), 1, "for a turn that comes");
}

#[test]
fn what_nobody_understands_is_refused_and_ends() {
    let mut desk = Desk::new();
    let (stranger, member) = (desk.calls(b"GET / HTTP/1.1\r\n\r\n"), desk.calls(&frame("b")));
    let told = desk.poll(0);
    assert_eq!(told.iter().filter(|told| *told == "refused").count(), 1, "{told:?}");
    desk.poll(0);
    assert!(!stranger.is_open() && member.is_open());
    member.says(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(desk.poll(1), ["refused", "2 ended"]);
    // The end of a connection, too, and of one in the middle of a frame.
    let (whole, torn) = (desk.calls(&frame("b")), desk.calls(&frame("c")[..9]));
    desk.poll(2);
    whole.hangs_up();
    torn.hangs_up();
    let told = desk.poll(3);
    assert!(
        told.contains(&"3 ended".to_owned()) && told.contains(&"refused".to_owned()),
        "{told:?}"
    );
}

#[test]
fn whoever_only_greets_beside_one_that_speaks_is_a_twin() {
    let mut desk = Desk::new();
    let (speaks, greets) = (desk.calls(&frame("b")), desk.calls(&greeting("b")));
    let told = desk.poll(0);
    assert!(told.contains(&"2 greets".to_owned()), "{told:?}");
    for (millis, told) in [(2_500, "2 greets"), (4_999, "2 greets"), (5_000, "duplicate_id")] {
        speaks.says(&frame("b"));
        desk.poll(millis);
        greets.says(&greeting("b"));
        assert_eq!(desk.poll(millis), [told], "{millis} ms");
    }
    // One that speaks at last is none, and where nobody else speaks, nobody is.
    greets.says(&frame("b"));
    assert!(desk.poll(5_001).contains(&"2 speaks".to_owned()));
    greets.says(&greeting("b"));
    assert_eq!(desk.poll(5_002), ["2 greets"], "it begins anew");
    let mut desk = Desk::new();
    let greets = desk.calls(&greeting("b"));
    let other = desk.calls(&frame("c"));
    desk.poll(0);
    for millis in [2_500, 5_000, 7_500] {
        greets.says(&greeting("b"));
        other.says(&frame("c"));
        assert!(desk.poll(millis).contains(&"1 greets".to_owned()));
    }
    // Two that only greet are both told, and neither counts for less.
    let mut desk = Desk::new();
    let both = [desk.calls(&greeting("b")), desk.calls(&greeting("b"))];
    desk.poll(0);
    for millis in [2_500, 5_000, 7_500] {
        both.iter().for_each(|greets| greets.says(&greeting("b")));
        let mut told = desk.poll(millis);
        told.sort();
        assert_eq!(told, ["1 greets", "2 greets"], "{millis} ms");
    }
}

/// The process that spoke in the same name is gone, and this one may be the member by now.
#[test]
fn whoever_greets_beside_one_that_has_ended_is_no_twin() {
    let mut desk = Desk::new();
    let (speaks, greets) = (desk.calls(&frame("b")), desk.calls(&greeting("b")));
    desk.poll(0);
    speaks.says(&frame("b"));
    greets.says(&greeting("b"));
    desk.poll(4_000);
    speaks.hangs_up();
    greets.says(&greeting("b"));
    assert_eq!(desk.poll(5_000), ["1 ended", "2 greets"]);
}

/// Four lines of b, of which the first have been silent for longest. The last has its turn first.
fn four_lines(desk: &mut Desk) -> Vec<Remote> {
    let lines: Vec<_> = (0..OF_ONE).map(|_| desk.calls(&frame("b"))).collect();
    desk.poll(0);
    for (line, millis) in [0, 1, 3, 2].into_iter().zip(1..) {
        lines[line].says(&frame("b"));
        desk.poll(millis);
    }
    lines
}

fn open(lines: &[Remote]) -> Vec<bool> {
    lines.iter().map(Remote::is_open).collect()
}

#[test]
fn who_has_ended_or_has_to_go_takes_nobodys_place() {
    let mut desk = Desk::new();
    let lines = four_lines(&mut desk);
    lines[3].hangs_up();
    let fifth = desk.calls(&frame("b"));
    desk.poll(10);
    desk.poll(10);
    assert_eq!(open(&lines), [true, true, true, false]);
    assert!(fifth.is_open());
    // Two that come at once push two out.
    let mut desk = Desk::new();
    let lines = four_lines(&mut desk);
    let others = [desk.calls(&frame("b")), desk.calls(&frame("b"))];
    desk.poll(10);
    desk.poll(10);
    assert_eq!(open(&lines), [false, false, true, true]);
    assert!(others.iter().all(Remote::is_open));
}

/// Whoever makes many connections has spoken on all of them since the member spoke.
#[test]
fn the_connection_that_the_node_listens_on_makes_no_room() {
    let mut desk = Desk::new();
    let lines = four_lines(&mut desk);
    desk.listens_on = Some(Connection(1));
    let others = [desk.calls(&frame("b")), desk.calls(&frame("b"))];
    desk.poll(10);
    desk.poll(10);
    assert_eq!(open(&lines), [true, false, true, false]);
    assert!(others.iter().all(Remote::is_open));
}

/// Of five that have spoken in the same moment, it is the one that is known to be alive.
#[test]
fn who_has_just_spoken_does_not_make_room() {
    let mut desk = Desk::new();
    let lines: Vec<_> = (0..=OF_ONE).map(|_| desk.calls(b"")).collect();
    desk.poll(0);
    for line in lines.iter().rev() {
        line.says(&frame("b"));
        desk.poll(0);
    }
    desk.poll(0);
    assert!(lines[0].is_open());
    assert_eq!(lines.iter().filter(|line| line.is_open()).count(), OF_ONE);
}

#[test]
fn a_member_that_ends_in_the_middle_of_a_frame_is_not_refused() {
    let mut desk = Desk::new();
    let member = desk.calls(&frame("b"));
    desk.poll(0);
    member.says(&frame("b")[..9]);
    member.hangs_up();
    assert_eq!(desk.poll(1), ["1 ended"]);
    let member = desk.calls(&frame("b"));
    desk.poll(2);
    member.fails_to_be_read(io::ErrorKind::ConnectionReset);
    assert_eq!(desk.poll(3), ["2 ended"]);
}

#[test]
fn who_is_gone_before_it_is_looked_at_gets_no_place() {
    let mut desk = Desk::new();
    let gone = desk.network.calls_and_goes(HERE);
    assert_eq!(desk.poll(0), [""; 0]);
    assert!(!gone.is_open());
    assert_eq!(desk.inbound.deadline(), None);
}

/// Of all options, the one that is the same everywhere.
#[test]
fn the_options_of_a_connection_are_set_before_it_is_read() {
    use rustix::net::sockopt;
    let mut desk = Desk::new();
    assert!(!sockopt::tcp_nodelay(desk.network.socket()).unwrap());
    desk.calls(b"");
    desk.poll(0);
    assert!(sockopt::tcp_nodelay(desk.network.socket()).unwrap());
}

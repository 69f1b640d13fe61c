//! What a node takes in, and in which turns, without the protocol.

#[cfg(feature = "tls")]
mod credentials;
mod peers;

use super::*;
use crate::quorum::{
    fake::{greeting, spoken},
    start::assemble,
};
use election_core::{
    Alert,
    quorum::{
        Heartbeat, Role,
        wire::Dialect::{Extended, Legacy},
    },
};
use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    task::{Wake, Waker},
};
use tracing::Span;

/// What a node has around it, and how often it was woken.
struct Around {
    network: FakeNetwork,
    here: SocketAddr,
    _place: tempfile::TempDir,
    member: Member<FakeNetwork>,
    host: Net<FakeNetwork>,
    bell: Arc<Bell>,
}

#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Around {
    fn new() -> Self {
        let (place, here, network) = (tempfile::tempdir().unwrap(), free(), FakeNetwork::new());
        let cluster = cluster(&network, &place, here);
        let (member, host) = block_on(assemble(cluster, &Span::none())).unwrap();
        Self { network, here, _place: place, member, host, bell: Arc::default() }
    }

    /// The same, after the wall clock was told.
    fn told_the_time() -> Self {
        let mut around = Self::new();
        let inputs = around.takes(None);
        assert!(matches!(inputs[..], [Input::Event(Event::WallClock(_))]), "{inputs:?}");
        around
    }

    /// What it takes in one turn.
    fn takes(&mut self, wake_at: Option<Timestamp>) -> Vec<Input<Event>> {
        let waker = Waker::from(self.bell.clone());
        let mut cx = Context::from_waker(&waker);
        let mut inputs = Vec::new();
        while let Poll::Ready(input) = self.host.poll_input(&mut cx, wake_at) {
            inputs.extend(input);
        }
        inputs
    }

    /// How often it was woken since.
    fn rings(&self) -> usize {
        self.bell.0.swap(0, SeqCst)
    }

    /// Orders that change nothing.
    fn orders(&self, count: u32) {
        (0..count).for_each(|_| self.host.shared.setup.inbox.tell(Input::Resign));
    }

    /// Somebody connects and says this.
    fn calls(&self, bytes: &[u8]) -> Remote {
        self.network.calls(self.here, bytes)
    }

    /// Whether there is a connection to b, and why there was none the last time.
    fn link_to_b(&self) -> (bool, Option<String>) {
        let report = self.member.peers().remove(0);
        assert_eq!(report.id, id("b"));
        (report.connected, report.error)
    }
}

/// As long as it takes inputs, nothing else of its thread runs.
#[test]
fn a_node_that_is_flooded_gives_others_their_turn() {
    let most = AT_ONCE as usize;
    let mut around = Around::told_the_time();
    around.orders(100);
    around.rings();
    assert_eq!(around.takes(None).len(), 100);
    assert_eq!(around.rings(), 0);
    around.orders(2 * AT_ONCE + 1);
    around.rings();
    for left in [most, most, 1] {
        assert_eq!(around.takes(None).len(), left, "each turn is a whole one");
        assert_eq!(around.rings(), usize::from(left == most), "it goes on by itself");
    }
    // Frames, and what is due, count alike.
    let mut around = Around::told_the_time();
    let _peer = around.calls(&spoken("b").repeat(most + 3));
    assert_eq!(around.takes(None).len(), most);
    assert_eq!(around.takes(None).len(), 3);
    around.orders(AT_ONCE);
    assert_eq!(around.takes(Some(at(0))), vec![Input::Tick; most]);
    assert_eq!(around.takes(None).len(), most);
}

/// What is nothing for the protocol takes time all the same.
#[test]
fn whoever_greets_without_end_gives_others_their_turn() {
    let mut around = Around::told_the_time();
    let peer = around.calls(&greeting("b").repeat(10 * AT_ONCE as usize));
    around.rings();
    assert_eq!(around.takes(None), []);
    assert_eq!(around.rings(), 1, "it goes on by itself");
    peer.says(&spoken("b"));
    let turns = (1..).find(|_| !around.takes(None).is_empty());
    assert_eq!(turns, Some(10));
}

/// An instant that passes while the node looks around wakes nobody any more.
#[test]
fn what_falls_due_at_the_last_moment_is_done_at_once() {
    let mut around = Around::told_the_time();
    let due = around.network.now() + Duration::from_millis(3);
    around.network.goes_on_between_readings(due);
    assert_eq!(around.takes(Some(due)).first(), Some(&Input::Tick));
}

/// Strangers cannot keep a member out that has not been connected to yet.
#[test]
fn members_are_expected_where_they_are_listed() {
    let around = Around::new();
    assert_eq!(around.host.inbound.known(), [std::net::IpAddr::from([127, 0, 0, 1]); 2]);
}

#[test]
fn a_start_says_how_far_it_has_come() {
    let (place, here, network) = (tempfile::tempdir().unwrap(), free(), FakeNetwork::new());
    let cluster = cluster(&network, &place, here);
    let starting = cluster.starting();
    assert_eq!(starting.to_string(), "starting");
    drop(block_on(assemble(cluster, &Span::none())).unwrap());
    assert_eq!(starting.to_string(), "started");
}

/// The end of a pause depends on it.
#[test]
fn a_node_wakes_up_to_read_the_wall_clock() {
    let mut around = Around::new();
    around.network.hangs();
    around.network.hangs();
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let before = now();
    let inputs = around.takes(None);
    let [Input::Event(Event::WallClock(UnixMillis(told)))] = inputs[..] else {
        panic!("{inputs:?}");
    };
    assert!((before..=now()).contains(&u128::from(told)));
    assert_eq!(around.host.deadline(None), Timestamp::ZERO + MINUTE);
    assert_eq!(around.host.deadline(Some(at(7))), at(7));
    around.network.set_now(at(60_000));
    assert_eq!(around.takes(None).len(), 1);
}

#[test]
fn an_application_that_is_ill_is_told_of_once() {
    let mut around = Around::told_the_time();
    let told = |healthy| Input::Event(Event::Health(healthy));
    let handle = around.member.handle().clone();
    handle.set_healthy(false);
    assert_eq!(around.takes(None), [told(false)]);
    handle.set_healthy(true);
    handle.set_healthy(false);
    assert_eq!(around.takes(None), [told(true), told(false)]);
    // No database wakes it, and what the node knows is no news.
    let inbox = &around.host.shared.setup.inbox;
    inbox.wake();
    inbox.tell(Input::Event(Report::Health(false)));
    inbox.tell(Input::Resign);
    assert_eq!(around.takes(None), [Input::Resign]);
}

#[test]
fn every_order_comes_in() {
    let mut around = Around::told_the_time();
    let inbox = &around.host.shared.setup.inbox;
    inbox.tell(Input::Resign);
    inbox.tell(Input::Stopped(Epoch::new(3)));
    inbox.tell(Input::Withdraw);
    around.host.state.order(Event::Resume);
    around.member.set_position(Position { history: 1, offset: 3 });
    let expected = [
        Input::Resign,
        Input::Stopped(Epoch::new(3)),
        Input::Withdraw,
        Input::Event(Event::Resume),
        Input::Tick, // that step takes the position
    ];
    assert_eq!(around.takes(None), expected);
    assert_eq!(around.host.state.take_position().map(|it| it.offset), Some(3));
}

/// Its votes of before may be lost, and somebody has to know.
#[test]
fn a_ballot_that_cannot_be_read_is_logged() {
    let (place, network) = (tempfile::tempdir().unwrap(), FakeNetwork::new());
    let cluster = cluster(&network, &place, free());
    fs::write(ballot_in(&place), "no ballot").unwrap();
    let told = capture::told(|| drop(block_on(assemble(cluster, &Span::none())).unwrap()));
    assert_eq!(told, ["ballot"]);
}

/// A probe can tell that nobody polls it.
#[test]
fn a_node_that_has_missed_its_next_step_is_overdue() {
    let mut around = Around::told_the_time();
    around.takes(Some(at(2_000)));
    around.network.set_now(at(5_000));
    assert_eq!(around.member.handle().overdue(), Duration::from_secs(3));
    around.takes(Some(at(9_000)));
    assert_eq!(around.member.handle().overdue(), Duration::ZERO);
}

/// Of what has become of it, or of the maintenance of the cluster, nobody hears otherwise.
#[test]
fn whoever_waits_for_an_order_is_woken_by_news() {
    let mut around = Around::told_the_time();
    let mut locked = Locked::new(around.host.state.clone(), None);
    for records in [false, true] {
        locked.records = records;
        let recorded = around.host.state.recorded.listen();
        around.host.publish(&locked, None);
        assert_eq!(block_on(poll_once(recorded)).is_some(), records);
    }
}

/// An alert is about this node, and says nothing about who leads.
#[test]
fn a_node_has_reached_the_others_once_it_knows_who_leads() {
    let mut around = Around::told_the_time();
    let locked = Locked::new(around.host.state.clone(), None);
    let reached = |around: &Around| around.member.handle().status().reached;
    around.host.publish(&locked, None);
    around.host.publish(&locked, Some(Change::Alert(Alert::FailoverResumed)));
    assert!(!reached(&around));
    around.host.publish(&locked, Some(Change::Vacant));
    assert!(reached(&around));
}

/// Whoever is woken by a change looks at once, in the very call that wakes it.
#[test]
fn a_change_is_published_while_nothing_is_locked() {
    struct Asks(Member<FakeNetwork>, AtomicUsize);
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            self.1.store(self.0.peers().len(), SeqCst);
        }
    }
    let mut around = Around::told_the_time();
    let locked = Locked::new(around.host.state.clone(), None);
    let asks = Arc::new(Asks(around.member.clone(), AtomicUsize::new(0)));
    let waker = Waker::from(asks.clone());
    let mut watch = around.member.handle().watch();
    watch.get();
    let mut changed = pin!(watch.changed());
    assert!(changed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    around.host.publish(&locked, Some(Change::Vacant));
    assert_eq!(asks.1.load(SeqCst), 2);
}

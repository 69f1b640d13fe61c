//! A whole node in virtual time: the test moves the clock, is its peers, and makes its disk hang.

use super::*;
use crate::{Cluster, Member, PauseError, Runtime, quorum::ballot::BallotFile};
use election_core::{
    Epoch, Incarnation, NodeId,
    quorum::{
        Ballot, Hindrance, Maintenance, Members, Message, Position, Stamp,
        wire::{Dialect, Encoder, Frame},
    },
};
use futures_lite::{
    future::{block_on, poll_once},
    io::{AsyncRead, AsyncWrite},
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, OpenOptions},
    io,
    net::{SocketAddr, TcpListener},
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
};
use uuid::Uuid;

/// Three members' clock, network and peers.
#[derive(Clone)]
struct Town(Arc<Mutex<State>>, Arc<TcpListener>);

#[derive(Default)]
struct State {
    now: Timestamp,
    /// Who sleeps, and until when.
    asleep: BTreeMap<u64, Timestamp>,
    slept: u64,
    /// What the node has connected to.
    lines: Vec<Arc<Mutex<Fate>>>,
    /// Who connects to the node, and what they have said.
    callers: VecDeque<Arc<Mutex<Fate>>>,
}

/// A connection, as the test holds it.
#[derive(Default)]
struct Fate {
    takes_nothing: bool,
    taken: Vec<u8>,
    closed: bool,
    says: VecDeque<u8>,
}

struct Line(Arc<Mutex<Fate>>, Arc<TcpListener>);

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let says = &mut self.0.lock().unwrap().says;
        let count = says.len().min(buffer.len());
        buffer.iter_mut().zip(says.drain(..count)).for_each(|(to, from)| *to = from);
        if count == 0 { Poll::Pending } else { Poll::Ready(Ok(count)) }
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut fate = self.0.lock().unwrap();
        if fate.takes_nothing {
            return Poll::Pending;
        }
        fate.taken.extend(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.lock().unwrap().closed = true;
        Poll::Ready(Ok(()))
    }
}

/// Sleeps until the test has moved the clock so far.
struct Sleep(Town, u64, Timestamp);

impl Future for Sleep {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0.now() >= self.2 { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.0.state().asleep.remove(&self.1);
    }
}

impl Runtime for Town {
    type Sleep = Sleep;

    fn now(&self) -> Timestamp {
        self.state().now
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let mut state = self.state();
        let (until, number) = (state.now + duration, state.slept);
        state.slept += 1;
        state.asleep.insert(number, until);
        Sleep(self.clone(), number, until)
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, _: F) {
        unreachable!("the test polls the node itself");
    }
}

impl Network for Town {
    type Stream = Line;
    type Listener = ();

    fn listener(&self, _: TcpListener) -> io::Result<()> {
        Ok(())
    }

    fn poll_accept(
        &self,
        (): &mut (),
        _: &mut Context<'_>,
    ) -> Poll<io::Result<(Line, SocketAddr)>> {
        let Some(fate) = self.state().callers.pop_front() else { return Poll::Pending };
        Poll::Ready(Ok((Line(fate, self.1.clone()), SocketAddr::from(([127, 0, 0, 1], 9)))))
    }

    async fn connect(&self, _: SocketAddr) -> io::Result<Line> {
        let fate = Arc::<Mutex<Fate>>::default();
        self.state().lines.push(fate.clone());
        Ok(Line(fate, self.1.clone()))
    }

    fn descriptor(line: &Line) -> BorrowedFd<'_> {
        line.1.as_fd()
    }
}

impl Town {
    fn state(&self) -> MutexGuard<'_, State> {
        // A test that fails lets its sleepers go all the same.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const DOWN_AFTER: Duration = Duration::from_secs(5);

/// A node, and the place of its ballot.
struct Desk {
    town: Town,
    place: tempfile::TempDir,
    member: Member<Town>,
    node: Option<Node>,
}

fn at(millis: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_millis(millis)
}

fn life(number: u128) -> Incarnation {
    Incarnation::new(Uuid::from_u128(number))
}

fn id(of: &str) -> NodeId {
    NodeId::new(of).unwrap()
}

impl Desk {
    /// The first of three members, which has run before.
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let town = Town(Arc::default(), Arc::new(socket));
        let members = [("n1", "127.0.0.1:1"), ("n2", "127.0.0.1:2"), ("n3", "127.0.0.1:3")];
        let builder = Cluster::builder_on(town.clone(), "x").node("n1").ballot(ballot_in(&place));
        let builder = members.iter().fold(builder, |it, (id, address)| it.member(*id, *address));
        let builder = builder.listen(listen.to_string()).without_data().down_after(DOWN_AFTER);
        let cluster = builder.build().unwrap();
        let earlier = Ballot {
            promised: Epoch::new(4),
            voted_for: None,
            incarnation: life(1),
            members: cluster.config().members().fingerprint(),
            floor: Position::default(),
            maintenance: Maintenance::default(),
            pause: None,
        };
        BallotFile::open(&ballot_in(&place), id("n1")).unwrap().save(&earlier).unwrap();
        let (member, node) = block_on(cluster.open()).unwrap();
        Self { town, place, member, node: Some(node) }
    }

    /// Lets the node do what it can do now. Returns whether it has ended.
    fn poll(&mut self) -> bool {
        block_on(poll_once(self.node.as_mut().unwrap())).is_some()
    }

    /// Moves the clock to the next instant at which anybody wakes up.
    fn pass(&mut self) -> Timestamp {
        let mut state = self.town.state();
        let later = state.asleep.values().filter(|until| **until > state.now);
        state.now = *later.min().expect("somebody sleeps");
        state.now
    }
}

fn ballot_in(place: &tempfile::TempDir) -> PathBuf {
    place.path().join("ballot")
}

/// Makes a disk hang that is to hold the ballot: whoever opens a pipe waits for a reader.
fn hang(ballot: &Path) -> PathBuf {
    let pipe = ballot.with_file_name("ballot.new");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    pipe
}

fn frame(of: &str, message: &Message) -> VecDeque<u8> {
    let members = Members::new(["n1", "n2", "n3"].map(id).to_vec(), &id(of)).unwrap();
    let mut frame = Frame::default();
    Encoder::new(members).unwrap().encode(message, Dialect::Extended, &mut frame).to_vec().into()
}

impl Desk {
    /// Another member connects and says this.
    fn hears(&mut self, of: &str, message: &Message) -> Arc<Mutex<Fate>> {
        let caller = Arc::new(Mutex::new(Fate { says: frame(of, message), ..Fate::default() }));
        self.town.state().callers.push_back(caller.clone());
        self.poll();
        caller
    }

    fn stamp(&self) -> Option<Stamp> {
        Some(Stamp { incarnation: life(3), at: self.town.now() })
    }

    /// Lets this time come.
    fn settle(&mut self, millis: u64) {
        while self.town.now() < at(millis) {
            self.poll();
            self.pass();
        }
        self.poll();
    }

    /// Lets time pass until the node votes, on a disk that hangs. Returns when it did. The candidate
    /// speaks once more, so that nothing else is due when the disk has hung for long.
    fn votes(&mut self) -> Timestamp {
        self.settle(20_000);
        let (epoch, position, stamp) = (Epoch::new(5), Position::default(), self.stamp());
        let candidate = self.hears("n2", &Message::Offer { epoch, position, stamp });
        let hindrance = self.member.status().hindrance;
        assert_eq!(hindrance, Some(Hindrance::Saves));
        let since = self.town.now();
        let later = since + Duration::from_millis(7);
        self.town.state().now = later;
        let accept = Message::Accept { epoch: Epoch::new(3), stamp: self.stamp() };
        candidate.lock().unwrap().says = frame("n2", &accept);
        self.poll();
        since
    }
}

/// It may be asked to lead in the next moment, so it says so in that very moment.
#[test]
fn a_node_is_unfit_as_soon_as_its_disk_has_hung_for_long_and_fit_once_it_writes() {
    let mut desk = Desk::new();
    let pipe = hang(&ballot_in(&desk.place));
    let since = desk.votes();
    let is_unfit = |desk: &Desk| desk.member.status().hindrance == Some(Hindrance::Unfit);
    while !is_unfit(&desk) {
        assert!(desk.pass() <= since + DOWN_AFTER, "nobody looks at the disk");
        desk.poll();
    }
    assert_eq!(desk.town.now(), since + DOWN_AFTER);
    // The pipe takes the ballot, but cannot be synced, so the save fails; the next one succeeds.
    let reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    fs::remove_file(&pipe).unwrap();
    let (mut node, member) = (desk.node.take().unwrap(), desk.member.clone());
    let fit = poll_fn(|cx| {
        assert!(Pin::new(&mut node).poll(cx).is_pending());
        match member.status().hindrance {
            Some(Hindrance::Unfit) => Poll::Pending,
            _ => Poll::Ready(()),
        }
    });
    block_on(fit);
    drop(reader);
}

/// Whoever says nothing has its place for so long and no longer.
#[test]
fn a_stranger_that_is_silent_is_left_in_the_very_moment() {
    let mut desk = Desk::new();
    desk.settle(7_000);
    let since = desk.town.now() + Duration::from_millis(7);
    desk.town.state().now = since;
    let stranger = Arc::<Mutex<Fate>>::default();
    desk.town.state().callers.push_back(stranger.clone());
    desk.poll();
    while Arc::strong_count(&stranger) > 1 {
        assert!(desk.pass() <= since + DOWN_AFTER, "nobody looks at it");
        desk.poll();
    }
    assert_eq!(desk.town.now(), since + DOWN_AFTER);
}

/// An election may be waiting for the connection.
#[test]
fn a_connection_that_has_failed_is_made_anew_in_the_next_moment() {
    let mut desk = Desk::new();
    desk.poll();
    while desk.town.state().lines.len() < 4 {
        assert!(desk.pass() <= at(5_010), "nobody connects");
        desk.poll();
    }
    assert!(desk.town.now() >= at(5_000), "those before were good for so long");
}

/// The last frame may be the one by which the others elect at once.
#[test]
fn a_node_that_leaves_writes_its_last_frames_and_closes_its_connections() {
    let mut desk = Desk::new();
    desk.settle(7_000);
    for of in ["n2", "n3"] {
        let accept = Message::Accept { epoch: Epoch::new(3), stamp: desk.stamp() };
        desk.hears(of, &accept);
    }
    let lines = desk.town.state().lines.split_off(2);
    assert_eq!(lines.len(), 2, "those on which nobody spoke were made anew");
    lines.iter().for_each(|line| line.lock().unwrap().takes_nothing = true);
    let before: Vec<_> = lines.iter().map(|line| line.lock().unwrap().taken.len()).collect();
    desk.settle(8_000); // a heartbeat waits
    desk.member.handle().withdraw();
    assert!(!desk.poll());
    lines.iter().for_each(|line| line.lock().unwrap().takes_nothing = false);
    block_on(desk.node.take().unwrap());
    for (line, before) in lines.iter().zip(before) {
        let line = line.lock().unwrap();
        assert!(line.closed && line.taken.len() > before);
    }
    let next = BallotFile::open(&ballot_in(&desk.place), id("n1"));
    assert!(next.is_ok(), "its ballot is free");
}

/// A disk that hangs keeps the ballot, but nobody from leaving.
#[test]
fn a_node_that_leaves_waits_for_its_disk_for_a_bounded_time() {
    let mut desk = Desk::new();
    let pipe = hang(&ballot_in(&desk.place));
    desk.votes();
    desk.member.handle().withdraw();
    let since = desk.town.now();
    assert!(!desk.poll());
    while !desk.poll() {
        desk.pass();
        assert!(desk.town.now() <= since + LEAVING);
    }
    assert_eq!(desk.town.now(), since + LEAVING);
    drop(OpenOptions::new().read(true).write(true).open(&pipe).unwrap());
}

/// Nobody takes the order any more, and whoever waits for that has to hear it.
#[test]
fn who_waits_for_a_pause_is_told_that_the_node_has_ended() {
    let mut desk = Desk::new();
    let member = desk.member.clone();
    let mut paused = pin!(member.pause(None));
    assert!(block_on(poll_once(paused.as_mut())).is_none());
    desk.node = None;
    assert_eq!(block_on(poll_once(paused)), Some(Err(PauseError::Stopped)));
    assert_eq!(block_on(poll_once(member.pause(None))), Some(Err(PauseError::Stopped)));
}

#[test]
fn what_is_for_one_peer_goes_to_no_other() {
    let (one, other) = (Peer::new(1), Peer::new(2));
    assert!(is_for(Audience::All, one) && is_for(Audience::All, other));
    assert!(is_for(Audience::One(one), one) && !is_for(Audience::One(one), other));
}

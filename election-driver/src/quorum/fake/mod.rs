//! A network in memory and in virtual time, for tests.
//!
//! The test moves the clock. It is at the other end of a node's connections as a [`Remote`], or
//! several nodes share the network and connect to each other. What is spawned runs when the test
//! says so.

mod clock;
mod frames;
#[cfg(feature = "tls")]
mod secured;
mod stream;

pub(super) use clock::at;
pub(super) use frames::{DOWN_AFTER, accept, frame, greeting, id, life, members, outbox, spoken};
#[cfg(feature = "tls")]
pub(super) use secured::{Secured, meanwhile};
#[cfg(feature = "tls")]
pub(super) use stream::pair;
pub(super) use stream::{Remote, Stream, held};

use crate::{Network, Runtime};
use clock::{Clock, Sleep};
use election_core::Timestamp;
use std::{
    collections::{BTreeMap, VecDeque},
    fs::File,
    future::{Future, poll_fn},
    io,
    net::{SocketAddr, TcpListener},
    os::fd::{BorrowedFd, OwnedFd},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};
use stream::{Line, held_on, pair_on};

/// Cheap to clone: all clones are one network.
#[derive(Clone)]
pub(super) struct FakeNetwork {
    state: Arc<Mutex<State>>,
    clock: Arc<Clock>,
    /// What options are set on, of all connections.
    socket: Arc<OwnedFd>,
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Default)]
struct State {
    /// Connections to each listener that have not been accepted, and who waits for one.
    arriving: BTreeMap<SocketAddr, Arriving>,
    /// What becomes of the next attempts to connect to where nobody listens.
    outcomes: VecDeque<Attempt>,
    /// What becomes of all further ones.
    further: Further,
    /// Where connections were attempted.
    dialed: Vec<SocketAddr>,
    /// The other ends of the further connections.
    remotes: Vec<Remote>,
    /// The connections between nodes, and who listens where they lead.
    lines: Vec<(SocketAddr, Line)>,
    tasks: Vec<Task>,
}

#[derive(Default)]
struct Arriving {
    connections: VecDeque<io::Result<Stream>>,
    waker: Option<Waker>,
}

/// What becomes of an attempt to connect.
enum Attempt {
    Accepted(Stream),
    Refused,
    /// No answer comes.
    Hangs,
}

#[derive(Clone, Copy, Default)]
enum Further {
    #[default]
    Refused,
    Accepted,
}

/// From where whoever calls does so.
pub(super) const ELSEWHERE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9);

impl FakeNetwork {
    /// A network in which every attempt to connect is refused.
    pub(super) fn new() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a socket");
        Self { state: Arc::default(), clock: Arc::default(), socket: Arc::new(socket.into()) }
    }

    /// From now on every attempt to connect to where nobody listens is accepted by the test.
    pub(super) fn accept_all(&self) {
        self.state().further = Further::Accepted;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that fails lets its nodes go all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What options are set on, of all connections.
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    pub(super) fn set_now(&self, now: Timestamp) {
        self.clock.set_now(now);
    }

    /// It is `then` as soon as somebody has read the clock once more.
    pub(super) fn goes_on_between_readings(&self, then: Timestamp) {
        self.clock.goes_on(then);
    }

    /// Whoever reads the clock twice reads something else.
    pub(super) fn goes_on_with_each_reading(&self, reading: Duration) {
        self.clock.reading_takes(reading);
    }

    /// Moves the clock to the next instant at which anybody wakes up.
    pub(super) fn pass(&self) -> Timestamp {
        let next = self.clock.next().expect("somebody sleeps");
        self.clock.set_now(next);
        next
    }

    pub(super) fn nobody_sleeps(&self) -> bool {
        self.clock.next().is_none()
    }

    /// The next attempt to connect succeeds.
    pub(super) fn accepts(&self) -> Remote {
        let (near, remote) = held_on(&self.socket);
        self.state().outcomes.push_back(Attempt::Accepted(near));
        remote
    }

    /// The next attempt to connect is refused.
    pub(super) fn refuses(&self) {
        self.state().outcomes.push_back(Attempt::Refused);
    }

    /// The next attempt to connect is not answered.
    pub(super) fn hangs(&self) {
        self.state().outcomes.push_back(Attempt::Hangs);
    }

    /// Where connections were attempted so far.
    pub(super) fn dialed(&self) -> Vec<SocketAddr> {
        self.state().dialed.clone()
    }

    /// The other ends of the connections that were accepted because all are, in their order.
    pub(super) fn take_remotes(&self) -> Vec<Remote> {
        std::mem::take(&mut self.state().remotes)
    }

    /// Somebody connects to who listens there, and says this.
    pub(super) fn calls(&self, to: SocketAddr, bytes: &[u8]) -> Remote {
        let (near, remote) = held_on(&self.socket);
        remote.says(bytes);
        self.arrives(to, Ok(near));
        remote
    }

    /// Somebody has connected to who listens there, and is gone before the connection is accepted.
    pub(super) fn calls_and_goes(&self, to: SocketAddr) -> Remote {
        let gone = File::open("/dev/null").expect("what is no socket");
        let (near, remote) = held_on(&Arc::new(gone.into()));
        self.arrives(to, Ok(near));
        remote
    }

    /// The system has no connection for who listens there.
    pub(super) fn fails_to_accept(&self, to: SocketAddr, kind: io::ErrorKind) {
        self.arrives(to, Err(kind.into()));
    }

    fn arrives(&self, to: SocketAddr, connection: io::Result<Stream>) {
        let waker = {
            let mut state = self.state();
            let arriving = state.arriving.entry(to).or_default();
            arriving.connections.push_back(connection);
            arriving.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The connections of other nodes to the one that listens there end.
    pub(super) fn cuts(&self, to: SocketAddr) {
        let lines = std::mem::take(&mut self.state().lines);
        let (cut, kept) = lines.into_iter().partition::<Vec<_>, _>(|(address, _)| *address == to);
        cut.iter().for_each(|(_, line)| line.cut());
        self.state().lines.extend(kept);
    }

    /// How many connections have not been accepted yet.
    pub(super) fn waiting(&self, at: SocketAddr) -> usize {
        self.state().arriving.get(&at).map_or(0, |arriving| arriving.connections.len())
    }

    /// Lets what was spawned do what it can do now: only handshakes are.
    #[cfg(feature = "tls")]
    pub(super) fn run(&self) {
        let tasks = std::mem::take(&mut self.state().tasks);
        let mut cx = Context::from_waker(Waker::noop());
        let unfinished = tasks.into_iter().filter_map(|mut task| {
            let is_pending = task.as_mut().poll(&mut cx).is_pending();
            is_pending.then_some(task)
        });
        let unfinished: Vec<_> = unfinished.collect();
        self.state().tasks.extend(unfinished);
    }
}

impl Runtime for FakeNetwork {
    type Sleep = Sleep;

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(self.clock.clone(), duration)
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
        self.state().tasks.push(Box::pin(future));
    }
}

impl Network for FakeNetwork {
    type Stream = Stream;
    type Listener = SocketAddr;

    fn listener(&self, socket: TcpListener) -> io::Result<SocketAddr> {
        let flags = rustix::fs::fcntl_getfl(&socket)?;
        assert!(flags.contains(rustix::fs::OFlags::NONBLOCK), "a runtime would wait in `accept`");
        let address = socket.local_addr()?;
        self.state().arriving.entry(address).or_default();
        Ok(address)
    }

    fn poll_accept(
        &self,
        listener: &mut SocketAddr,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(Stream, SocketAddr)>> {
        let mut state = self.state();
        let arriving = state.arriving.entry(*listener).or_default();
        let Some(next) = arriving.connections.pop_front() else {
            arriving.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        Poll::Ready(next.map(|stream| (stream, ELSEWHERE)))
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Stream> {
        let attempt = {
            let mut state = self.state();
            state.dialed.push(address);
            if state.arriving.contains_key(&address) {
                let (near, far) = pair_on(&self.socket);
                state.lines.push((address, Line::of(&near)));
                drop(state);
                self.arrives(address, Ok(far));
                return Ok(near);
            }
            match (state.outcomes.pop_front(), state.further) {
                (Some(attempt), _) => attempt,
                (None, Further::Refused) => Attempt::Refused,
                (None, Further::Accepted) => {
                    let (near, remote) = held_on(&self.socket);
                    state.remotes.push(remote);
                    Attempt::Accepted(near)
                }
            }
        };
        match attempt {
            Attempt::Accepted(stream) => Ok(stream),
            Attempt::Refused => Err(io::ErrorKind::ConnectionRefused.into()),
            Attempt::Hangs => poll_fn(|_| Poll::Pending).await,
        }
    }

    fn descriptor(stream: &Stream) -> Option<BorrowedFd<'_>> {
        Some(stream.descriptor())
    }
}

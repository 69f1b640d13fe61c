//! A link to a server that misbehaves as networks do: it delays, stalls one way or both, loses
//! data, breaks, and replays what was said before.
//!
//! Threads carry the bytes, so no runtime whose election is under test can hold them up.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// What a link does with data that is sent into one of its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkState {
    /// Forwards it at once.
    #[default]
    Open,
    /// Forwards every piece after this time.
    Slow(Duration),
    /// Keeps it until the way is open again; nobody is told.
    Stalled,
    /// Throws it away; nobody is told. What comes after the loss makes no sense any more, so the
    /// connection breaks when the way is open again.
    Lost,
    /// Forwards pieces of up to this many bytes. A larger one never arrives, as where a network
    /// loses large packets and says nothing, and what is sent after it waits for it.
    Narrow(usize),
}

/// How much of a client's data is kept for a replay.
const MEMORY: usize = 256 * 1024;
/// How long a replay waits for the server's answer to each piece.
const ANSWER: Duration = Duration::from_millis(100);

/// A link to a port of this machine. Everything that goes through it ends when it is dropped.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: AtomicU16,
    refuses: AtomicBool,
    closed: AtomicBool,
    ways: Mutex<[LinkState; 2]>,
    changed: Condvar,
    connections: Mutex<Vec<Arc<Connection>>>,
    /// How many connections there have been.
    made: AtomicUsize,
    /// Whether servers are not told that their clients have gone.
    keeps: AtomicBool,
    /// How many bytes are carried of a client that has said all this, before it is forgotten.
    forgets: Mutex<Option<Cut>>,
    /// Whether answers to a client that has said all this are lost.
    deafens: Mutex<Option<Chosen>>,
    /// How many bytes a new connection carries each way, by its number.
    limits: Mutex<Option<Limits>>,
}

type Chosen = Box<dyn Fn(&[u8]) -> bool + Send>;
type Cut = Box<dyn Fn(&[u8]) -> Option<usize> + Send>;
type Limits = Box<dyn Fn(usize) -> [usize; 2] + Send>;

struct Connection {
    client: TcpStream,
    server: TcpStream,
    /// What the client has sent so far, piece by piece, unless that is too much.
    said: Mutex<Option<Vec<Vec<u8>>>>,
    /// It carries nothing any more, and neither end is told.
    forgotten: AtomicBool,
    /// Nor does either end hear that the other has gone.
    untold: AtomicBool,
    /// It carries nothing to the client any more.
    deaf: AtomicBool,
    /// How many bytes it carries each way.
    limits: [usize; 2],
}

impl Connection {
    fn has_said(&self, chosen: impl Fn(&[u8]) -> bool) -> bool {
        lock(&self.said).as_ref().is_some_and(|said| chosen(&said.concat()))
    }

    fn close(&self) {
        self.close_client();
        let _ = self.server.shutdown(Shutdown::Both); // it may be closed already
    }

    fn close_client(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
    }
}

/// The two directions.
const UP: usize = 0;
const DOWN: usize = 1;

impl Proxy {
    /// A link to a port on this machine.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let own = listener.local_addr().expect("its address").port();
        let shared = Arc::new(Shared {
            server: AtomicU16::new(port),
            refuses: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            ways: Mutex::default(),
            changed: Condvar::new(),
            connections: Mutex::default(),
            made: AtomicUsize::new(0),
            keeps: AtomicBool::new(false),
            forgets: Mutex::default(),
            deafens: Mutex::default(),
            limits: Mutex::default(),
        });
        let this = Self { port: own, shared: shared.clone() };
        thread::spawn(move || shared.listen(&listener));
        this
    }

    /// The port at which the server can be reached through this link.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Leads all new connections to another port.
    pub fn lead_to(&self, port: u16) {
        self.shared.server.store(port, Ordering::Relaxed);
    }

    /// Stops forwarding, or goes on: data sent meanwhile then arrives late.
    pub fn set_whole(&self, whole: bool) {
        let way = if whole { LinkState::Open } else { LinkState::Stalled };
        self.set(way, way);
    }

    /// Sets what happens from now on to what clients send, and to what the server sends.
    pub fn set(&self, up: LinkState, down: LinkState) {
        let mut ways = lock(&self.shared.ways);
        let lossy = *ways != [up, down] && ways.contains(&LinkState::Lost);
        *ways = [up, down];
        drop(ways);
        if lossy {
            self.cut();
        }
        self.shared.changed.notify_all();
    }

    /// How many connections lead through this link.
    #[must_use]
    pub fn connections(&self) -> usize {
        lock(&self.shared.connections).len()
    }

    /// How many connections have been made over this link so far.
    #[must_use]
    pub fn made(&self) -> usize {
        self.shared.made.load(Ordering::Relaxed)
    }

    /// From now on a server is not told that its client has gone, or again, as behind a proxy that
    /// keeps its own connections open.
    pub fn set_keeping(&self, keeps: bool) {
        self.shared.keeps.store(keeps, Ordering::Relaxed);
    }

    /// Carries nothing more on the connections whose clients have sent what is chosen by all of its
    /// bytes, as a router does that has forgotten them. Neither end is told. Returns how many those
    /// are.
    pub fn forget(&self, chosen: impl Fn(&[u8]) -> bool) -> usize {
        let open = lock(&self.shared.connections);
        let forgotten = open.iter().filter(|each| each.has_said(&chosen));
        forgotten.map(|each| each.forgotten.store(true, Ordering::Relaxed)).count()
    }

    /// Carries nothing more on any connection that there is now, but goes on taking what is sent. An
    /// end that closes or goes is not told of to the other. Returns how many those are.
    pub fn abandon(&self) -> usize {
        let open = lock(&self.shared.connections);
        for each in &*open {
            each.untold.store(true, Ordering::Relaxed);
            each.forgotten.store(true, Ordering::Relaxed);
        }
        open.len()
    }

    /// From now on [forgets](Self::forget) every connection, old or new, once its client has sent
    /// what is chosen by all of its bytes. What completes the choice is not carried any more.
    pub fn forget_whenever(&self, chosen: impl Fn(&[u8]) -> bool + Send + 'static) {
        self.forget_after(move |said| chosen(said).then_some(0));
    }

    /// The same for a link that stops anywhere: as soon as the bytes of a client show where, they
    /// are carried that far, and not any further.
    pub fn forget_after(&self, cut: impl Fn(&[u8]) -> Option<usize> + Send + 'static) {
        *lock(&self.shared.forgets) = Some(Box::new(cut));
    }

    /// From now on each new connection carries only so many bytes to the server, and back, as its
    /// number says (the first over this link is 1). Neither end is told.
    pub fn limit(&self, limits: impl Fn(usize) -> [usize; 2] + Send + 'static) {
        *lock(&self.shared.limits) = Some(Box::new(limits));
    }

    /// From now on loses all answers to a client that has said what is chosen by all of its bytes.
    pub fn deafen_whenever(&self, chosen: impl Fn(&[u8]) -> bool + Send + 'static) {
        *lock(&self.shared.deafens) = Some(Box::new(chosen));
    }

    /// Stops all that.
    pub fn remember(&self) {
        *lock(&self.shared.limits) = None;
        *lock(&self.shared.forgets) = None;
        *lock(&self.shared.deafens) = None;
    }

    /// Breaks every connection, as a router does that has restarted. A link that
    /// [keeps](Self::set_keeping) the servers' ends breaks the clients' only.
    pub fn cut(&self) {
        if self.shared.keeps.load(Ordering::Relaxed) {
            return lock(&self.shared.connections).iter().for_each(|each| each.close_client());
        }
        lock(&self.shared.connections).drain(..).for_each(|each| each.close());
    }

    /// Ends for their clients the open connections on which this was said.
    pub fn cut_those(&self, chosen: impl Fn(&[u8]) -> bool) {
        let connections = lock(&self.shared.connections);
        let too_much = |each: &&Connection| lock(&each.said).is_none();
        let said = connections.iter().map(|each| &**each);
        said.filter(|each| too_much(each) || each.has_said(&chosen))
            .for_each(Connection::close_client);
    }

    /// Breaks every connection that is made from now on, or no longer.
    pub fn set_refusing(&self, refuses: bool) {
        self.shared.refuses.store(refuses, Ordering::Relaxed);
    }

    /// Sends to the server once more, on separate connections, all that the clients of open
    /// connections have sent to it; nobody reads the answers. Each statement is executed twice, the
    /// second time late. Replays only connections that `chosen` accepts by all of their bytes, and
    /// returns how many.
    pub fn repeat(&self, chosen: impl Fn(&[u8]) -> bool) -> usize {
        let open: Vec<_> = lock(&self.shared.connections).clone();
        let said = open.iter().filter_map(|each| lock(&each.said).clone());
        let said = said.filter(|said| chosen(&said.concat()));
        let port = self.shared.server.load(Ordering::Relaxed);
        said.filter(|said| repeat(port, said).is_ok()).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.set_keeping(false);
        let _ = TcpStream::connect(("127.0.0.1", self.port)); // wakes the listener
        self.cut();
        drop(lock(&self.shared.ways)); // a carrier that has not seen it yet waits by now
        self.shared.changed.notify_all();
    }
}

fn repeat(port: u16, said: &[Vec<u8>]) -> std::io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", port))?;
    server.set_read_timeout(Some(ANSWER))?;
    let mut answer = [0; 4096];
    for piece in said {
        server.write_all(piece)?;
        let _ = server.read(&mut answer); // if none comes in time, the next piece may bring one
    }
    Ok(())
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        while let Ok((client, _)) = listener.accept() {
            if self.closed.load(Ordering::Relaxed) {
                return;
            }
            let port = self.server.load(Ordering::Relaxed);
            let refused = self.refuses.load(Ordering::Relaxed);
            let server = (!refused).then(|| TcpStream::connect(("127.0.0.1", port)));
            if let Some(Ok(server)) = server {
                self.join(client, server);
            }
        }
    }

    fn join(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        for end in [&client, &server] {
            let _ = end.set_nodelay(true); // slower without it, not wrong
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let limits = lock(&self.limits).as_ref().map(|limits| limits(number));
        let connection = Arc::new(Connection {
            client,
            server,
            said: Mutex::new(Some(vec![])),
            forgotten: AtomicBool::new(false),
            untold: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            limits: limits.unwrap_or([usize::MAX; 2]),
        });
        lock(&self.connections).push(connection.clone());
        for way in [UP, DOWN] {
            let (shared, connection) = (self.clone(), connection.clone());
            thread::spawn(move || {
                shared.carry(&connection, way);
                if connection.untold.load(Ordering::Relaxed) {
                    return; // it stays open as long as this link does
                }
                let forgotten = connection.forgotten.load(Ordering::Relaxed);
                let kept = forgotten || shared.keeps.load(Ordering::Relaxed);
                if kept && way == UP && !shared.closed.load(Ordering::Relaxed) {
                    return; // the server is not told that the client has gone
                }
                connection.close();
                lock(&shared.connections).retain(|each| !Arc::ptr_eq(each, &connection));
            });
        }
    }

    /// Until either end closes.
    fn carry(&self, connection: &Connection, way: usize) {
        let ends = [&connection.client, &connection.server];
        let (mut from, mut to) = (ends[way], ends[1 - way]);
        let mut buffer = [0; 4096];
        let (mut stuck, mut carried) = (false, 0);
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let piece = &buffer[..read];
            let mut room = connection.limits[way].saturating_sub(carried);
            if way == UP {
                remember(&connection.said, piece);
                if let Some(cut) = self.forgets_after(connection) {
                    room = room.min(cut.saturating_sub(carried));
                }
                if lock(&self.deafens).as_ref().is_some_and(|chosen| connection.has_said(chosen)) {
                    connection.deaf.store(true, Ordering::Relaxed);
                }
            }
            carried += read;
            let deaf = way == DOWN && connection.deaf.load(Ordering::Relaxed);
            let state = self.way(way);
            stuck |= matches!(state, LinkState::Narrow(most) if read > most);
            // The rest of a piece that is cut is the last of its connection.
            let cut = (1..read).contains(&room);
            let piece = &piece[..read.min(room)];
            match state {
                _ if deaf || stuck || room == 0 => continue,
                _ if connection.forgotten.load(Ordering::Relaxed) && !cut => continue,
                LinkState::Lost => continue,
                LinkState::Slow(time) => thread::sleep(time),
                LinkState::Open | LinkState::Stalled | LinkState::Narrow(_) => {}
            }
            let gone = to.write_all(piece).is_err();
            if gone && !(way == DOWN && self.keeps.load(Ordering::Relaxed)) {
                return;
            }
        }
    }

    /// How many bytes are carried of a client that is forgotten from now on.
    fn forgets_after(&self, connection: &Connection) -> Option<usize> {
        let forgets = lock(&self.forgets);
        let said = lock(&connection.said).as_ref()?.concat();
        let cut = forgets.as_ref()?(&said)?;
        connection.forgotten.store(true, Ordering::Relaxed);
        Some(cut)
    }

    /// What this direction does now, as soon as it does anything.
    fn way(&self, way: usize) -> LinkState {
        let stalled = |ways: &mut [LinkState; 2]| {
            ways[way] == LinkState::Stalled && !self.closed.load(Ordering::Relaxed)
        };
        let ways = self.changed.wait_while(lock(&self.ways), stalled);
        ways.unwrap_or_else(PoisonError::into_inner)[way]
    }
}

fn remember(said: &Mutex<Option<Vec<Vec<u8>>>>, piece: &[u8]) {
    let mut said = lock(said);
    let length = said.iter().flatten().map(Vec::len).sum::<usize>() + piece.len();
    match said.as_mut().filter(|_| length <= MEMORY) {
        Some(pieces) => pieces.push(piece.to_vec()),
        None => *said = None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

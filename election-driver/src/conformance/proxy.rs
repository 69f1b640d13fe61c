//! A link to a server that misbehaves as networks do: it delays, stalls one way or both, loses
//! data, breaks, and replays what was said before.
//!
//! Threads carry the bytes, so no runtime whose election is under test can hold them up.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU16, Ordering},
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
    /// Whether a connection whose client has said all this is forgotten.
    forgets: Mutex<Option<Chosen>>,
}

type Chosen = Box<dyn Fn(&[u8]) -> bool + Send>;

struct Connection {
    client: TcpStream,
    server: TcpStream,
    /// What the client has sent so far, piece by piece, unless that is too much.
    said: Mutex<Option<Vec<Vec<u8>>>>,
    /// It carries nothing any more, and neither end is told.
    forgotten: AtomicBool,
}

impl Connection {
    fn has_said(&self, chosen: impl Fn(&[u8]) -> bool) -> bool {
        lock(&self.said).as_ref().is_some_and(|said| chosen(&said.concat()))
    }
}

impl Connection {
    fn close(&self) {
        for end in [&self.client, &self.server] {
            let _ = end.shutdown(Shutdown::Both); // it may be closed already
        }
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
            forgets: Mutex::default(),
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

    /// Carries nothing more on the connections whose clients have sent what is chosen by all of its
    /// bytes, as a router does that has forgotten them. Neither end is told. Returns how many those
    /// are.
    pub fn forget(&self, chosen: impl Fn(&[u8]) -> bool) -> usize {
        let open = lock(&self.shared.connections);
        let forgotten = open.iter().filter(|each| each.has_said(&chosen));
        forgotten.map(|each| each.forgotten.store(true, Ordering::Relaxed)).count()
    }

    /// From now on [forgets](Self::forget) every connection, old or new, once its client has sent
    /// what is chosen by all of its bytes. What completes the choice is not carried any more.
    pub fn forget_whenever(&self, chosen: impl Fn(&[u8]) -> bool + Send + 'static) {
        *lock(&self.shared.forgets) = Some(Box::new(chosen));
    }

    /// Stops that.
    pub fn remember(&self) {
        *lock(&self.shared.forgets) = None;
    }

    /// Breaks every connection, as a router does that has restarted.
    pub fn cut(&self) {
        lock(&self.shared.connections).drain(..).for_each(|each| each.close());
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
        let connection = Arc::new(Connection {
            client,
            server,
            said: Mutex::new(Some(vec![])),
            forgotten: AtomicBool::new(false),
        });
        lock(&self.connections).push(connection.clone());
        for way in [UP, DOWN] {
            let (shared, connection) = (self.clone(), connection.clone());
            thread::spawn(move || {
                shared.carry(&connection, way);
                let forgotten = connection.forgotten.load(Ordering::Relaxed);
                if forgotten && way == UP && !shared.closed.load(Ordering::Relaxed) {
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
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let piece = &buffer[..read];
            if way == UP {
                remember(&connection.said, piece);
                if lock(&self.forgets).as_ref().is_some_and(|chosen| connection.has_said(chosen)) {
                    connection.forgotten.store(true, Ordering::Relaxed);
                }
            }
            match self.way(way) {
                _ if connection.forgotten.load(Ordering::Relaxed) => continue,
                LinkState::Lost => continue,
                LinkState::Slow(time) => thread::sleep(time),
                LinkState::Open | LinkState::Stalled => {}
            }
            if to.write_all(piece).is_err() {
                return;
            }
        }
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

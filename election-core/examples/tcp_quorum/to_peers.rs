//! The connections that this node dials. It writes there and reads nothing.

use crate::{from_peers::News, host::now};
use election_core::{
    Input, Timestamp,
    quorum::{
        Config, Event, Message, Peer,
        wire::{Encoder, InvalidId, Outbox},
    },
};
use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

pub(crate) struct Links(BTreeMap<Peer, (Arc<Link>, JoinHandle<()>)>);

impl Links {
    pub(crate) fn dial(
        config: &Config,
        addresses: &[(Peer, SocketAddr)],
    ) -> Result<Self, InvalidId> {
        let (members, down_after) = (config.members(), config.down_after());
        let encoder = Encoder::new(members.clone())?;
        let others = addresses.iter().filter(|(peer, _)| *peer != members.me());
        let links = others.map(|&(peer, address)| {
            let link = Arc::new(Link::new(Outbox::new(encoder.clone(), down_after), down_after));
            // Differs from node to node, so that they do not all knock at once.
            let pause = Duration::from_millis(20 + 3 * u64::from(members.me().place()));
            let dialler = Arc::clone(&link);
            (peer, (link, thread::spawn(move || dialler.keep(address, pause))))
        });
        Ok(Self(links.collect()))
    }

    pub(crate) fn send(&self, peer: Peer, message: &Message) {
        self.with(peer, |line| line.outbox.push(message, now()));
    }

    pub(crate) fn send_to_all(&self, message: &Message) {
        self.0.keys().for_each(|peer| self.send(*peer, message));
    }

    /// What the node has to know of it. The outbox learns it first: the node may answer.
    pub(crate) fn take_in(&self, news: News) -> Option<Input<Event>> {
        match news {
            News::Input(input) => Some(input),
            News::Heard { from, connection, dialect, message } => {
                self.with(from, |line| {
                    line.outbox.heard(connection, dialect, now());
                    match message {
                        None => line.outbox.greeted(connection, now()),
                        Some(_) => line.heard = now(),
                    }
                });
                let message = message?;
                Some(Input::Event(Event::Received { from, connection, message }))
            }
            News::Ended { from, connection } => {
                self.with(from, |line| line.outbox.ended(connection, now()));
                Some(Input::Event(Event::Disconnected { from, connection }))
            }
        }
    }

    /// Waits until the last heartbeat has left, with which the others need not wait for anything.
    /// A peer without a connection finds out as after a crash.
    pub(crate) fn say_farewell(self) {
        for (link, dialler) in self.0.into_values() {
            link.change(|line| line.closing = true);
            if link.lock().outbox.is_open() {
                let _ = dialler.join();
            }
        }
    }

    fn with(&self, peer: Peer, change: impl FnOnce(&mut Line)) {
        if let Some((link, _)) = self.0.get(&peer) {
            link.change(change);
        }
    }
}

/// What this node has to say to one peer: between the loop, which must never wait for a socket, and
/// the thread that does.
struct Link {
    line: Mutex<Line>,
    changed: Condvar,
    down_after: Duration,
}

struct Line {
    outbox: Outbox,
    /// When the peer last said something that shows that it hears this node, or was dialled.
    heard: Timestamp,
    closing: bool,
}

impl Link {
    fn new(outbox: Outbox, down_after: Duration) -> Self {
        let line = Line { outbox, heard: Timestamp::ZERO, closing: false };
        Self { line: Mutex::new(line), changed: Condvar::new(), down_after }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Line)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }

    /// The thread that dials and writes.
    fn keep(&self, address: SocketAddr, pause: Duration) {
        while !self.lock().closing {
            if let Ok(stream) = TcpStream::connect_timeout(&address, self.down_after) {
                // Why it ended does not matter: it is dialled anew.
                let _ = self.write_to(stream);
                self.change(|line| line.outbox.closed());
            }
            thread::sleep(pause);
        }
    }

    fn write_to(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        // The bytes leave the outbox before the socket takes them: so this replaces `cut_at`.
        stream.set_write_timeout(Some(self.down_after))?;
        self.change(|line| {
            line.outbox.opened(now());
            line.heard = now();
        });
        while let Some(bytes) = self.next_bytes() {
            stream.write_all(&bytes)?;
            // Somewhere between the two the bytes may vanish, and the kernel does not know.
            if now().since(self.lock().heard) > self.down_after {
                return Err(ErrorKind::TimedOut.into());
            }
        }
        stream.shutdown(Shutdown::Write)
    }

    /// Waits for something to write; none once everything has been said.
    fn next_bytes(&self) -> Option<Vec<u8>> {
        let idle = |line: &mut Line| line.outbox.is_empty() && !line.closing;
        let line = self.changed.wait_while(self.lock(), idle);
        let mut line = line.unwrap_or_else(PoisonError::into_inner);
        let bytes = line.outbox.bytes().to_vec();
        line.outbox.written(bytes.len(), now());
        (!bytes.is_empty()).then_some(bytes)
    }
}

//! What a process knows of its connections.

use super::mailbox::Mailbox;
use crate::socket::SocketEvent;
use std::{
    collections::{HashMap, VecDeque},
    io::ErrorKind,
    net::SocketAddr,
    task::Waker,
};

/// How many bytes may be under way on a connection in each direction.
const WINDOW: usize = 4_096;

/// What a process knows of its connections.
#[derive(Default)]
pub(super) struct Sockets {
    pub(super) dialed: u64,
    pub(super) dials: HashMap<u64, Mailbox<Result<u64, ErrorKind>>>,
    pub(super) accepted: Mailbox<(u64, SocketAddr)>,
    pub(super) connections: HashMap<u64, Connection>,
}

pub(super) struct Connection {
    pub(super) bytes: VecDeque<u8>,
    pub(super) ended: Option<Result<(), ErrorKind>>,
    pub(super) room: usize,
    pub(super) reader: Option<Waker>,
    pub(super) writer: Option<Waker>,
}

impl Default for Connection {
    fn default() -> Self {
        let bytes = VecDeque::new();
        Self { bytes, ended: None, room: WINDOW, reader: None, writer: None }
    }
}

impl Connection {
    fn wake(waker: &mut Option<Waker>) -> bool {
        waker.take().map(Waker::wake).is_some()
    }
}

impl Sockets {
    /// Returns whether a task waits for this.
    pub(super) fn receive(&mut self, event: SocketEvent) -> bool {
        match event {
            SocketEvent::Dialed { dial, outcome } => {
                self.dials.get_mut(&dial).is_some_and(|waiting| {
                    outcome.into_iter().for_each(|it| _ = self.connections.entry(it).or_default());
                    waiting.put(outcome)
                })
            }
            SocketEvent::Accepted { connection, from } => {
                self.connections.insert(connection, Connection::default());
                self.accepted.put((connection, from))
            }
            SocketEvent::Came { connection, bytes } => {
                self.connections.get_mut(&connection).is_some_and(|it| {
                    it.bytes.extend(bytes);
                    Connection::wake(&mut it.reader)
                })
            }
            SocketEvent::Ended { connection, how } => {
                self.connections.get_mut(&connection).is_some_and(|it| {
                    it.ended.get_or_insert(how);
                    let reads = Connection::wake(&mut it.reader);
                    Connection::wake(&mut it.writer) || reads
                })
            }
            SocketEvent::Left { connection, count } => {
                self.connections.get_mut(&connection).is_some_and(|it| {
                    it.room += count;
                    Connection::wake(&mut it.writer)
                })
            }
        }
    }
}

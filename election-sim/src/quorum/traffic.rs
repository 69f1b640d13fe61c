//! What becomes of the connections of real drivers, and of the bytes on them.

use super::{
    environment::QuorumEnvironment,
    happening::{Event, Happening},
    sockets::{Connection, Piece, What},
};
use crate::{
    draw::Stream,
    fault::FrameFault,
    service::{address, place},
    simulator::Simulator,
    socket::{SocketDeed, SocketEvent},
    span::nanos,
};
use election_core::quorum::Peer;
use std::io::ErrorKind;

/// One write in this many arrives in two pieces.
const SPLIT_PPM: u32 = 125_000;
/// The draws for the second piece of a write.
const REST: u64 = 1 << 40;
const RESET: Result<(), ErrorKind> = Err(ErrorKind::ConnectionReset);

impl Simulator<QuorumEnvironment> {
    pub(super) fn socket_deed(&mut self, node: usize, deed: SocketDeed) {
        match deed {
            SocketDeed::Listens(does) => self.environment.sockets.listens[node] = does,
            SocketDeed::Dials { dial, to } => {
                let peer = place(to).and_then(|place| u8::try_from(place).ok()).map(Peer::new);
                if let Some(to) = peer.and_then(|peer| self.environment.host(node, peer)) {
                    let way = self.environment.sockets.way(node, to);
                    way.dialed += 1;
                    let (nth, (low, high)) = (way.dialed, self.latency);
                    let place = self.environment.sockets.place(node, to) as u64;
                    let takes = self.draw.between(Stream::Dial, place, nth, (low * 3, high * 3));
                    let life = self.nodes[node].life;
                    let what = Happening::Dialed { from: node, life, to, dial };
                    self.queue.push(self.now.saturating_add(takes), Event::Own(what));
                }
            }
            SocketDeed::Writes { connection, bytes } => {
                self.send_on(connection, node, What::Bytes(bytes));
            }
            SocketDeed::Finishes(connection) => self.finish(connection, node),
            SocketDeed::Drops(connection) => self.let_go(connection, node),
        }
    }

    /// An attempt to connect succeeds, or is refused. Where the way is cut, no answer comes.
    pub(super) fn dialed(&mut self, from: usize, life: u32, to: usize, dial: u64) {
        let open = self.net.cuts.is_open(from, to) && self.net.cuts.is_open(to, from);
        if !open || self.nodes[from].life != life {
            return;
        }
        let outcome = match self.environment.sockets.listens[to] {
            true => Ok(self.environment.sockets.connect((from, true), to)),
            false => Err(ErrorKind::ConnectionRefused),
        };
        let waits = self.tell(from, SocketEvent::Dialed { dial, outcome });
        if let Ok(connection) = outcome {
            let place = self.nodes[from].state.peer.index();
            self.tell(to, SocketEvent::Accepted { connection, from: address(place) });
            if !waits {
                self.let_go(connection, from);
            }
        }
    }

    /// Tells a process what has happened to its sockets. Returns whether a task waits for it.
    fn tell(&mut self, node: usize, event: SocketEvent) -> bool {
        let Some(service) = &mut self.services[node] else { return false };
        let waits = service.receive_socket(event);
        if waits {
            self.run_service(node);
        }
        waits
    }

    fn finish(&mut self, id: u64, node: usize) {
        self.send_on(id, node, What::End(Ok(())));
    }

    /// The process of a node has the connection no more.
    fn let_go(&mut self, id: u64, node: usize) {
        self.finish(id, node);
        let sockets = &mut self.environment.sockets;
        let end = sockets.end_of(id, node);
        if let (Some(end), Some(connection)) = (end, sockets.connections.get_mut(&id)) {
            connection.ends[end].1 = false;
            if connection.ends.iter().all(|(_, has)| !has) {
                sockets.connections.remove(&id);
            }
        }
    }

    /// The process of a node is gone, and with it its sockets.
    pub(super) fn close_sockets(&mut self, node: usize) {
        self.environment.sockets.listens[node] = false;
        let of = |(id, connection): (&u64, &Connection)| {
            connection.ends.contains(&(node, true)).then_some(*id)
        };
        let all: Vec<_> = self.environment.sockets.connections.iter().filter_map(of).collect();
        all.into_iter().for_each(|id| self.let_go(id, node));
    }

    /// The process of a node sends something.
    fn send_on(&mut self, id: u64, node: usize, what: What) {
        let Some(end) = self.environment.sockets.end_of(id, node) else { return };
        self.put_on(id, end, what);
    }

    fn put_on(&mut self, id: u64, end: usize, what: What) {
        let (now, sockets) = (self.now, &mut self.environment.sockets);
        let Some(connection) = sockets.connections.get_mut(&id) else { return };
        let (from, to) = (connection.ends[end].0, connection.ends[1 - end].0);
        let flow = &mut connection.flows[end];
        if flow.finished {
            return;
        }
        flow.finished = matches!(what, What::End(_));
        let way = sockets.way(from, to);
        way.written += 1;
        let piece = Piece { nth: way.written, sent: now, what };
        if self.is_passable(from, to) {
            self.launch_on(id, end, piece);
        } else if let Some(connection) = self.environment.sockets.connections.get_mut(&id) {
            connection.flows[end].held.push_back(piece);
        }
    }

    fn is_passable(&self, from: usize, to: usize) -> bool {
        self.net.cuts.is_open(from, to) && !self.net.cuts.is_clogged(from, to)
    }

    /// Sends a piece on its way, and lets a fault befall it.
    fn launch_on(&mut self, id: u64, end: usize, mut piece: Piece) {
        let Some(connection) = self.environment.sockets.connections.get(&id) else { return };
        let (from, to) = (connection.ends[end].0, connection.ends[1 - end].0);
        let (nth, place) = (piece.nth, self.environment.sockets.place(from, to) as u64);
        let mut at = self.now + self.draw.between(Stream::Travel, place, nth, self.latency);
        let What::Bytes(bytes) = &mut piece.what else { return self.fly(id, end, at, piece) };
        let fault = self.fault_of(from, to, nth);
        let splits = self.draw.chance(Stream::Split, place, nth, SPLIT_PPM);
        let mut rest = Vec::new();
        if splits || fault == Some(FrameFault::Lost) {
            let most = bytes.len() as u64;
            let middle = self.draw.between(Stream::Split, place, nth | REST, (0, most));
            rest = bytes.split_off(usize::try_from(middle).unwrap_or(0));
        }
        if let Some(FrameFault::Late(by)) = fault {
            at = at.saturating_add(nanos(by));
        }
        let behind = Piece { what: What::Bytes(rest), ..piece };
        self.fly(id, end, at, piece);
        // `Twice` breaks the connection behind what was written, `Lost` in the middle of it.
        if splits && fault != Some(FrameFault::Lost) {
            let later = self.draw.between(Stream::Travel, place, nth | REST, self.latency);
            self.fly(id, end, self.now + later, behind);
        }
        if matches!(fault, Some(FrameFault::Lost | FrameFault::Twice)) {
            self.break_on(id);
        }
    }

    fn fly(&mut self, id: u64, end: usize, at: u64, piece: Piece) {
        let Some(connection) = self.environment.sockets.connections.get_mut(&id) else { return };
        let flow = &mut connection.flows[end];
        flow.last = flow.last.max(at);
        flow.under_way.push_back(piece);
        self.queue.push(flow.last, Event::Own(Happening::Flows { connection: id, end }));
    }

    /// A piece arrives.
    pub(super) fn flows(&mut self, id: u64, end: usize) {
        let Some(connection) = self.environment.sockets.connections.get_mut(&id) else { return };
        let Some(Piece { sent, what, .. }) = connection.flows[end].under_way.pop_front() else {
            return;
        };
        let [(from, _), (to, has)] = [connection.ends[end], connection.ends[1 - end]];
        self.environment.sockets.way(from, to).last_sent = sent;
        match what {
            // Nobody is there any more.
            What::Bytes(_) if !has => self.put_on(id, 1 - end, What::End(RESET)),
            What::Bytes(bytes) => {
                let count = bytes.len();
                self.tell(to, SocketEvent::Came { connection: id, bytes });
                if self.environment.sockets.end_of(id, from) == Some(end) {
                    self.tell(from, SocketEvent::Left { connection: id, count });
                }
            }
            What::End(how) if has => _ = self.tell(to, SocketEvent::Ended { connection: id, how }),
            What::End(_) => {}
        }
    }

    /// A connection breaks, behind what is under way on it. What a clogged way has kept is lost.
    fn break_on(&mut self, id: u64) {
        for end in 0..2 {
            if let Some(connection) = self.environment.sockets.connections.get_mut(&id) {
                let flow = &mut connection.flows[end];
                flow.held.clear();
                flow.finished = false;
            }
            self.put_on(id, end, What::End(RESET));
        }
    }

    /// All connections from one node to another break, in both directions.
    pub(super) fn reset(&mut self, from: usize, to: usize) {
        self.between(from, to).into_iter().for_each(|id| self.break_on(id));
    }

    /// The connections that one node has made to another.
    fn between(&self, from: usize, to: usize) -> Vec<u64> {
        let connections = self.environment.sockets.connections.iter();
        let between = |connection: &Connection| connection.ends.map(|(node, _)| node) == [from, to];
        connections.filter(|(_, it)| between(it)).map(|(id, _)| *id).collect()
    }

    /// A clogged way lets one piece pass.
    pub(super) fn let_one_pass(&mut self, from: usize, to: usize) {
        let _ = self.between(from, to).into_iter().any(|id| self.launch_held(id, 0));
    }

    /// Sends the first piece that waits on its way. Returns `false` if none does.
    fn launch_held(&mut self, id: u64, end: usize) -> bool {
        let connection = self.environment.sockets.connections.get_mut(&id);
        let held = connection.and_then(|connection| connection.flows[end].held.pop_front());
        held.map(|piece| self.launch_on(id, end, piece)).is_some()
    }

    /// Whatever waits for a way that is open now goes on.
    pub(super) fn release_sockets(&mut self) {
        let all: Vec<_> = self.environment.sockets.connections.keys().copied().collect();
        for (id, end) in all.into_iter().flat_map(|id| [(id, 0), (id, 1)]) {
            // A fault of one of them loses the rest.
            while let Some(connection) = self.environment.sockets.connections.get(&id) {
                let (from, to) = (connection.ends[end].0, connection.ends[1 - end].0);
                if !self.is_passable(from, to) || !self.launch_held(id, end) {
                    break;
                }
            }
        }
    }

    /// Somebody else connects and says something in the name of a member.
    pub(super) fn intrude_on(&mut self, from: usize, to: usize, said: Vec<u8>) {
        if !self.environment.sockets.listens[to] {
            return;
        }
        let id = self.environment.sockets.connect((from, false), to);
        let place = self.nodes[from].state.peer.index();
        self.tell(to, SocketEvent::Accepted { connection: id, from: address(place) });
        self.put_on(id, 0, What::Bytes(said));
        self.put_on(id, 0, What::End(Ok(())));
    }
}

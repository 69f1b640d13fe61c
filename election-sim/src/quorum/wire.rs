//! Bytes on their way: out of an outbox, into a connection, in pieces, into a decoder.

use super::{
    environment::QuorumEnvironment,
    happening::{Event, Happening},
    links::Piece,
};
use crate::{
    draw::Stream,
    fault::{Fault, FaultKind, FrameFault},
    simulator::Simulator,
    span::nanos,
};
use election_core::quorum::{
    self, Connection, Peer,
    wire::{Dialect, Incoming},
};
use std::time::Duration;

/// One frame in this many arrives in two pieces.
const SPLIT_PPM: u32 = 125_000;
/// The draws for the second piece of a frame.
const REST: u64 = 1 << 40;
/// The longest beginning of a frame in which only the verb has letters.
const VERB: usize = 17;

impl Simulator<QuorumEnvironment> {
    /// The connection takes what it can of what waits.
    pub(super) fn pump(&mut self, from: usize, to: usize) {
        let clogged = self.net.cuts.is_clogged(from, to);
        while let Some(piece) = self.next_piece(from, to, clogged) {
            if clogged {
                self.environment.links.link_mut(from, to).held.push_back(piece);
            } else {
                self.launch(piece);
            }
        }
        if clogged {
            self.watch(from, to);
        }
    }

    /// What the connection takes next. A stalled one takes a few frames, then a part of another.
    fn next_piece(&mut self, from: usize, to: usize, clogged: bool) -> Option<Piece> {
        let link = self.environment.links.link(from, to);
        link.number?;
        let frame = link.outbox.as_ref()?.frames().next()?;
        let mut most = frame.len();
        if clogged {
            let buffer = self.schedule.cluster.as_ref().map_or(0, |cluster| cluster.buffer);
            let held = link.frames_held();
            if held > buffer || buffer == 0 {
                return None;
            }
            if held == buffer {
                let (place, nth) = (self.environment.links.place(from, to) as u64, link.begun + 1);
                let part = self.draw.between(Stream::Split, place, nth, (0, most as u64 - 1));
                most = if link.taken > 0 { 0 } else { usize::try_from(part).unwrap_or(0) };
            }
        }
        self.take(from, to, most)
    }

    /// The connection takes so many bytes of the first frame that waits.
    fn take(&mut self, from: usize, to: usize, most: usize) -> Option<Piece> {
        let (sent, local) = (self.now, self.nodes[from].read(self.now));
        // kevy-elect writes its verbs in upper case, and reads them in any.
        let shouts = [from, to].iter().any(|node| self.nodes[*node].state.is_legacy());
        let links = &mut self.environment.links;
        let mut bytes = links.buffer(&[]);
        let link = links.link_mut(from, to);
        let number = link.number?;
        let outbox = link.outbox.as_mut()?;
        let frame = outbox.frames().next()?;
        bytes.extend_from_slice(&frame[..most.min(frame.len())]);
        if bytes.is_empty() {
            return None;
        }
        let (begins, ends) = (link.taken == 0, bytes.len() == frame.len());
        outbox.written(bytes.len(), local);
        if shouts {
            let verb = VERB.saturating_sub(link.taken).min(bytes.len());
            bytes[..verb].make_ascii_uppercase();
        }
        link.begun += u64::from(begins);
        link.taken = if ends { 0 } else { link.taken + bytes.len() };
        let (nth, is_whole) = (link.begun, begins && ends);
        Some(Piece { from, to, number, sent, nth, is_whole, bytes })
    }

    /// Sends bytes on their way.
    pub(super) fn launch(&mut self, piece: Piece) {
        let Piece { from, to, nth, is_whole, number, .. } = piece;
        let place = self.environment.links.place(from, to) as u64;
        let key = if is_whole { nth } else { nth | REST };
        let travel = self.draw.between(Stream::Travel, place, key, self.latency);
        let fault = if is_whole { self.fault_of(from, to, nth) } else { None };
        let splits = is_whole && self.draw.chance(Stream::Split, place, nth, SPLIT_PPM);
        let Some(line) = self.environment.links.link_mut(from, to).line(number) else {
            return self.environment.links.reuse(piece.bytes);
        };
        let arrival = (self.now + travel).max(line.last);
        line.last = arrival;
        if piece.bytes.is_empty() {
            let at = arrival.max(self.now + self.latency.0);
            return self.queue.push(at, Event::Own(Happening::Ended { from, to, number }));
        }
        match fault {
            Some(fault) => self.befall(fault, arrival, piece),
            None if splits => {
                let later = self.draw.between(Stream::Travel, place, nth | REST, self.latency);
                let last = arrival.max(self.now + later);
                line.last = last;
                let (head, rest) = self.split(piece);
                self.dispatch(arrival, head);
                self.dispatch(last, rest);
            }
            None => self.dispatch(arrival, piece),
        }
    }

    fn dispatch(&mut self, at: u64, piece: Piece) {
        let slot = self.environment.links.put(piece);
        self.queue.push(at, Event::Own(Happening::Piece(slot)));
    }

    /// Cuts a frame in two, at a place between its first byte and its last.
    fn split(&mut self, mut piece: Piece) -> (Piece, Piece) {
        let place = self.environment.links.place(piece.from, piece.to) as u64;
        let last = piece.bytes.len().max(2) as u64 - 1;
        let at = self.draw.between(Stream::Split, place, piece.nth | REST, (1, last));
        let at = usize::try_from(at).unwrap_or(1).min(piece.bytes.len());
        let bytes = self.environment.links.buffer(&piece.bytes[at..]);
        piece.bytes.truncate(at);
        piece.is_whole = false;
        let rest = Piece { bytes, ..piece };
        (piece, rest)
    }

    /// The fault of a frame: the schedule's fault for this very frame, or else one by chance.
    pub(super) fn fault_of(&mut self, from: usize, to: usize, nth: u64) -> Option<FrameFault> {
        let links = &self.environment.links;
        if links.faults.is_empty() && self.net.cuts.odds.is_empty() {
            return None;
        }
        let explicit = links.faults.iter().find(|(a, b, n, _)| (*a, *b, *n) == (from, to, nth));
        if let Some((.., fault)) = explicit {
            return Some(*fault);
        }
        let place = links.place(from, to) as u64;
        let (_, fault, _) = *self.net.cuts.odds.iter().find(|(index, _, ppm)| {
            self.draw.chance(Stream::Frame, place, (nth << 16) + *index as u64, *ppm)
        })?;
        let fault = match fault {
            FrameFault::Late(most) => {
                let most = nanos(most);
                let by = self.draw.between(Stream::Late, place, nth, (most / 16, most));
                FrameFault::Late(Duration::from_nanos(by))
            }
            other => other,
        };
        let kind = FaultKind::Frame(from, to, nth, fault);
        self.chances.push(Fault { at: Duration::ZERO, lasts: Duration::ZERO, kind });
        Some(fault)
    }

    /// A connection does not lose, duplicate or reorder bytes: any fault of a frame breaks it.
    fn befall(&mut self, fault: FrameFault, arrival: u64, piece: Piece) {
        let (from, to, number) = (piece.from, piece.to, piece.number);
        match fault {
            // It breaks in the middle of the frame.
            FrameFault::Lost => {
                let (head, rest) = self.split(piece);
                self.dispatch(arrival, head);
                self.environment.links.reuse(rest.bytes);
            }
            // It breaks behind the frame. A heartbeat comes again on the next connection.
            FrameFault::Twice => self.dispatch(arrival, piece),
            FrameFault::Late(by) => {
                let at = arrival.saturating_add(nanos(by));
                // The receiver notices the end of the old connection only after this frame.
                if let Some(line) = self.environment.links.link_mut(from, to).line(number) {
                    line.last = at;
                }
                self.dispatch(at, piece);
            }
        }
        if self.environment.links.link(from, to).number == Some(number) {
            self.break_link(from, to, false);
        }
    }

    /// A connection is stalled no longer.
    pub(super) fn release(&mut self, from: usize, to: usize) {
        let held = std::mem::take(&mut self.environment.links.link_mut(from, to).held);
        for piece in held {
            self.launch(piece);
        }
        self.pump(from, to);
    }

    /// A stalled connection lets one frame pass.
    pub(super) fn pass(&mut self, from: usize, to: usize) {
        #[cfg(feature = "service")]
        if self.workload.runs_services() {
            return self.let_one_pass(from, to);
        }
        let held = self.environment.links.link_mut(from, to).held.pop_front();
        if let Some(piece) = held.or_else(|| self.take(from, to, usize::MAX)) {
            self.launch(piece);
        }
        self.pump(from, to);
    }

    pub(super) fn arrive(&mut self, slot: usize) {
        let Some(piece) = self.environment.links.take(slot) else { return };
        let Piece { from, to, number, sent, .. } = piece;
        let mut rest = &piece.bytes[..];
        while self.environment.links.is_current(to, number) && self.nodes[to].machine.is_some() {
            let link = self.environment.links.link_mut(from, to);
            let Some(line) = link.line(number) else { break };
            let (message, peer) = match line.decoder.incoming() {
                Ok(Incoming::Message(message)) => (Some(message), line.decoder.peer()),
                Ok(Incoming::Greeting) => (None, line.decoder.peer()),
                Ok(Incoming::Incomplete) if rest.is_empty() => break,
                Ok(Incoming::Incomplete) => {
                    let space = line.decoder.space();
                    let (now, later) = rest.split_at(rest.len().min(space.len()));
                    space[..now.len()].copy_from_slice(now);
                    line.decoder.filled(now.len());
                    rest = later;
                    continue;
                }
                Err(_) => {
                    self.refuse(from, to, number);
                    break;
                }
            };
            let (Some(peer), dialect) = (peer, line.decoder.dialect()) else { break };
            let connection = Connection(number);
            self.heard(to, peer, connection, (dialect, message.is_none()));
            if let Some(message) = message {
                self.trace.heard(self.now, (from, sent), to, &message);
                self.hand_over(to, quorum::Event::Received { from: peer, connection, message });
            }
        }
        self.environment.links.reuse(piece.bytes);
    }

    /// The driver of a process has heard a peer, and may say more to it now.
    fn heard(
        &mut self,
        node: usize,
        peer: Peer,
        connection: Connection,
        (dialect, greets): (Dialect, bool),
    ) {
        let Some((outbox, now)) = self.outbox_to(node, peer) else { return };
        let waits = !outbox.is_empty();
        outbox.heard(connection, dialect, now);
        if greets {
            outbox.greeted(connection, now);
        }
        if !waits && !outbox.is_empty() {
            self.environment.host(node, peer).into_iter().for_each(|to| self.pump(node, to));
        }
    }

    /// A receiver closes a connection on which no frame came.
    fn refuse(&mut self, from: usize, to: usize, number: u64) {
        self.end_connection(from, to, number);
        if self.environment.links.link(from, to).number == Some(number) {
            self.break_link(from, to, true);
        }
    }
}

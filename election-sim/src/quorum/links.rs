//! The way from each process to every other: what waits at its sender, and the connections on which
//! bytes are under way.
//!
//! Each way has the outbox of a real driver and, for each connection, the decoder of a real one.
//! What lies between is a stream of bytes: in pieces, in order, and cut off where a connection
//! breaks. A clogged way takes a few frames and the beginning of another, which arrive when the
//! fault ends; everything later waits in the outbox.

use crate::fault::{FaultKind, FrameFault};
use election_core::quorum::wire::{Decoder, Outbox};
use std::collections::VecDeque;

/// Bytes under way, of one frame; none at all stand for the end of the connection.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The connection, by the receiver's count.
    pub(super) number: u64,
    /// When the first byte left.
    pub(super) sent: u64,
    /// Which frame of this way it is, counted as frames begin.
    pub(super) nth: u64,
    /// It is the frame from its first byte to its last.
    pub(super) is_whole: bool,
    pub(super) bytes: Vec<u8>,
}

/// A connection, as its receiver has it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) decoder: Box<Decoder>,
    /// When the last byte sent arrives: no later byte overtakes it.
    pub(super) last: u64,
}

/// The way from one process to another.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// What the sender's driver keeps for the receiver; `None` before its first process.
    pub(super) outbox: Option<Outbox>,
    /// The connection in use, by the receiver's count; `None` while there is none.
    pub(super) number: Option<u64>,
    /// The connections whose end the receiver has not noticed, the newest last.
    pub(super) lines: Vec<Line>,
    /// The number of the newest attempt to connect; older attempts are void.
    pub(super) attempt: u32,
    /// An attempt is under way.
    pub(super) dials: bool,
    /// The number of frames begun, over all connections.
    pub(super) begun: u64,
    /// How much the connection has taken of the frame that began last, if not all.
    pub(super) taken: usize,
    /// What a stalled connection has taken.
    pub(super) held: VecDeque<Piece>,
    /// The sender is going to see whether the connection takes anything.
    pub(super) watched: bool,
    /// A connection whose end the receiver has not been able to notice yet.
    pub(super) unnoticed: Option<u64>,
}

impl Link {
    pub(super) fn line(&mut self, number: u64) -> Option<&mut Line> {
        self.lines.iter_mut().find(|line| line.number == number)
    }

    pub(super) fn take_line(&mut self, number: u64) -> Option<Line> {
        let place = self.lines.iter().position(|line| line.number == number)?;
        Some(self.lines.remove(place))
    }

    /// How many frames the stalled connection holds.
    pub(super) fn frames_held(&self) -> usize {
        let held = |piece: &&Piece| Some(piece.number) == self.number;
        self.held.iter().filter(held).count()
    }

    /// The connection is gone for its sender. Returns its number.
    pub(super) fn hang_up(&mut self) -> Option<u64> {
        let number = self.number.take()?;
        self.taken = 0;
        if let Some(outbox) = &mut self.outbox {
            outbox.closed();
        }
        Some(number)
    }
}

/// All links, and the faults of single frames.
#[derive(Debug, Default)]
pub(crate) struct Links {
    nodes: usize,
    links: Vec<Link>,
    pieces: Vec<Option<Piece>>,
    free: Vec<usize>,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
    /// By node, the number of connections accepted, and how many of them before its process
    /// started.
    accepted: Vec<u64>,
    earlier: Vec<u64>,
    /// The schedule's faults of single frames.
    pub(super) faults: Vec<(usize, usize, u64, FrameFault)>,
}

impl Links {
    pub(super) fn new(nodes: usize, faults: impl Iterator<Item = FaultKind>) -> Self {
        let faults = faults.filter_map(|what| match what {
            FaultKind::Frame(from, to, nth, fault) => Some((from, to, nth, fault)),
            _ => None,
        });
        Self {
            nodes,
            links: (0..nodes * nodes).map(|_| Link::default()).collect(),
            accepted: vec![0; nodes],
            earlier: vec![0; nodes],
            faults: faults.collect(),
            ..Self::default()
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    pub(super) fn place(&self, from: usize, to: usize) -> usize {
        from * self.nodes + to
    }

    pub(super) fn link(&self, from: usize, to: usize) -> &Link {
        &self.links[self.place(from, to)]
    }

    pub(super) fn link_mut(&mut self, from: usize, to: usize) -> &mut Link {
        let place = self.place(from, to);
        &mut self.links[place]
    }

    /// `to` accepts a connection. Returns its number.
    pub(super) fn accept(&mut self, from: usize, to: usize, decoder: Decoder) -> u64 {
        self.accepted[to] += 1;
        let number = self.accepted[to];
        let line = Line { number, decoder: Box::new(decoder), last: 0 };
        self.link_mut(from, to).lines.push(line);
        number
    }

    /// A process starts, with empty outboxes. Connections to its predecessor mean nothing to it.
    pub(super) fn born(&mut self, node: usize, outbox: &Outbox) {
        self.earlier[node] = self.accepted[node];
        for other in 0..self.nodes {
            self.link_mut(other, node).lines.clear();
            self.link_mut(node, other).outbox = Some(outbox.clone());
        }
    }

    /// Whether this connection leads to the process that runs on `to` now.
    pub(super) fn is_current(&self, to: usize, number: u64) -> bool {
        number != LOST && number > self.earlier[to]
    }

    /// Forgets everything under way to a process that has ended.
    pub(super) fn forget(&mut self, from: usize, to: usize) {
        let link = self.link_mut(from, to);
        link.hang_up();
        link.unnoticed = None;
        link.lines.clear();
        (link.dials, link.attempt) = (false, link.attempt + 1);
        link.held.clear();
    }

    /// A buffer with these bytes.
    pub(super) fn buffer(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        buffer
    }

    pub(super) fn reuse(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }

    pub(super) fn put(&mut self, piece: Piece) -> usize {
        if let Some(slot) = self.free.pop() {
            self.pieces[slot] = Some(piece);
            return slot;
        }
        self.pieces.push(Some(piece));
        self.pieces.len() - 1
    }

    pub(super) fn take(&mut self, slot: usize) -> Option<Piece> {
        let piece = self.pieces[slot].take()?;
        self.free.push(slot);
        Some(piece)
    }

    /// Loses the bytes under way on one connection.
    pub(super) fn drop_pieces(&mut self, from: usize, to: usize, number: u64) {
        let lost = |piece: &&mut Piece| (piece.from, piece.to, piece.number) == (from, to, number);
        for piece in self.pieces.iter_mut().flatten().filter(lost) {
            piece.number = LOST; // the slot is freed when the bytes would have arrived
        }
    }
}

/// The number of no connection.
pub(super) const LOST: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use election_core::{NodeId, quorum::Members};

    #[test]
    fn connections_of_an_earlier_process_mean_nothing() {
        let ids = ["a", "b"].map(|id| NodeId::new(id).unwrap()).to_vec();
        let decoder = || Decoder::new(Members::new(ids.clone(), &ids[1]).unwrap());
        let mut links = Links::new(2, std::iter::empty());
        let first = links.accept(0, 1, decoder());
        assert!(links.is_current(1, first));
        links.earlier[1] = links.accepted[1];
        assert!(!links.is_current(1, first));
        let second = links.accept(0, 1, decoder());
        assert!(links.is_current(1, second) && !links.is_current(1, LOST));
        assert!(links.link_mut(0, 1).take_line(first).is_some());
        assert!(links.link_mut(0, 1).line(first).is_none());
        assert!(links.link_mut(0, 1).line(second).is_some());
    }
}

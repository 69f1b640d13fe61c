//! The sockets of members that run a real driver: connections that carry their bytes, in order, in
//! pieces, and only while the way between the two is open.
//!
//! The network belongs to no process. What was written arrives even if its writer has died meanwhile,
//! a way that is cut or clogged keeps what it is given until it opens again, and nobody is told of
//! that. What a process notices by itself is what its driver is tested for.

use std::{
    collections::{BTreeMap, VecDeque},
    io::ErrorKind,
};

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    pub(super) connections: BTreeMap<u64, Connection>,
    made: u64,
    /// By node: whether its process listens.
    pub(super) listens: Vec<bool>,
    /// By the way from one node to another: how often somebody has dialed and written there, and when
    /// that was sent which has arrived last.
    ways: Vec<Way>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    pub(super) dialed: u64,
    pub(super) written: u64,
    pub(super) last_sent: u64,
}

/// A connection, from the one who has dialed to the one who has accepted.
#[derive(Debug)]
pub(super) struct Connection {
    /// The nodes, and whether their processes have it still.
    pub(super) ends: [(usize, bool); 2],
    /// What is on the way from each end to the other.
    pub(super) flows: [Flow; 2],
}

#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) under_way: VecDeque<Piece>,
    /// What waits until the way is open.
    pub(super) held: VecDeque<Piece>,
    /// When the last piece arrives: no later one overtakes it.
    pub(super) last: u64,
    /// Nothing more is sent.
    pub(super) finished: bool,
}

#[derive(Debug)]
pub(super) struct Piece {
    /// Which write it is, of this way.
    pub(super) nth: u64,
    pub(super) sent: u64,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Bytes(Vec<u8>),
    End(Result<(), ErrorKind>),
}

impl Sockets {
    pub(super) fn new(nodes: usize) -> Self {
        let (listens, ways) = (vec![false; nodes], vec![Way::default(); nodes * nodes]);
        Self { listens, ways, ..Self::default() }
    }

    pub(super) fn place(&self, from: usize, to: usize) -> usize {
        from * self.listens.len() + to
    }

    pub(super) fn way(&mut self, from: usize, to: usize) -> &mut Way {
        let place = self.place(from, to);
        &mut self.ways[place]
    }

    /// When that was sent which has arrived last from there.
    pub(super) fn last_sent(&self, from: usize, to: usize) -> u64 {
        self.ways[self.place(from, to)].last_sent
    }

    pub(super) fn connect(&mut self, from: (usize, bool), to: usize) -> u64 {
        self.made += 1;
        let connection = Connection { ends: [from, (to, true)], flows: Default::default() };
        self.connections.insert(self.made, connection);
        self.made
    }

    /// Which end of this connection the process of a node has.
    pub(super) fn end_of(&self, id: u64, node: usize) -> Option<usize> {
        let ends = self.connections.get(&id)?.ends;
        ends.iter().position(|end| *end == (node, true))
    }
}

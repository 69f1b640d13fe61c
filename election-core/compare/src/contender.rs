//! The operations that are measured of each contender, under the same names.

use crate::watch::Watch;
use std::{collections::VecDeque, ops::Range};

/// One operation, ready to be measured again and again.
pub(crate) type Play = Box<dyn FnMut(&mut Watch)>;

/// How many operations are measured at once, where reading the clock costs more than one of them.
pub(crate) const BATCH: u64 = 64;

/// How many heartbeat intervals the others wait for a silent leader.
#[derive(Clone, Copy)]
pub(crate) struct Patience(pub(crate) u32);

/// Five seconds of heartbeats every 200 ms: the default of election-core.
pub(crate) const PATIENT: Patience = Patience(25);
/// The same proportion as raft's default.
pub(crate) const BRISK: Patience = Patience(10);

/// A cluster on a network without delay or loss, with disks to match.
pub(crate) trait Cluster: Sized + 'static {
    /// The name in the table.
    const NAME: &'static str;
    /// Whether the contender has a codec.
    const CODED: bool;
    /// The transport of frames.
    type Post: 'static;

    /// The transport between this many nodes; with the codec or without it.
    fn post(count: usize, coded: bool) -> Self::Post;

    /// This many nodes with a leader that all others follow, and no frame in transit.
    fn led(count: usize, patience: Patience, post: &mut Self::Post) -> Self;

    /// This many nodes, all alive and without a leader. One of them is due to start an election.
    fn leaderless(count: usize, post: &mut Self::Post) -> Self;

    /// Starts the election that is due and goes on until all others follow its winner. Returns the
    /// number of frames read for that.
    fn elect(&mut self, post: &mut Self::Post) -> u64;

    /// One heartbeat interval, with all its frames read. Returns their number.
    fn beat(&mut self, post: &mut Self::Post) -> u64;

    /// The leader crashes, the others elect another leader and follow it, and the old one starts
    /// again from its disk.
    fn replace_leader(&mut self, post: &mut Self::Post);

    /// One node of three hears heartbeat after heartbeat: as leader from a follower, or as follower
    /// from the leader. `None` where that cannot be measured.
    fn hearing(by_leader: bool, coded: bool) -> Option<Play>;

    /// One node of three is called and has nothing to do.
    fn idling(leader: bool) -> Play;
}

/// A frame in transit: as a value, or as a range of bytes.
#[derive(Clone)]
pub(crate) enum Letter<M> {
    Plain(M),
    Coded(Range<usize>),
}

/// Frames in the order in which they were sent. The buffers are reused, so that the network does
/// not allocate.
pub(crate) struct Mail<M> {
    pub(crate) letters: VecDeque<(usize, usize, Letter<M>)>,
    bytes: Vec<u8>,
    coded: bool,
}

impl<M> Mail<M> {
    pub(crate) fn new(coded: bool) -> Self {
        Self { letters: VecDeque::with_capacity(4_096), bytes: Vec::with_capacity(1 << 20), coded }
    }

    pub(crate) fn is_coded(&self) -> bool {
        self.coded
    }

    /// Appends what `encode` writes.
    pub(crate) fn written(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        if self.letters.is_empty() {
            self.bytes.clear();
        }
        let start = self.bytes.len();
        encode(&mut self.bytes);
        start..self.bytes.len()
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    pub(crate) fn push(&mut self, from: usize, to: usize, letter: Letter<M>) {
        self.letters.push_back((from, to, letter));
    }

    pub(crate) fn pop(&mut self) -> Option<(usize, usize, Letter<M>)> {
        self.letters.pop_front()
    }

    pub(crate) fn clear(&mut self) {
        self.letters.clear();
        self.bytes.clear();
    }
}

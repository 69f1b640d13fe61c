//! What is asked of each of the three: the same operations in the same words.

use crate::watch::Watch;
use std::{collections::VecDeque, ops::Range};

/// One piece of work, ready to be measured again and again.
pub(crate) type Play = Box<dyn FnMut(&mut Watch)>;

/// How many operations are measured at once, where reading the clock costs more than one.
pub(crate) const BATCH: u64 = 64;

/// How many heartbeat intervals a silent leader is waited for.
#[derive(Clone, Copy)]
pub(crate) struct Patience(pub(crate) u32);

/// Five seconds of heartbeats every 200 ms: the default of election-core.
pub(crate) const PATIENT: Patience = Patience(25);
/// The proportion of raft's default.
pub(crate) const BRISK: Patience = Patience(10);

/// A cluster on a network that takes no time and loses nothing, with disks to match.
pub(crate) trait Cluster: Sized + 'static {
    /// How it is called in the table.
    const NAME: &'static str;
    /// Whether it brings a codec.
    const CODED: bool;
    /// What frames go through on their way.
    type Post: 'static;

    /// The way between so many nodes; with the codec or past it.
    fn post(count: usize, coded: bool) -> Self::Post;

    /// So many nodes with a leader that all others follow, and nothing under way.
    fn led(count: usize, patience: Patience, post: &mut Self::Post) -> Self;

    /// So many nodes, all alive and without a leader, one of which is due to start an election.
    fn leaderless(count: usize, post: &mut Self::Post) -> Self;

    /// Starts the election that is due and goes on until all others follow its winner. Says how
    /// many frames were read for that.
    fn elect(&mut self, post: &mut Self::Post) -> u64;

    /// One heartbeat interval: everything that goes over the network in it, read. Says how many
    /// frames that was.
    fn beat(&mut self, post: &mut Self::Post) -> u64;

    /// The leader crashes, the others elect another and follow it, and it starts again from what
    /// it has on its disk.
    fn replace_leader(&mut self, post: &mut Self::Post);

    /// One node of three hears heartbeat after heartbeat: the leader a follower's, or a follower
    /// the leader's. `None` where that is nothing that could be measured.
    fn hearing(by_leader: bool, coded: bool) -> Option<Play>;

    /// One node of three is called and has nothing to do.
    fn idling(leader: bool) -> Play;
}

/// A frame under way: as a value, or as a place in the bytes.
pub(crate) enum Letter<M> {
    Plain(M),
    Coded(Range<usize>),
}

/// Frames in the order in which they were sent. Its room is kept, so that what allocates is not
/// the network.
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

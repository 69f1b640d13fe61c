//! What the quorum machine of election-core costs beside `raft` 0.7, measured in one run:
//! `cargo run --release` in this directory, or with `-- --brief` from fewer repetitions.
//!
//! Every operation is timed for all contenders in turn, over and over, and the table has the
//! medians. So other load on the machine slows all of them. Times and ratios differ from one machine
//! to another.
//!
//! The same for both: three or five nodes in memory, a network without delay or loss, and disks that
//! save at once. All frames are bytes: each is written and read again. Where one node hears
//! heartbeats, the time is that of reading them and acting on them. An election goes from the tick
//! that starts it, with all nodes alive and no leader, until all others follow the winner.
//!
//! What differs:
//!
//! * In election-core every node sends heartbeats to every other, because failover depends on what
//!   followers say: N·(N−1) frames an interval. In raft the leader sends and the others answer:
//!   2·(N−1) frames. A follower of raft also makes the answer when it hears its leader.
//! * A heartbeat of election-core is about 200 bytes of text with stamps. One of raft is about 10
//!   bytes of protobuf.
//! * raft elects the leader of a log, and a new leader appends the empty entry that it needs to
//!   commit. election-core has no log: it saves a ballot, and at most one leader acts at a time.
//! * raft is measured below its `RawNode`, which would cost more: messages are taken from `Raft`,
//!   saving costs nothing, and the logger is compiled out.
#![forbid(unsafe_code)]

mod ours;
mod raft_rs;

use ours::Ours;
use raft_rs::RaftRs;
use std::{
    collections::VecDeque,
    ops::Range,
    time::{Duration, Instant},
};

/// How many operations are timed at once where reading the clock costs as much as one of them.
const BATCH: usize = 64;
/// How long an operation is repeated before it is another contender's turn.
const TURN: Duration = Duration::from_millis(8);

/// A contender: nodes in memory, and the frames between them.
trait Cluster: Sized + 'static {
    const NAME: &'static str;

    /// All nodes are alive and none leads. One of them is due to start an election.
    fn leaderless(count: usize) -> Self;
    /// Whether a node leads and all others follow it.
    fn is_led(&self) -> bool;
    /// Lets time pass until a node has something to do, and lets it do that.
    fn wake(&mut self);
    /// Delivers the next frame, if there is one.
    fn deliver_one(&mut self) -> bool;
    /// Lets one heartbeat interval pass, and returns the number of frames delivered.
    fn beat(&mut self) -> usize;
    /// The leader hears a follower again and again, or a follower hears the leader.
    fn hearing(self, by_leader: bool) -> Play;

    fn settle(&mut self) -> usize {
        std::iter::from_fn(|| self.deliver_one().then_some(())).count()
    }

    fn elect(&mut self) -> usize {
        self.wake();
        let mut frames = 0;
        while !self.is_led() {
            assert!(self.deliver_one(), "nobody was elected");
            frames += 1;
        }
        frames
    }

    /// A node leads and all others follow it, long enough that nobody stands aside any more.
    fn led(count: usize) -> Self {
        let mut cluster = Self::leaderless(count);
        cluster.elect();
        cluster.settle();
        for _ in 0..100 {
            cluster.beat();
        }
        cluster
    }
}

/// Frames in the order in which they were sent. The buffers are reused: the network allocates
/// nothing.
struct Mail {
    letters: VecDeque<(usize, usize, Range<usize>)>,
    bytes: Vec<u8>,
}

impl Mail {
    fn new() -> Self {
        Self { letters: VecDeque::with_capacity(64), bytes: Vec::with_capacity(8_192) }
    }

    /// Sends one frame to all of `to`, the sender excepted.
    fn send(&mut self, from: usize, to: Range<usize>, encode: impl FnOnce(&mut Vec<u8>)) {
        if self.letters.is_empty() {
            self.bytes.clear();
        }
        let start = self.bytes.len();
        encode(&mut self.bytes);
        let end = self.bytes.len();
        let receivers = to.filter(|to| *to != from);
        self.letters.extend(receivers.map(|to| (from, to, start..end)));
    }

    /// The next frame, with its sender and its receiver.
    fn take(&mut self) -> Option<(usize, usize, &[u8])> {
        let (from, to, range) = self.letters.pop_front()?;
        Some((from, to, &self.bytes[range]))
    }
}

/// One operation, ready to be timed again and again.
type Play = Box<dyn FnMut() -> Sample>;

/// The nanoseconds that one operation took, and its number of frames.
type Sample = (f64, f64);

/// Times `work`, which performs this many operations and returns the number of their frames.
fn timed(operations: usize, work: impl FnOnce() -> usize) -> Sample {
    let began = Instant::now();
    let frames = work();
    let nanos = began.elapsed().as_secs_f64() * 1e9 / operations as f64;
    (nanos, frames as f64 / operations as f64)
}

fn rows<C: Cluster>() -> [(&'static str, Play); 6] {
    [
        ("follower hears its leader, with codec, N=3", C::led(3).hearing(false)),
        ("leader hears a follower, with codec, N=3", C::led(3).hearing(true)),
        ("heartbeat interval with codec, N=3", beats::<C>(3)),
        ("heartbeat interval with codec, N=5", beats::<C>(5)),
        ("election with codec, N=3", elections::<C>(3)),
        ("election with codec, N=5", elections::<C>(5)),
    ]
}

fn beats<C: Cluster>(count: usize) -> Play {
    let mut cluster = C::led(count);
    Box::new(move || timed(16, || (0..16).map(|_| cluster.beat()).sum()))
}

fn elections<C: Cluster>(count: usize) -> Play {
    Box::new(move || {
        let mut cluster = C::leaderless(count);
        timed(1, || cluster.elect())
    })
}

/// Lets all contenders take turns, and returns their medians.
fn measured<const N: usize>(mut plays: [Play; N], turns: usize) -> [Sample; N] {
    let mut samples = [const { Vec::new() }; N];
    for _ in 0..=turns {
        for (play, samples) in plays.iter_mut().zip(&mut samples) {
            samples.push(turn(play));
        }
    }
    // The first turn warms up.
    samples.map(|mut samples| median(samples.split_off(1)))
}

fn turn(play: &mut Play) -> Sample {
    let began = Instant::now();
    let mut samples = vec![play()];
    while began.elapsed() < TURN {
        samples.push(play());
    }
    median(samples)
}

fn median(mut samples: Vec<Sample>) -> Sample {
    samples.sort_by(|one, other| one.0.total_cmp(&other.0));
    samples.swap_remove(samples.len() / 2)
}

fn main() {
    let turns = if std::env::args().any(|option| option == "--brief") { 3 } else { 41 };
    let names = [Ours::NAME, RaftRs::<false>::NAME, RaftRs::<true>::NAME];
    println!("medians; frames in brackets; × how many times as long as election-core it took\n");
    println!("{:<44}{:>18}{:>26}{:>26}", "", names[0], names[1], names[2]);
    let rafts = rows::<RaftRs<false>>().into_iter().zip(rows::<RaftRs<true>>());
    for ((name, ours), ((_, raft), (_, checked))) in rows::<Ours>().into_iter().zip(rafts) {
        let cells = measured([ours, raft, checked], turns);
        print!("{name:<44}");
        for (column, (nanos, frames)) in cells.iter().enumerate() {
            print!("{:>18}", format!("{nanos:.1} ns [{frames:.0}]"));
            if column > 0 {
                print!("{:>8}", format!("×{:.2}", nanos / cells[0].0));
            }
        }
        println!();
    }
}

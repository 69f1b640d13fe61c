//! What the quorum side costs beside `raft` 0.7 and `omnipaxos` 0.2, measured in one run.
//!
//! ```text
//! cd election-core/compare
//! cargo run --release                     # times and frames
//! cargo run --release --features count    # allocations, with an allocator that counts
//! cargo run --release -- election-core "leader hears"    # one figure alone, for a profiler
//! ```
//!
//! Every operation is measured for all four in turn, over and over, and the median is printed: what
//! else runs on the machine then slows all of them. Only the ratios carry over to another machine.
//!
//! # What is the same
//!
//! Three or five nodes, all of them in memory; a network that takes no time and loses nothing;
//! disks that save at once. A row does the same for each: one heartbeat heard, one call with
//! nothing to do, one heartbeat interval, one election from the tick that starts it (all nodes
//! alive, no leader) to a leader that all others follow, one leader that crashes, is replaced and
//! starts again. Where a row says "codec", every frame that is heard was written as bytes and read
//! again.
//!
//! # What is not
//!
//! * raft and omnipaxos replicate a log, and their leaders are leaders of that log. Nothing is
//!   proposed here, but raft's new leader appends the empty entry without which it could not
//!   commit, and omnipaxos has all promise the new ballot. election-core has no log. It saves a
//!   ballot, and keeps at most one *acting* leader at a time, which neither of the others does by
//!   itself: they say who leads a term and leave it to the log that an old leader gets nowhere.
//! * raft is measured below its `RawNode`, which would cost more: messages are taken from `Raft` as
//!   they come, its hard state is saved for nothing, its logger compiled out. "checked" is raft
//!   with `check_quorum` and `pre_vote`, which is nearer to what election-core does in any case.
//! * Heartbeats: here everybody sends to everybody, since what a follower says is also what a
//!   failover is judged by; in raft the leader sends and is answered, in omnipaxos everybody asks
//!   and is answered. So an interval is N·(N−1), 2·(N−1) and 2·N·(N−1) frames. A heartbeat that is
//!   heard by raft's follower and by omnipaxos's includes making the answer; here nothing answers.
//!   Frames differ in what they say: a heartbeat of ours has stamps, echo, incarnations and the
//!   list's fingerprint (about 200 bytes of text), one of raft's five small integers (about 10
//!   bytes of protobuf).
//! * A codec's frames: ours come with their length, protobuf's are given theirs for nothing.
//!   omnipaxos brings no codec, and so its rounds and elections are without one.
//! * Elections in virtual time: election-core sleeps until a deadline, raft is ticked once an
//!   interval. Both wait out the same patience, 25 intervals (5 s of 200 ms) and once more 10, the
//!   latter being raft's default proportion; in it, ours go on with their heartbeats, while raft's
//!   followers are silent. raft draws its patience anew up to twice that. omnipaxos waits two
//!   rounds and can be told nothing else, which is why its figure is the same in both rows.
//! * Leaders start again with what they had on disk, which is included; omnipaxos with its promise.
#![forbid(unsafe_code)]

mod contender;
mod omni;
mod ours;
mod raft_rs;
mod table;
mod watch;

use contender::{BRISK, Cluster, PATIENT, Patience, Play};
use omni::Omni;
use ours::Ours;
use raft_rs::RaftRs;
use table::{Row, Unit};

fn main() {
    let names = [Ours::NAME, RaftRs::<false>::NAME, RaftRs::<true>::NAME, Omni::NAME];
    let columns = [
        operations::<Ours>(),
        operations::<RaftRs<false>>(),
        operations::<RaftRs<true>>(),
        operations::<Omni>(),
    ];
    table::print(&names, &table::rows(columns));
}

/// Everything that is measured of one of them, in the order of the rows. Arguments say which
/// column and which rows alone are asked for.
fn operations<C: Cluster>() -> Vec<Row> {
    let mut rows = vec![
        Row::of("follower hears its leader, N=3", Unit::Nanos, C::hearing(false, false)),
        Row::of("leader hears a follower, N=3", Unit::Nanos, C::hearing(true, false)),
        Row::of("  with codec: follower", Unit::Nanos, C::hearing(false, true)),
        Row::of("  with codec: leader", Unit::Nanos, C::hearing(true, true)),
        Row::of("idle tick, follower", Unit::Nanos, Some(C::idling(false))),
        Row::of("idle tick, leader", Unit::Nanos, Some(C::idling(true))),
    ];
    for (count, interval, election) in [
        (3, "heartbeat interval with codec, N=3", "election with codec, N=3"),
        (5, "heartbeat interval with codec, N=5", "election with codec, N=5"),
    ] {
        rows.push(Row::of(interval, Unit::Nanos, Some(beats::<C>(count))));
        rows.push(Row::of(election, Unit::Nanos, Some(elections::<C>(count))));
    }
    for (count, patience, name) in [
        (3, PATIENT, "virtual elections/s, N=3, 25 beats"),
        (3, BRISK, "virtual elections/s, N=3, 10 beats"),
        (5, PATIENT, "virtual elections/s, N=5, 25 beats"),
        (5, BRISK, "virtual elections/s, N=5, 10 beats"),
    ] {
        rows.push(Row::of(name, Unit::PerSecond, Some(failovers::<C>(count, patience))));
    }
    let mut asked = std::env::args().skip(1);
    let (column, row) = (asked.next(), asked.next());
    rows.iter_mut().for_each(|each| {
        each.keep_if(column.as_deref().is_none_or(|column| column == C::NAME), row.as_deref());
    });
    rows
}

fn beats<C: Cluster>(count: usize) -> Play {
    let mut post = C::post(count, C::CODED);
    let mut cluster = C::led(count, PATIENT, &mut post);
    Box::new(move |watch| {
        let mut frames = 0;
        watch.measure(16, || frames = (0..16).map(|_| cluster.beat(&mut post)).sum());
        watch.frames += frames;
    })
}

fn elections<C: Cluster>(count: usize) -> Play {
    const CLUSTERS: u64 = 8;
    let mut post = C::post(count, C::CODED);
    Box::new(move |watch| {
        let mut clusters: Vec<C> = (0..CLUSTERS).map(|_| C::leaderless(count, &mut post)).collect();
        let mut frames = 0;
        watch.measure(CLUSTERS, || {
            frames = clusters.iter_mut().map(|cluster| cluster.elect(&mut post)).sum();
        });
        watch.frames += frames;
    })
}

fn failovers<C: Cluster>(count: usize, patience: Patience) -> Play {
    let mut post = C::post(count, false);
    let mut cluster = C::led(count, patience, &mut post);
    Box::new(move |watch| {
        watch.measure(32, || (0..32).for_each(|_| cluster.replace_leader(&mut post)));
    })
}

//! What the quorum side costs beside `raft` 0.7 and `omnipaxos` 0.2, measured in one run.
//!
//! ```text
//! cd election-core/compare
//! cargo run --release                      # times and frames
//! cargo run --release -- --brief           # the same table from fewer repetitions
//! cargo run --release -- --instructions    # instructions and memory accesses; needs valgrind
//! cargo run --release --features count     # allocations, with an allocator that counts
//! cargo run --release -- election-core "leader hears"    # one figure alone, for a profiler
//! ```
//!
//! Every operation is timed for all four contenders in turn, over and over, and the median is
//! printed. So other load on the machine slows all of them. Times differ from one machine to
//! another, and their ratios do, too: how long a move takes that waits for stores before it depends
//! on the processor. The counts of `--instructions` are the same everywhere (x86-64, one compiler),
//! but for a hundredth in raft's, whose tables are hashed with random keys.
//!
//! # What is the same
//!
//! Three or five nodes, all in memory, on a network without delay or loss, with disks that save at
//! once. A row does the same for each contender: one heartbeat heard; one call with nothing to do;
//! one heartbeat interval; one election from the tick that starts it (all nodes alive, no leader)
//! to a leader that all others follow; one leader that crashes, is replaced and starts again. Where
//! a row says "codec", every frame was written as bytes and read again.
//!
//! # What differs
//!
//! * raft and omnipaxos replicate a log, and their leaders are leaders of that log. Nobody proposes
//!   anything here, but raft's new leader appends the empty entry that it needs to commit, and
//!   omnipaxos lets all nodes promise the new ballot. election-core has no log. It saves a ballot,
//!   and keeps at most one *acting* leader at a time. The others do not do so by themselves: they
//!   say who leads a term, and rely on the log to stop an old leader.
//! * election-core takes frames by reference and returns nothing where nothing is to be done
//!   (`Quorum::hear`, `Quorum::tick`). raft and omnipaxos take frames by value, and collect what is
//!   to be sent.
//! * raft is measured below its `RawNode`, which would cost more: messages are taken directly from
//!   `Raft`, saving its hard state costs nothing, its logger is compiled out. "checked" is raft
//!   with `check_quorum` and `pre_vote`, which is nearer to what election-core always does.
//! * Heartbeats: in election-core every node sends to every other, because a failover also depends
//!   on what followers say. In raft the leader sends and the others answer. In omnipaxos every node
//!   asks and the others answer. So an interval has N·(N−1), 2·(N−1) and 2·N·(N−1) frames. When
//!   raft's follower and omnipaxos's hear a heartbeat, they also make the answer; in election-core
//!   nobody answers. Frames differ in content: election-core's heartbeat has stamps, echo,
//!   incarnations and the list's fingerprint (about 200 bytes of text), raft's has five small
//!   integers (about 10 bytes of protobuf).
//! * Codecs: frames of election-core contain their length; protobuf's get it for nothing. omnipaxos
//!   has no codec, and so its rounds and elections are without one.
//! * Elections in virtual time: election-core sleeps until a deadline, raft is ticked once an
//!   interval. Both wait equally long, once 25 intervals (5 s of 200 ms) and once 10, which is
//!   raft's default proportion. Meanwhile election-core goes on with its heartbeats, while raft's
//!   followers are silent. raft draws its wait anew, up to twice that. omnipaxos always waits two
//!   rounds, which is why its figure is the same in both rows.
//! * Leaders start again from their disks, and the figures include that; omnipaxos from its
//!   promise.
#![forbid(unsafe_code)]

mod contender;
mod instructions;
mod omni;
mod ours;
mod raft_rs;
mod table;
mod watch;

use contender::{BRISK, Cluster, PATIENT, Patience, Play};
use omni::Omni;
use ours::Ours;
use raft_rs::RaftRs;
use table::{Kind, Row, Unit};

/// How often each operation is measured.
const TIMES: usize = if cfg!(feature = "count") { 3 } else { 41 };
const BRIEF: usize = 3;

fn main() -> std::io::Result<()> {
    let (options, selected): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let names = [Ours::NAME, RaftRs::<false>::NAME, RaftRs::<true>::NAME, Omni::NAME];
    let columns = [
        operations::<Ours>(&selected),
        operations::<RaftRs<false>>(&selected),
        operations::<RaftRs<true>>(&selected),
        operations::<Omni>(&selected),
    ];
    let kind = if cfg!(feature = "count") { Kind::Allocations } else { Kind::Times };
    match options.first().map(String::as_str) {
        None => table::print(&names, &table::rows(columns, TIMES), kind),
        Some("--brief") => table::print(&names, &table::rows(columns, BRIEF), kind),
        Some(instructions::COUNTED) => instructions::perform(columns),
        Some("--instructions") => {
            let counts = instructions::counted(&selected)?;
            let rows = table::counted(&columns, &counts, |counts| counts.instructions);
            table::print(&names, &rows, Kind::Counts("instructions"));
            let rows = table::counted(&columns, &counts, |counts| counts.reads + counts.writes);
            println!();
            table::print(&names, &rows, Kind::Counts("reads and writes of memory"));
        }
        Some(other) => {
            return Err(std::io::Error::other(format!(
                "there is no option {other}; there are --brief and --instructions"
            )));
        }
    }
    Ok(())
}

/// All operations of one contender, in the order of the rows. What is selected is a column, and
/// then rows.
fn operations<C: Cluster>(selected: &[String]) -> Vec<Row> {
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
    let (column, row) = (selected.first(), selected.get(1).map(String::as_str));
    let column = column.is_none_or(|column| column == C::NAME);
    rows.iter_mut().for_each(|each| each.keep_if(column, row));
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

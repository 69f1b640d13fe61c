//! Random faults, one after another and in pairs, on a cluster whose nodes are on hosts of their own;
//! the checker reads along.
//!
//! ```sh
//! QUORUM_MINUTES=30 QUORUM_SEED=7 cargo test -p election-tokio --all-features --test quorum -- chaos --nocapture
//! ```
//!
//! | variable | meaning |
//! | --- | --- |
//! | `QUORUM_MINUTES` | how long each size of cluster is tried; twenty seconds unless given |
//! | `QUORUM_SEED` | what happens, to whom and for how long. A run prints it |
//! | `QUORUM_TLS` | `yes`: members have certificates; otherwise every other seed does |
//!
//! It ends with a table: for every fault how often it was inflicted, and how long after the end of a
//! round somebody was seen to act.

use crate::cluster::{DOWN_AFTER, Nodes, place_of};
use election_core::Random;
use election_driver::conformance::certificates::Authority;
use election_testing::{
    process::{freeze, thaw, within},
    router::{Router, moved},
};
use std::{
    collections::BTreeMap,
    env, fs,
    time::{Duration, Instant},
};

/// How long after a fault somebody has to lead: a boot grace, and two elections that failed.
const RECOVERY: Duration = DOWN_AFTER.saturating_mul(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Kill,
    KillTwo,
    KillAll,
    Stop,
    Cut,
    CutWay,
    Isolate,
    Lose,
    HandOver,
    Resign,
    Pause,
}

const FAULTS: [Fault; 11] = [
    Fault::Kill,
    Fault::KillTwo,
    Fault::KillAll,
    Fault::Stop,
    Fault::Cut,
    Fault::CutWay,
    Fault::Isolate,
    Fault::Lose,
    Fault::HandOver,
    Fault::Resign,
    Fault::Pause,
];

/// What has to be undone when a round ends.
enum Undo {
    Start(usize),
    Thaw(usize),
    Heal(usize, usize),
    Resume(usize),
}

struct Chaos {
    nodes: Nodes,
    router: Router,
    random: Random,
    undo: Vec<Undo>,
    recoveries: BTreeMap<Fault, Vec<Duration>>,
}

impl Chaos {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.up_to(bound as u64 - 1)).expect("a place")
    }

    /// Half of the time whoever leads.
    fn victim(&mut self) -> usize {
        let leader = self.nodes.tenures().last().map(|tenure| place_of(&tenure.node));
        match leader.filter(|_| self.random.up_to(1) == 0) {
            Some(leader) => leader,
            None => self.below(self.nodes.count()),
        }
    }

    fn is_touched(&self, node: usize) -> bool {
        self.undo.iter().any(|undo| match undo {
            Undo::Start(known) | Undo::Thaw(known) | Undo::Resume(known) => *known == node,
            Undo::Heal(..) => false,
        })
    }

    fn inflict(&mut self, fault: Fault) {
        let count = self.nodes.count();
        let node = self.victim();
        let other = (node + 1 + self.below(count - 1)) % count;
        if self.is_touched(node) {
            return;
        }
        match fault {
            Fault::Kill => self.kill(node),
            Fault::KillTwo => [node, other].into_iter().for_each(|node| self.kill(node)),
            Fault::KillAll => (0..count).for_each(|node| self.kill(node)),
            Fault::Stop => {
                freeze(self.nodes.pid(node));
                self.undo.push(Undo::Thaw(node));
            }
            Fault::Cut => [(node, other), (other, node)].into_iter().for_each(|way| self.cut(way)),
            Fault::CutWay => self.cut((node, other)),
            Fault::Isolate => {
                let others = (0..count).filter(|other| *other != node);
                others.for_each(|other| {
                    [(node, other), (other, node)].into_iter().for_each(|way| self.cut(way));
                });
            }
            // One at a time, as the protocol asks for: every other ballot is there.
            Fault::Lose if !(0..count).all(|node| self.nodes.ballot(node).exists()) => {}
            Fault::Lose => {
                self.kill(node);
                let _ = fs::remove_file(self.nodes.ballot(node));
            }
            Fault::HandOver => drop(self.nodes.order(node, &format!("hand_over n{}", other + 1))),
            Fault::Resign => drop(self.nodes.order(node, "resign")),
            Fault::Pause => {
                self.nodes.order(node, "pause");
                self.undo.push(Undo::Resume(node));
            }
        }
    }

    fn kill(&mut self, node: usize) {
        if !self.is_touched(node) {
            self.nodes.kill(node);
            self.undo.push(Undo::Start(node));
        }
    }

    fn cut(&mut self, (from, to): (usize, usize)) {
        let known = |undo: &Undo| matches!(undo, Undo::Heal(a, b) if (*a, *b) == (from, to));
        if !self.undo.iter().any(known) {
            self.router.cut_way(from, to);
            self.undo.push(Undo::Heal(from, to));
        }
    }

    fn mend(&mut self) {
        let mut resumes = Vec::new();
        for undo in std::mem::take(&mut self.undo) {
            match undo {
                Undo::Start(node) => self.nodes.start(node),
                Undo::Thaw(node) => thaw(self.nodes.pid(node)),
                Undo::Heal(from, to) => self.router.heal_way(from, to),
                Undo::Resume(node) => resumes.push(node),
            }
        }
        for node in resumes {
            let resumed = within(RECOVERY, || self.nodes.order(node, "resume") == "ok");
            assert!(resumed, "failover cannot be resumed: {}", self.nodes.order(node, "resume"));
        }
    }

    /// One round: one fault or two, for a while.
    fn round(&mut self) {
        let faults: Vec<_> =
            (0..=self.random.up_to(1)).map(|_| FAULTS[self.below(FAULTS.len())]).collect();
        faults.iter().for_each(|fault| self.inflict(*fault));
        let lasts = DOWN_AFTER / 10 + self.random.jitter(DOWN_AFTER * 2);
        let ends = Instant::now() + lasts;
        within(lasts, || {
            self.nodes.check();
            Instant::now() >= ends
        });
        self.mend();
        let mended = Instant::now();
        let now = election_tokio::now().as_nanos();
        let acts = within(RECOVERY, || self.nodes.tenures().iter().any(|tenure| tenure.last > now));
        let took = mended.elapsed();
        assert!(acts, "nobody leads {RECOVERY:?} after {faults:?}: {:#?}", self.reasons());
        self.nodes.check();
        for fault in &faults {
            self.recoveries.entry(*fault).or_default().push(took);
        }
    }

    fn reasons(&mut self) -> Vec<String> {
        (0..self.nodes.count()).map(|node| self.nodes.order(node, "why")).collect()
    }
}

fn play(test: &str, count: usize) {
    if !moved(test) {
        return;
    }
    let minutes = env::var("QUORUM_MINUTES").map(|minutes| minutes.parse().expect("minutes"));
    let lasts = minutes.map_or(Duration::from_secs(20), |it: u64| Duration::from_secs(60 * it));
    let seed = env::var("QUORUM_SEED").map_or_else(
        |_| election_tokio::now().as_nanos() % 1_000_000,
        |seed| seed.parse().expect("a seed"),
    );
    let tls = env::var("QUORUM_TLS").map_or(seed % 2 == 1, |answer| answer == "yes");
    println!("QUORUM_SEED={seed}, {count} nodes, {lasts:?}, with certificates: {tls}");
    let router = Router::new(count);
    let mut nodes = Nodes::on(&router);
    let authority = tls.then(Authority::new);
    let certified = |authority| (0..count).map(|node| nodes.certify(node, authority)).collect();
    let _folders: Vec<_> = authority.as_ref().map(certified).unwrap_or_default();
    (0..count).for_each(|node| nodes.start(node));
    nodes.leader_after(0);
    let random = Random::new(seed);
    let mut chaos = Chaos { nodes, router, random, undo: Vec::new(), recoveries: BTreeMap::new() };
    let ends = Instant::now() + lasts;
    while Instant::now() < ends {
        chaos.round();
    }
    let tenures = chaos.nodes.tenures().len();
    println!("{tenures} leaderships, no violation");
    for (fault, mut times) in chaos.recoveries {
        times.sort();
        let (p50, worst) = (times[times.len() / 2], times[times.len() - 1]);
        println!("{fault:?}: {} times, acts again p50 {p50:.1?}, worst {worst:.1?}", times.len());
    }
}

#[test]
fn three() {
    play("chaos::three", 3);
}

#[test]
fn five() {
    play("chaos::five", 5);
}

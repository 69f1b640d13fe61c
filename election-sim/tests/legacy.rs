//! Clusters in which some members run kevy-elect: how long they have no primary.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use election_sim::{
    Cluster, DurationRange, Fault, FaultKind, Line, LineKind, Schedule, Sim, Software, Swarm, World,
};
use std::{sync::Arc, time::Duration};

const DOWN: Duration = Duration::from_secs(2);
const SECOND: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(45);

/// `LEGACY_RUNS` sets how many runs a figure stands on.
fn runs() -> u64 {
    std::env::var("LEGACY_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(12)
}

fn mixed(nodes: usize, legacy: &[usize], seed: u64) -> Schedule {
    let mut schedule = Schedule { seed, horizon: MOST, ..Schedule::calm_quorum(nodes, DOWN) };
    schedule.latency = DurationRange::millis(1, 5);
    schedule.cluster = Some(Cluster { history: false, ..Cluster::of(DOWN) });
    for node in legacy {
        schedule.nodes[*node].software = Software::Legacy;
    }
    schedule
}

/// When somebody is elected from this instant on, if it happens in time.
fn elected(schedule: &Schedule, since: Duration) -> Option<Duration> {
    let mut world = World::new(schedule.clone()).unwrap();
    world.write_down();
    world.run();
    let lines = world.take_lines();
    let elected = |line: &&Line| {
        line.at >= since && line.kind == LineKind::Change && line.text.starts_with("elected")
    };
    Some(lines.iter().find(elected)?.at - since)
}

/// The nodes that lead at this instant.
fn leaders(schedule: &Schedule, at: Duration) -> Vec<usize> {
    let mut world = World::new(Schedule { horizon: at, ..schedule.clone() }).unwrap();
    world.run();
    world.view().leaders().map(|(node, _)| node).collect()
}

/// A cluster in which all the others are needed while some members are away.
struct Case {
    name: &'static str,
    nodes: usize,
    legacy: &'static [usize],
    away: &'static [usize],
}

impl Case {
    /// How long nobody is elected: from the start of all but some members, or from their crash if
    /// one of them leads. `None` if nobody is elected in time.
    fn outage(&self, crash: bool, seed: u64) -> Option<Option<Duration>> {
        let mut schedule = mixed(self.nodes, self.legacy, seed);
        let at = SECOND * 40 + Duration::from_micros(seed * 1_013);
        let mut crash_at = |at, lasts, node| {
            let kind = FaultKind::Crash(node);
            schedule.faults.push(Fault { at, lasts, kind });
        };
        if !crash {
            (0..self.nodes).for_each(|node| crash_at(at - SECOND, SECOND, node));
        } else if self.legacy.len() <= self.nodes / 2 {
            // kevy-elect steps aside first, where it can.
            self.legacy.iter().for_each(|node| crash_at(SECOND * 10, SECOND * 10, *node));
        }
        if crash {
            let leader = leaders(&schedule, at).into_iter().next();
            leader.filter(|leader| self.away.contains(leader))?;
        }
        schedule.horizon = at + MOST;
        for node in self.away {
            let (at, lasts) = (at - SECOND * u32::from(!crash), MOST * 2);
            schedule.faults.push(Fault { at, lasts, kind: FaultKind::Crash(*node) });
        }
        Some(elected(&schedule, at))
    }

    fn row(&self, crash: bool) -> Row {
        let all: Vec<_> = (0..runs()).filter_map(|seed| self.outage(crash, seed)).collect();
        let mut times: Vec<Duration> = all.iter().copied().flatten().collect();
        times.sort_unstable();
        let at = |part: usize| {
            let place = (times.len() * part / 100).min(times.len().saturating_sub(1));
            times.get(place).copied().unwrap_or(MOST)
        };
        let (share, half, most) = (times.len() as f64 / all.len() as f64, at(50), at(99));
        let when = if crash { "after a crash" } else { "start" };
        let runs = all.len();
        println!(
            "| {}, {when} | {runs} | {:.1} % | {half:.1?} | {most:.1?} |",
            self.name,
            share * 100.0
        );
        Row { runs, share, half }
    }
}

struct Row {
    runs: usize,
    share: f64,
    half: Duration,
}

const CASES: &[Case] = &[
    Case { name: "one of three, lowest id", nodes: 3, legacy: &[0], away: &[1] },
    Case { name: "one of three, middle id", nodes: 3, legacy: &[1], away: &[0] },
    Case { name: "one of three, highest id", nodes: 3, legacy: &[2], away: &[0] },
    Case { name: "two of three, lowest ids", nodes: 3, legacy: &[0, 1], away: &[0] },
    Case { name: "two of three, highest ids", nodes: 3, legacy: &[1, 2], away: &[2] },
    Case { name: "two of five", nodes: 5, legacy: &[0, 3], away: &[1, 2] },
];

#[test]
fn a_mixed_cluster_elects_even_if_it_needs_every_vote() {
    println!("| legacy | runs | elected | p50 | p99 |\n| --- | --- | --- | --- | --- |");
    for case in CASES {
        for crash in [false, true] {
            let Row { runs, share, half } = case.row(crash);
            let enough = share >= 1.0 && half <= SECOND * 3;
            assert!(runs == 0 || enough, "{} {crash} {share}", case.name);
        }
    }
}

#[test]
fn what_is_promised_beside_kevy_elect_holds() {
    let swarm = Swarm::within_contract().of_quorum().with_legacy();
    let mixed = |seed: &u64| swarm.schedule(*seed).has_legacy();
    assert!((0..400).filter(mixed).count() > 50);
    Sim::new("what_is_promised_beside_kevy_elect_holds")
        .faults(swarm)
        .seeds(0..400)
        .sometimes("somebody leads", |view| view.leaders().next().is_some())
        .run();
}

/// kevy-elect's host stops by itself before the others elect.
#[test]
fn a_cut_off_kevy_elect_primary_stops_before_another_leads() {
    let mut led = 0;
    for seed in 0..40 {
        let mut schedule = mixed(3, &[0], seed);
        let at = SECOND * 30 + Duration::from_millis(seed * 7);
        let fault = |at, lasts, kind| Fault { at, lasts, kind };
        schedule.faults = vec![
            fault(SECOND * 10, SECOND * 10, FaultKind::Crash(1)),
            fault(at, SECOND * 10, FaultKind::Part(vec![0])),
        ];
        schedule.horizon = at + SECOND * 10;
        let (_, lines) = schedule.narrate(&Arc::default()).unwrap();
        let changes = |word: &str| {
            let since = lines.iter().filter(|line| line.at >= at && line.kind == LineKind::Change);
            since.filter(|line| line.text.starts_with(word)).map(|line| line.at).min()
        };
        if leaders(&schedule, at) != [0] {
            continue;
        }
        led += 1;
        assert!(changes("lost").unwrap() < changes("elected").unwrap(), "seed {seed}");
    }
    assert!(led > 20, "kevy-elect led in {led} runs only");
}

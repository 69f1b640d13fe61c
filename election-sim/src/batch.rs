//! Plays many seeds, several at a time, with results that do not depend on the number of jobs.
//!
//! Seeds are dealt out in chunks of a fixed size, and the chunks' results are merged in order. When
//! a seed fails, all earlier seeds are still played and all later ones are discarded, so the first
//! failure is the same on one core and on a hundred.

use crate::{
    draw::mix,
    outcome::Outcome,
    schedule::{Schedule, ScheduleError},
    simulator::Violation,
    workload::Workload,
};
use std::{
    cmp::Reverse,
    collections::BTreeMap,
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Seeds per chunk.
const CHUNK: u64 = 32;
/// One seed in this many is played twice, and the hashes of the two runs are compared.
const REPLAYED: u64 = 20;

/// How much to play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The seeds to play.
    pub seeds: Range<u64>,
    /// The real time after which playing stops, even if seeds are left.
    pub time: Option<Duration>,
    /// The number of seeds played at once; zero means one per core.
    pub jobs: usize,
}

/// The result of many runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of seeds played, the failing one included.
    pub seeds: u64,
    /// The number of seeds played twice.
    pub replayed: u64,
    /// The number of events in all runs.
    pub events: u64,
    /// The true time in all runs.
    pub simulated: Duration,
    /// The number of elections in all runs.
    pub elections: u64,
    /// The hashes of all runs, combined.
    pub hash: u64,
    /// How often each `sometimes` condition of the workload came true.
    pub reached: Vec<u64>,
    /// For each invariant, the number of runs beyond the contract that broke it.
    pub broken: BTreeMap<&'static str, u64>,
    /// The run that reached the most `sometimes` conditions, and among such runs the one with the
    /// most elections: how many of either, and its seed. The lowest seed wins.
    pub(crate) furthest: Option<(usize, u64, Reverse<u64>)>,
    /// The first seed that failed.
    pub failure: Option<(u64, Violation)>,
}

impl Budget {
    /// Plays each seed with the schedule that `make` returns for it. `progress` is called with the
    /// number of seeds finished since the last call.
    ///
    /// # Errors
    /// If a seed gives an invalid schedule.
    pub fn play(
        &self,
        workload: &Arc<Workload>,
        make: &(dyn Fn(u64) -> Schedule + Sync),
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Summary, ScheduleError> {
        let table = Table {
            budget: self,
            workload,
            make,
            progress,
            until: self.time.map(|time| Instant::now() + time),
            next: AtomicU64::new(self.seeds.start),
            failed: AtomicU64::new(u64::MAX),
            chunks: Mutex::default(),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = if self.jobs == 0 { cores } else { self.jobs };
        std::thread::scope(|scope| {
            for _ in 1..jobs {
                scope.spawn(|| table.work());
            }
            table.work();
        });
        let chunks = table.chunks.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut all = Summary { reached: vec![0; workload.sometimes.len()], ..Summary::default() };
        for chunk in chunks.into_values() {
            all.add(chunk?);
            if all.failure.is_some() {
                break;
            }
        }
        Ok(all)
    }
}

/// The state that the workers share.
struct Table<'a> {
    budget: &'a Budget,
    workload: &'a Arc<Workload>,
    make: &'a (dyn Fn(u64) -> Schedule + Sync),
    progress: &'a (dyn Fn(u64) + Sync),
    /// When to stop. Without it, no clock is needed.
    until: Option<Instant>,
    next: AtomicU64,
    failed: AtomicU64,
    chunks: Mutex<BTreeMap<u64, Result<Summary, ScheduleError>>>,
}

impl Table<'_> {
    fn work(&self) {
        loop {
            let start = self.next.fetch_add(CHUNK, Ordering::Relaxed);
            let late = self.until.is_some_and(|until| Instant::now() >= until);
            // The first chunk is always played: a run that plays nothing proves nothing.
            let first = start == self.budget.seeds.start;
            let over = start >= self.budget.seeds.end || (late && !first);
            if over || start > self.failed.load(Ordering::Relaxed) {
                return;
            }
            let end = start.saturating_add(CHUNK).min(self.budget.seeds.end);
            let chunk = self.chunk(start..end);
            if !matches!(&chunk, Ok(Summary { failure: None, .. })) {
                self.failed.fetch_min(start, Ordering::Relaxed);
            }
            self.chunks.lock().unwrap_or_else(PoisonError::into_inner).insert(start, chunk);
        }
    }

    fn chunk(&self, seeds: Range<u64>) -> Result<Summary, ScheduleError> {
        let mut summary =
            Summary { reached: vec![0; self.workload.sometimes.len()], ..Summary::default() };
        for seed in seeds {
            let schedule = (self.make)(seed);
            let outcome = schedule.play_with(self.workload)?;
            let again = mix(seed) % REPLAYED == 0;
            let differs = again && schedule.play_with(self.workload)?.hash != outcome.hash;
            summary.replayed += u64::from(again);
            summary.count(seed, &outcome);
            (self.progress)(1);
            let violation = match differs {
                true => Some(not_deterministic(&schedule, self.workload)?),
                false => outcome.violation,
            };
            if let Some(violation) = violation {
                summary.failure = Some((seed, violation));
                break;
            }
        }
        Ok(summary)
    }
}

impl Summary {
    /// The result of one run.
    pub(crate) fn of(seed: u64, outcome: &Outcome) -> Self {
        let mut one = Self { reached: vec![0; outcome.reached.len()], ..Self::default() };
        one.count(seed, outcome);
        one
    }

    fn count(&mut self, seed: u64, outcome: &Outcome) {
        self.seeds += 1;
        self.events += outcome.events;
        self.simulated += outcome.length;
        self.elections += outcome.elections;
        self.hash = mix(self.hash ^ outcome.hash);
        for (count, reached) in self.reached.iter_mut().zip(&outcome.reached) {
            *count += u64::from(*reached);
        }
        if !outcome.reached.is_empty() {
            let reached = outcome.reached.iter().filter(|reached| **reached).count();
            self.furthest = self.furthest.max(Some((reached, outcome.elections, Reverse(seed))));
        }
        for name in &outcome.broken {
            *self.broken.entry(name).or_default() += 1;
        }
    }

    fn add(&mut self, chunk: Self) {
        self.seeds += chunk.seeds;
        self.replayed += chunk.replayed;
        self.events += chunk.events;
        self.simulated += chunk.simulated;
        self.elections += chunk.elections;
        self.hash = mix(self.hash ^ chunk.hash);
        for (all, count) in self.reached.iter_mut().zip(chunk.reached) {
            *all += count;
        }
        for (name, count) in chunk.broken {
            *self.broken.entry(name).or_default() += count;
        }
        self.furthest = self.furthest.max(chunk.furthest);
        self.failure = chunk.failure;
    }
}

/// Says where two runs of this schedule part.
pub(crate) fn not_deterministic(
    schedule: &Schedule,
    workload: &Arc<Workload>,
) -> Result<Violation, ScheduleError> {
    let (one, other) = (schedule.narrate(workload)?.1, schedule.narrate(workload)?.1);
    let parting = one.iter().zip(&other).find(|(one, other)| one != other);
    let at = parting.map_or(Duration::ZERO, |(one, _)| one.at);
    let mut what = "the same schedule, played twice, gave two different runs".to_owned();
    if let Some((one, other)) = parting {
        what += &format!(", which part here: {:?}, and {:?}", one.text, other.text);
    }
    Ok(Violation { check: "determinism".into(), at, what })
}

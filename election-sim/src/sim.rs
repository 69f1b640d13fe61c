//! The one line in a test.

use crate::{
    app::App,
    batch::{Budget, Summary},
    report::Report,
    schedule::{Engine, Schedule, ScheduleError, Timing},
    seed::Seed,
    swarm::Swarm,
    workload::{View, Workload},
};
use std::{env, ops::Range, path::PathBuf, sync::Arc, time::Duration};

/// A simulation test: built in an ordinary `#[test]`, run over many seeds.
///
/// ```
/// use election_sim::Sim;
/// use std::time::Duration;
///
/// let sim = Sim::new("quickly_elected").nodes(3).seeds(0..50);
/// sim.recovers_within(Duration::from_secs(90)).run();
/// ```
///
/// When a seed fails, [`run`](Sim::run) panics with the command that plays it again, the shrunk
/// schedule and a timeline. Environment variables override the code: `ELECTION_SIM_SEED` plays one
/// seed, `ELECTION_SIM_SEEDS` so many, `ELECTION_SIM_BUDGET` so many seconds, `ELECTION_SIM_JOBS`
/// at once. The results do not depend on the number of jobs.
#[derive(Clone, Debug)]
#[must_use = "a simulation that is not run finds nothing"]
pub struct Sim {
    name: String,
    swarm: Swarm,
    workload: Workload,
    recovers_within: Option<Duration>,
    seeds: Range<u64>,
    budget: Option<Duration>,
    jobs: usize,
}

/// What is wrong with a simulation before it starts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// No seeds or no time.
    #[error("a budget of nothing finds nothing; give at least one seed, and more than no time")]
    NoBudget,
    /// The world cannot be.
    #[error(transparent)]
    ScheduleError(#[from] ScheduleError),
    /// An environment variable that cannot be read.
    #[error("{name}={value:?}: expected {expected}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A condition that must come true in some run came true in none.
    #[error("{0:?} never came true in {1} runs")]
    NeverReached(String, u64),
}

/// A simulation that did not pass.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// It could not be run, or did not reach what it should.
    #[error(transparent)]
    Invalid(#[from] SimError),
    /// A seed violates an invariant.
    #[error("{0}")]
    Violated(Box<Report>),
}

impl Sim {
    /// A simulation of this name: that of the test function, so that the replay command finds it.
    /// Unless told otherwise it plays 1,000 seeds of [`Swarm::within_contract`].
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            swarm: Swarm::within_contract(),
            workload: Workload::default(),
            recovers_within: None,
            seeds: 0..1_000,
            budget: None,
            jobs: 0,
        }
    }

    /// So many nodes in every run.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.swarm.nodes = Some(nodes);
        self
    }

    /// This timing in every run.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.swarm.timing = Some(timing);
        self
    }

    /// This engine in every run.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.swarm.engine = Some(engine);
        self
    }

    /// Faults of this kind. Keeps the nodes, timing and engine that were set.
    pub fn faults(mut self, swarm: Swarm) -> Self {
        let Swarm { nodes, timing, engine, network, .. } = self.swarm;
        let network = network && !swarm.quorum; // whose own network fails anyway
        self.swarm = Swarm { nodes, timing, engine, network, ..swarm };
        self
    }

    /// The user's own state machine: one is made for every life of a node.
    pub fn app<A: App + 'static>(
        mut self,
        make: impl Fn(usize) -> A + Send + Sync + 'static,
    ) -> Self {
        self.workload.app = Some(Arc::new(move |node| Box::new(make(node))));
        self.swarm.network = true;
        self
    }

    /// The resource does not look at tokens, as most do not.
    pub fn unfenced(mut self) -> Self {
        self.workload.unfenced = true;
        self
    }

    /// This holds after every event of every run.
    pub fn always(
        mut self,
        name: &str,
        holds: impl Fn(&View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.workload.always.push((name.to_owned(), Arc::new(holds)));
        self
    }

    /// This comes true at some time in some run, or the test proves less than it seems to.
    pub fn sometimes(
        mut self,
        name: &str,
        holds: impl Fn(&View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.workload.sometimes.push((name.to_owned(), Arc::new(holds)));
        self
    }

    /// In the last third of every run that heals, somebody leads within this time.
    pub fn recovers_within(mut self, span: Duration) -> Self {
        self.recovers_within = Some(span);
        self
    }

    /// These seeds.
    pub fn seeds(mut self, seeds: Range<u64>) -> Self {
        self.seeds = seeds;
        self
    }

    /// As many seeds as fit into this much real time.
    pub fn budget(mut self, time: Duration) -> Self {
        self.budget = Some(time);
        self.seeds = 0..u64::MAX;
        self
    }

    /// So many seeds at once; one per core unless set.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs;
        self
    }

    /// The user's part of it, for playing single schedules.
    #[must_use]
    pub fn workload(&self) -> Workload {
        self.workload.clone()
    }

    /// The schedule that it plays for a seed.
    #[must_use]
    pub fn schedule(&self, seed: u64) -> Schedule {
        let mut schedule = self.swarm.schedule(seed);
        if let (Some(heal), Some(within)) = (&mut schedule.heal, self.recovers_within) {
            heal.within = within;
            schedule.horizon = schedule.horizon.max(heal.at + within + Duration::from_secs(1));
        }
        schedule
    }

    /// Runs it, and panics with a report if it does not pass.
    ///
    /// # Panics
    /// If a seed fails, or the simulation cannot be run.
    #[track_caller]
    pub fn run(self) -> Summary {
        match self.check() {
            Ok(summary) => summary,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// With a report on the first seed that fails, or why it cannot be run.
    pub fn check(mut self) -> Result<Summary, Failure> {
        self.read_environment()?;
        if self.seeds.is_empty() || self.budget == Some(Duration::ZERO) {
            return Err(SimError::NoBudget.into());
        }
        let workload = Arc::new(self.workload.clone());
        let budget = Budget { seeds: self.seeds.clone(), time: self.budget, jobs: self.jobs };
        let make = |seed| self.schedule(seed);
        let summary = budget.play(&workload, &make, &|_| {}).map_err(SimError::from)?;
        if let Some((seed, violation)) = summary.failure {
            let mut report = Report::new(&self.name, seed, &make(seed), &workload, violation);
            // Where it cannot be written, the report still says everything.
            let _ = report.save(&directory());
            return Err(Failure::Violated(Box::new(report)));
        }
        // One replayed seed need not reach what many seeds do.
        let batch = self.seeds.end - self.seeds.start > 1;
        let missed =
            workload.sometimes.iter().zip(&summary.reached).find(|(_, times)| **times == 0);
        match missed {
            Some(((name, _), _)) if batch => {
                Err(SimError::NeverReached(name.clone(), summary.seeds).into())
            }
            _ => Ok(summary),
        }
    }

    fn read_environment(&mut self) -> Result<(), SimError> {
        if let Some(Seed(seed)) = variable("ELECTION_SIM_SEED", "a seed, as in 7 or 0x2a")? {
            self.seeds = seed..seed.saturating_add(1);
            self.budget = None;
            return Ok(());
        }
        if let Some(count) = variable("ELECTION_SIM_SEEDS", "a number of seeds")? {
            self.seeds = 0..count;
            self.budget = None;
        }
        if let Some(seconds) = variable("ELECTION_SIM_BUDGET", "whole seconds")? {
            self.seeds = 0..u64::MAX;
            self.budget = Some(Duration::from_secs(seconds));
        }
        if let Some(jobs) = variable("ELECTION_SIM_JOBS", "a number of jobs")? {
            self.jobs = jobs;
        }
        Ok(())
    }
}

fn variable<T: std::str::FromStr>(
    name: &'static str,
    expected: &'static str,
) -> Result<Option<T>, SimError> {
    match env::var(name) {
        Ok(value) => match value.parse() {
            Ok(read) => Ok(Some(read)),
            Err(_) => Err(SimError::Environment { name, value, expected }),
        },
        Err(_) => Ok(None),
    }
}

/// Where shrunk schedules go: beside what cargo builds, which is not committed. A test runs in its
/// package's directory, and the build of a workspace stands further up, beside its lock file.
fn directory() -> PathBuf {
    if let Some(target) = env::var_os("CARGO_TARGET_DIR") {
        return PathBuf::from(target).join("election-sim");
    }
    let here = env::current_dir().unwrap_or_default();
    let root = here.ancestors().find(|place| place.join("Cargo.lock").is_file()).unwrap_or(&here);
    root.join("target").join("election-sim")
}

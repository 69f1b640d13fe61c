//! The one line in a test.

use crate::{
    app::{App, Write},
    batch::{Budget, Summary, not_deterministic},
    cargo,
    progress::Progress,
    report::{self, Report},
    schedule::{Engine, Schedule, ScheduleError, Timing},
    scn::Scn,
    seed::Seed,
    span::DurationRange,
    svg::html,
    swarm::Swarm,
    unreached::Unreached,
    workload::{Code, EachWrite, View, Workload},
};
use std::{
    env, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

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
/// When a seed fails, [`run`](Sim::run) panics with the commands that play it again, the shrunk
/// schedule, a timeline, and what the app did last. It writes the schedule as a `.scn` file into
/// `election-sim` in cargo's build output, and beside it a page with a picture of everything. A
/// panic of the app or of a condition fails its seed like a violated invariant.
///
/// A run that takes long says on standard error how far it is: every second on a terminal, every ten
/// elsewhere.
///
/// Environment variables of the test override the code:
///
/// | variable | what it sets | instead of |
/// | --- | --- | --- |
/// | `ELECTION_SIM_SCN=FILE` | plays this `.scn` file, with the app and conditions of the test | [`replay`](Sim::replay) |
/// | `ELECTION_SIM_SEED=0x2a` | plays one seed, decimal or hexadecimal | [`seeds`](Sim::seeds) |
/// | `ELECTION_SIM_SEEDS=5000` | plays the seeds from 0 up to this number | [`seeds`](Sim::seeds) |
/// | `ELECTION_SIM_BUDGET=60` | plays for this many whole seconds | [`budget`](Sim::budget) |
/// | `ELECTION_SIM_JOBS=2` | plays this many seeds at once, which changes no result | [`jobs`](Sim::jobs) |
#[derive(Clone, Debug)]
#[must_use = "a simulation that is not run finds nothing"]
pub struct Sim {
    name: String,
    swarm: Swarm,
    workload: Workload,
    recovers_within: Option<Duration>,
    writes_take: Option<DurationRange>,
    seeds: Range<u64>,
    budget: Option<Duration>,
    jobs: usize,
}

/// Why a simulation cannot start or proves too little.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// There are no seeds or there is no time.
    #[error("a budget of nothing finds nothing; give at least one seed, and more than no time")]
    NoBudget,
    /// The schedule is invalid.
    #[error(transparent)]
    ScheduleError(#[from] ScheduleError),
    /// The value of an environment variable cannot be read.
    #[error("{name}={value:?}: expected {expected}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// The variable's value.
        value: String,
        /// The expected kind of value.
        expected: &'static str,
    },
    /// A condition that must come true in at least one run came true in none.
    #[error("{0}")]
    NeverReached(Box<Unreached>),
    /// A `.scn` file cannot be read.
    #[error("{}: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong, and what to do about it.
        why: String,
    },
}

/// A simulation that did not pass.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// It could not run, or never reached a `sometimes` condition.
    #[error(transparent)]
    Invalid(#[from] SimError),
    /// A seed violates an invariant.
    #[error("{0}")]
    Violated(Box<Report>),
}

impl Sim {
    /// A simulation with this name, which should be that of the test function: files are named after it
    /// and the test, and with `--test-threads=1` the replay command uses it. By default it plays 1,000 seeds of [`Swarm::within_contract`].
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            swarm: Swarm::within_contract(),
            workload: Workload::default(),
            recovers_within: None,
            writes_take: None,
            seeds: 0..1_000,
            budget: None,
            jobs: 0,
        }
    }

    /// Fixes the number of nodes in every run.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.swarm.nodes = Some(nodes);
        self
    }

    /// Fixes the timing in every run.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.swarm.timing = Some(timing);
        self
    }

    /// Fixes the engine in every run.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.swarm.engine = Some(engine);
        self
    }

    /// Draws faults from this swarm. Keeps the nodes, timing and engine that were set.
    pub fn faults(mut self, swarm: Swarm) -> Self {
        let Swarm { nodes, timing, engine, network, .. } = self.swarm;
        self.swarm = Swarm {
            nodes: nodes.or(swarm.nodes),
            timing: timing.or(swarm.timing),
            engine: engine.or(swarm.engine),
            network: network || swarm.network,
            ..swarm
        };
        self
    }

    /// Runs the user's own state machine: every life of a node gets a new one. It takes the place of a
    /// `service`.
    pub fn app<A: App + 'static>(
        mut self,
        make: impl Fn(usize) -> A + Send + Sync + 'static,
    ) -> Self {
        self.workload.code = Some(Code::App(Arc::new(move |node| Box::new(make(node)))));
        self.swarm.network = true;
        self
    }

    /// Runs the user's own service, with the real driver in it, in place of an [`app`](Self::app). Every
    /// life of a node calls `service`, and ends when the future completes or the process crashes. A
    /// process that has ended by itself starts again a second later, as under a supervisor.
    ///
    /// Needs the feature `service`. A closure that captures something is written
    /// `move |node: Node| { let own = own.clone(); async move { … } }`. Takes part by [`Node::election`](crate::service::Node::election), or in
    /// a [quorum](Swarm::of_quorum) by [`Node::cluster`](crate::service::Node::cluster).
    ///
    /// ```
    /// use election_sim::{Sim, service::Node};
    ///
    /// Sim::new("counter").nodes(2).seeds(0..10).service(async |node: Node| {
    ///     let election = node.election().build()?;
    ///     let work = async |lease: election_driver::Lease<_>| {
    ///         while lease.check().is_ok() {
    ///             let _ = node.write(lease.epoch(), "counted").decided().await;
    ///         }
    ///         Ok::<_, std::convert::Infallible>(())
    ///     };
    ///     election.run_while_leader(work).await?;
    ///     Ok::<_, Box<dyn std::error::Error>>(())
    /// }).run();
    /// ```
    #[cfg(feature = "service")]
    pub fn service<F>(
        mut self,
        service: impl Fn(crate::service::Node) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output: std::fmt::Debug> + 'static,
    {
        self.workload.code = Some(Code::Service(crate::service::make(service)));
        self.swarm.network = true;
        self
    }

    /// Lets the resource ignore tokens, as most resources do.
    pub fn unfenced(mut self) -> Self {
        self.workload.unfenced = true;
        self
    }

    /// Demands that this condition holds after every event of every run.
    pub fn always(
        mut self,
        name: &str,
        holds: impl Fn(&View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.workload.always.push((name.to_owned(), Arc::new(holds)));
        self
    }

    /// Demands that this condition comes true at some time in some run; otherwise the test proves
    /// less than it seems to.
    pub fn sometimes(
        mut self,
        name: &str,
        holds: impl Fn(&View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.workload.sometimes.push((name.to_owned(), Arc::new(holds)));
        self
    }

    /// Demands that this condition holds for each write that the resource accepts. It remembers what
    /// it needs of the earlier ones of the same run, and costs far less than a look at all of them
    /// after every event.
    ///
    /// ```
    /// # use election_sim::Sim;
    /// # use std::collections::BTreeSet;
    /// # fn with(sim: Sim) -> Sim {
    /// sim.each_write("nothing twice", BTreeSet::new, |seen, write| seen.insert(write.what.clone()))
    /// # }
    /// ```
    pub fn each_write<T: 'static>(
        mut self,
        name: &str,
        start: impl Fn() -> T + Send + Sync + 'static,
        holds: impl Fn(&mut T, &Write) -> bool + Send + Sync + 'static,
    ) -> Self {
        let holds = Arc::new(holds);
        let make = move || -> EachWrite {
            let (mut remembered, holds) = (start(), Arc::clone(&holds));
            Box::new(move |write| holds(&mut remembered, write))
        };
        self.workload.each_write.push((name.to_owned(), Arc::new(make)));
        self
    }

    /// How long a write travels to the resource. Unless set, each run draws it, up to twice the lease,
    /// since a write that arrives after the lease is what a fence is for. A resource without one
    /// ([`unfenced`](Self::unfenced)) takes such a write whatever its sender does; a travel time well
    /// below the lease leaves only the faults of the service itself.
    pub fn writes_take(mut self, range: DurationRange) -> Self {
        self.writes_take = Some(range);
        self
    }

    /// Demands a leader within this time in the last third of every run that heals.
    pub fn recovers_within(mut self, span: Duration) -> Self {
        self.recovers_within = Some(span);
        self
    }

    /// Plays these seeds.
    pub fn seeds(mut self, seeds: Range<u64>) -> Self {
        self.seeds = seeds;
        self
    }

    /// Plays as many seeds as fit into this much real time.
    pub fn budget(mut self, time: Duration) -> Self {
        self.budget = Some(time);
        self.seeds = 0..u64::MAX;
        self
    }

    /// Plays this many seeds at once; the default is one per core.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs;
        self
    }

    /// The user's part of the simulation, for playing single schedules.
    #[must_use]
    pub fn workload(&self) -> Workload {
        self.workload.clone()
    }

    /// The schedule that the simulation plays for this seed.
    #[must_use]
    pub fn schedule(&self, seed: u64) -> Schedule {
        let mut schedule = self.swarm.schedule(seed);
        if let (Some(heal), Some(within)) = (&mut schedule.heal, self.recovers_within) {
            heal.within = within;
            schedule.horizon = schedule.horizon.max(heal.at + within + Duration::from_secs(1));
        }
        schedule.act = self.writes_take.unwrap_or(schedule.act);
        schedule
    }

    /// Runs the simulation, and panics with a report if it does not pass.
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

    /// Runs the simulation.
    ///
    /// # Errors
    /// With a report on the first seed that fails, or the reason why the simulation cannot run.
    pub fn check(mut self) -> Result<Summary, Failure> {
        if let Some(file) = env::var_os("ELECTION_SIM_SCN") {
            return self.play_file(Path::new(&file), true);
        }
        self.read_environment()?;
        if self.seeds.is_empty() || self.budget == Some(Duration::ZERO) {
            return Err(SimError::NoBudget.into());
        }
        let workload = Arc::new(self.workload.clone());
        let budget = Budget { seeds: self.seeds.clone(), time: self.budget, jobs: self.jobs };
        let make = |seed| self.schedule(seed);
        let progress = Progress::new(&self.name, self.seeds.end - self.seeds.start, self.budget);
        let summary = budget.play(&workload, &make, &|seeds| progress.add(seeds));
        progress.end();
        let summary = summary.map_err(SimError::from)?;
        if let Some((seed, violation)) = summary.failure {
            let mut report = Report::new(&self.name, seed, &make(seed), &workload, violation);
            // The report says everything without its files, too.
            tell_unwritten(report.save(&cargo::directory()));
            return Err(Failure::Violated(Box::new(report)));
        }
        // One replayed seed need not reach what many seeds reach.
        let batch = self.seeds.end - self.seeds.start > 1;
        match Unreached::of(&workload, &summary).filter(|_| batch) {
            Some(unreached) => Err(self.never_reached(unreached, &workload)),
            None => Ok(summary),
        }
    }

    /// Plays the schedule of a `.scn` file with this app and these conditions, and panics with a
    /// report if an invariant or an `always` condition is violated. The seeds, faults, nodes and
    /// timing set here play no part.
    ///
    /// A relative path is sought in the current directory, which is that of the package in a test,
    /// and in the directories above it up to the workspace's.
    ///
    /// ```no_run
    /// # use election_sim::Sim;
    /// # let sim = || Sim::new("scheduler");
    /// sim().replay("target/election-sim/scheduler-0x6b.scn");
    /// ```
    ///
    /// # Panics
    /// If the run fails, or the file cannot be read.
    #[track_caller]
    pub fn replay(self, file: impl AsRef<Path>) -> Summary {
        match self.check_replay(file) {
            Ok(summary) => summary,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// The same without a panic.
    ///
    /// # Errors
    /// With a report if the run fails, or the reason why the file cannot be read.
    pub fn check_replay(self, file: impl AsRef<Path>) -> Result<Summary, Failure> {
        self.play_file(file.as_ref(), false)
    }

    /// Plays a file. `asked`: somebody wants to see the run, even if it passes.
    fn play_file(&self, file: &Path, asked: bool) -> Result<Summary, Failure> {
        let (scn, file) = read(file)?;
        let workload = Arc::new(self.workload.clone());
        let (outcome, lines) = scn.schedule.narrate(&workload).map_err(SimError::from)?;
        let name = file.file_stem().map(|stem| report::file_name(&stem.to_string_lossy()));
        let page = cargo::directory().join(name.unwrap_or_default()).with_extension("html");
        let differs = || Ok::<_, SimError>(scn.schedule.play_with(&workload)?.hash != outcome.hash);
        let violation = match &outcome.violation {
            None if differs()? => {
                Some(not_deterministic(&scn.schedule, &workload).map_err(SimError::from)?)
            }
            violation => violation.clone(),
        };
        if let Some(violation) = violation {
            let run = (&outcome, &*lines);
            let mut report = Report::of_file(&self.name, (scn, file), violation, run);
            tell_unwritten(report.save_page(page));
            return Err(Failure::Violated(Box::new(report)));
        }
        if asked {
            println!("{}: {}: nothing violated", self.name, file.display());
            tell_unwritten(report::put(&page, &html(&scn.schedule, &outcome, &lines)));
            println!("the picture: {}", cargo::url(&page));
        }
        Ok(Summary::of(scn.schedule.seed, &outcome))
    }

    /// Draws the run that came closest to a condition that was never reached.
    fn never_reached(&self, mut unreached: Unreached, workload: &Arc<Workload>) -> Failure {
        if let Some(Seed(seed)) = unreached.furthest {
            let schedule = self.schedule(seed);
            if let Ok((outcome, lines)) = schedule.narrate(workload) {
                let name = format!("{}-{}.html", report::named(&self.name), Seed(seed));
                let page = cargo::directory().join(name);
                let written = report::put(&page, &html(&schedule, &outcome, &lines));
                unreached.page = written.is_ok().then_some(page);
                tell_unwritten(written);
            }
        }
        SimError::NeverReached(Box::new(unreached)).into()
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

fn tell_unwritten(written: io::Result<()>) {
    if let Err(why) = written {
        eprintln!("election-sim: {why}");
    }
}

fn read(path: &Path) -> Result<(Scn, PathBuf), SimError> {
    let unreadable = |file: &Path, why| SimError::File { file: file.to_owned(), why };
    let file = cargo::find(path).map_err(|places| {
        let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        unreadable(path, format!("there is no such file in {}", places.join(", nor in ")))
    })?;
    let text = std::fs::read_to_string(&file)
        .map_err(|why| unreadable(&file, format!("it cannot be read as text: {why}")))?;
    let scn =
        text.parse().map_err(|why: crate::scn::ScnError| unreadable(&file, why.to_string()))?;
    Ok((scn, file))
}

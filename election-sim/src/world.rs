//! The world from outside: one of two simulators, chosen by the protocol that is played.

use crate::{
    draw::mix,
    fault::Fault,
    lease::{LeaseEnvironment, Many},
    outcome::Outcome,
    quorum::QuorumEnvironment,
    schedule::{Schedule, ScheduleError},
    simulator::{CheckerSet, Environment, Simulator, Violation},
    trace::Line,
    workload::{View, Workload},
};
use std::{fmt, sync::Arc, time::Duration};

/// A run in progress.
pub struct World(Kind);

enum Kind {
    Lease(Box<Simulator<LeaseEnvironment>>),
    Many(Box<Many>),
    Quorum(Box<Simulator<QuorumEnvironment>>),
}

/// The same for either simulator, and for the one election of many that is shown.
macro_rules! either {
    ($world:expr, $simulator:ident => $what:expr) => {
        either!($world, $simulator => $what, many => {
            let $simulator = many.shown();
            $what
        })
    };
    ($world:expr, $simulator:ident => $what:expr, $many:ident => $of_many:expr) => {
        match $world {
            Kind::Lease($simulator) => $what,
            Kind::Quorum($simulator) => $what,
            Kind::Many($many) => $of_many,
        }
    };
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        either!(&self.0, simulator => simulator.fmt(f))
    }
}

impl World {
    /// The world of this schedule, before anything has happened.
    ///
    /// # Errors
    /// If the schedule is invalid.
    pub fn new(schedule: Schedule) -> Result<Self, ScheduleError> {
        Self::with(schedule, Arc::default())
    }

    /// The same, with a user's app and conditions.
    ///
    /// # Errors
    /// If the schedule is invalid.
    pub fn with(schedule: Schedule, workload: Arc<Workload>) -> Result<Self, ScheduleError> {
        if schedule.has_legacy() && workload.runs_services() {
            return Err(ScheduleError::ServiceBesideLegacy);
        }
        if schedule.changes_lists() && workload.runs_services() {
            return Err(ScheduleError::ServiceWithChanges);
        }
        if schedule.elections > 1 && workload.runs_code() {
            return Err(ScheduleError::CodeInManyElections);
        }
        Ok(Self(match schedule.cluster {
            None if schedule.elections > 1 => {
                schedule.check()?;
                Kind::Many(Box::new(Many::new(&schedule, &workload)?))
            }
            None => Kind::Lease(Box::new(Simulator::new(schedule, workload)?)),
            Some(_) => Kind::Quorum(Box::new(Simulator::new(schedule, workload)?)),
        }))
    }

    /// Plays on to the end, or to the first violation.
    pub fn run(&mut self) -> Option<&Violation> {
        either!(&mut self.0, simulator => simulator.run(), many => many.run())
    }

    /// The view that conditions get.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        either!(&self.0, simulator => View { world: &**simulator }, many => View { world: many.shown() })
    }

    /// The number of events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.outcome().events
    }

    /// Records what happens from now on.
    pub fn write_down(&mut self) {
        either!(&mut self.0, simulator => simulator.write_down(), many => {
            many.worlds_mut().iter_mut().for_each(Simulator::write_down);
        });
    }

    /// Takes the recorded lines.
    pub fn take_lines(&mut self) -> Vec<Line> {
        either!(&mut self.0, simulator => simulator.trace.take_lines(), many => {
            many.shown_mut().trace.take_lines()
        })
    }

    /// Takes everything that chance did, as faults that do the same.
    pub(crate) fn take_chances(&mut self) -> Vec<Fault> {
        either!(&mut self.0, simulator => std::mem::take(&mut simulator.chances), many => {
            many.take_chances()
        })
    }

    pub(crate) fn outcome(&self) -> Outcome {
        either!(&self.0, simulator => outcome(simulator), many => {
            let mut all = outcome(many.shown());
            (all.events, all.elections, all.hash) = (0, 0, 0);
            for world in many.worlds() {
                let one = outcome(world);
                all.events += one.events;
                all.elections += one.elections;
                all.hash = mix(all.hash ^ one.hash);
            }
            all
        })
    }
}

fn outcome<S: Environment>(simulator: &Simulator<S>) -> Outcome {
    Outcome {
        violation: simulator.violation.clone(),
        hash: simulator.trace.hash(simulator.events),
        events: simulator.events,
        length: Duration::from_nanos(simulator.now),
        elections: simulator.elections,
        reached: simulator.reached.clone(),
        broken: simulator.checkers.broken().iter().copied().collect(),
    }
}

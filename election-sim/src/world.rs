//! The world from outside: one of two simulators, chosen by the protocol that is played.

use crate::{
    fault::Fault,
    lease::LeaseEnvironment,
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
    Quorum(Box<Simulator<QuorumEnvironment>>),
}

/// The same for either simulator.
macro_rules! either {
    ($world:expr, $simulator:ident => $what:expr) => {
        match $world {
            Kind::Lease($simulator) => $what,
            Kind::Quorum($simulator) => $what,
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
        Ok(Self(match schedule.cluster {
            None => Kind::Lease(Box::new(Simulator::new(schedule, workload)?)),
            Some(_) => Kind::Quorum(Box::new(Simulator::new(schedule, workload)?)),
        }))
    }

    /// Plays on to the end, or to the first violation.
    pub fn run(&mut self) -> Option<&Violation> {
        either!(&mut self.0, simulator => simulator.run())
    }

    /// The view that conditions get.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        either!(&self.0, simulator => View { world: &**simulator })
    }

    /// The number of events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        either!(&self.0, simulator => simulator.events)
    }

    /// Records what happens from now on.
    pub fn write_down(&mut self) {
        either!(&mut self.0, simulator => {
            let faults = simulator.schedule.faults.iter();
            let names = faults.map(|fault| fault.kind.to_string()).collect();
            simulator.trace.write_down(names);
        });
    }

    /// Takes the recorded lines.
    pub fn take_lines(&mut self) -> Vec<Line> {
        either!(&mut self.0, simulator => simulator.trace.take_lines())
    }

    /// Takes everything that chance did, as faults that do the same.
    pub(crate) fn take_chances(&mut self) -> Vec<Fault> {
        either!(&mut self.0, simulator => std::mem::take(&mut simulator.chances))
    }

    pub(crate) fn outcome(&self) -> Outcome {
        either!(&self.0, simulator => outcome(simulator))
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

//! The world from outside: one of two stages, by the protocol that is played.

use crate::{
    check::{Audit, Violation},
    fault::Fault,
    lease::LeaseSide,
    play::Outcome,
    quorum::QuorumSide,
    rig::{Rig, View},
    schedule::{Impossible, Schedule},
    stage::{Side, Stage},
    trace::Line,
};
use std::{fmt, sync::Arc, time::Duration};

/// A run in progress.
pub struct World(Kind);

enum Kind {
    Lease(Box<Stage<LeaseSide>>),
    Quorum(Box<Stage<QuorumSide>>),
}

/// The same for either stage.
macro_rules! either {
    ($world:expr, $stage:ident => $what:expr) => {
        match $world {
            Kind::Lease($stage) => $what,
            Kind::Quorum($stage) => $what,
        }
    };
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        either!(&self.0, stage => stage.fmt(f))
    }
}

impl World {
    /// The world of this schedule, before anything has happened.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn new(schedule: Schedule) -> Result<Self, Impossible> {
        Self::with(schedule, Arc::default())
    }

    /// The same, with a user's app and conditions.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn with(schedule: Schedule, rig: Arc<Rig>) -> Result<Self, Impossible> {
        Ok(Self(match schedule.cluster {
            None => Kind::Lease(Box::new(Stage::new(schedule, rig)?)),
            Some(_) => Kind::Quorum(Box::new(Stage::new(schedule, rig)?)),
        }))
    }

    /// Plays on to the end, or to the first violation.
    pub fn run(&mut self) -> Option<&Violation> {
        either!(&mut self.0, stage => stage.run())
    }

    /// What conditions see of it.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        either!(&self.0, stage => View { world: &**stage })
    }

    /// How many events have happened.
    #[must_use]
    pub fn events(&self) -> u64 {
        either!(&self.0, stage => stage.events)
    }

    /// Writes down what happens from now on.
    pub fn write_down(&mut self) {
        either!(&mut self.0, stage => {
            let faults = stage.schedule.faults.iter();
            let names = faults.map(|fault| crate::scn::describe(&fault.what)).collect();
            stage.trace.write_down(names);
        });
    }

    /// What has been written down.
    pub fn take_lines(&mut self) -> Vec<Line> {
        either!(&mut self.0, stage => stage.trace.take_lines())
    }

    /// What chance did, as faults that do the same.
    pub(crate) fn take_chances(&mut self) -> Vec<Fault> {
        either!(&mut self.0, stage => std::mem::take(&mut stage.chances))
    }

    pub(crate) fn outcome(&self) -> Outcome {
        either!(&self.0, stage => outcome(stage))
    }
}

fn outcome<S: Side>(stage: &Stage<S>) -> Outcome {
    Outcome {
        violation: stage.violation.clone(),
        hash: stage.trace.hash(stage.events),
        events: stage.events,
        length: Duration::from_nanos(stage.now),
        elections: stage.elections,
        reached: stage.reached.clone(),
        broken: stage.checks.broken().iter().copied().collect(),
    }
}

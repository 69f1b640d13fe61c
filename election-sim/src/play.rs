//! One schedule played to its end.

use crate::{
    outcome::Outcome,
    schedule::{Schedule, ScheduleError},
    trace::Line,
    workload::Workload,
    world::World,
};
use std::sync::Arc;

impl Schedule {
    /// Plays it.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn play(&self) -> Result<Outcome, ScheduleError> {
        self.play_with(&Arc::default())
    }

    /// Plays it with a user's app and conditions.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn play_with(&self, workload: &Arc<Workload>) -> Result<Outcome, ScheduleError> {
        let mut world = World::with(self.clone(), Arc::clone(workload))?;
        world.run();
        Ok(world.outcome())
    }

    /// Plays it and writes everything down.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn narrate(&self, workload: &Arc<Workload>) -> Result<(Outcome, Vec<Line>), ScheduleError> {
        let mut world = World::with(self.clone(), Arc::clone(workload))?;
        world.write_down();
        world.run();
        Ok((world.outcome(), world.take_lines()))
    }

    /// The same run with everything that befell by chance written out, so that each
    /// can be taken away alone.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn made_explicit(&self, workload: &Arc<Workload>) -> Result<Self, ScheduleError> {
        let mut world = World::with(self.clone(), Arc::clone(workload))?;
        world.run();
        let mut schedule = self.clone();
        let quorum = self.cluster.is_some();
        schedule.faults.retain(|fault| !fault.kind.is_written_down(quorum));
        schedule.faults.extend(world.take_chances());
        Ok(schedule)
    }
}

//! Plays one schedule to its end.

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
    /// If the schedule is invalid.
    pub fn play(&self) -> Result<Outcome, ScheduleError> {
        self.play_with(&Arc::default())
    }

    /// Plays it with a user's app and conditions.
    ///
    /// # Errors
    /// If the schedule is invalid.
    pub fn play_with(&self, workload: &Arc<Workload>) -> Result<Outcome, ScheduleError> {
        let mut world = World::with(self.clone(), Arc::clone(workload))?;
        world.run();
        Ok(world.outcome())
    }

    /// Plays it and records everything that happens.
    ///
    /// # Errors
    /// If the schedule is invalid.
    pub fn narrate(&self, workload: &Arc<Workload>) -> Result<(Outcome, Vec<Line>), ScheduleError> {
        let mut world = World::with(self.clone(), Arc::clone(workload))?;
        world.write_down();
        world.run();
        Ok((world.outcome(), world.take_lines()))
    }

    /// The same run with everything that chance did written out as faults, so that each can be
    /// removed alone.
    ///
    /// # Errors
    /// If the schedule is invalid.
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

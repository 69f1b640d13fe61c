//! When a pause ends by itself.

use crate::quorum::{machine::Quorum, maintenance::UnixMillis, state::timers::Timer};

impl Quorum {
    /// Takes a reading of the wall clock.
    pub(crate) fn wall_clock_reads(&mut self, time: UnixMillis) {
        self.failover.wall_clock_reads(self.now, time);
        self.plan_the_end();
    }

    /// Sets the time when the pause ends by itself.
    pub(crate) fn plan_the_end(&mut self) {
        self.timers.set(Timer::PauseEnd, self.failover.elapse(self.now));
        if let Some(pause) = self.failover.pause(self.now) {
            self.alerts.paused(pause);
        }
    }
}

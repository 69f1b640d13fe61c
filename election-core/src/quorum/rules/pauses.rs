//! When a pause ends by itself.

use crate::{
    Timestamp,
    quorum::{
        machine::Quorum,
        maintenance::{Remainder, UnixMillis},
        state::timers::Timer,
    },
};
use core::time::Duration;

impl Quorum {
    /// Takes a reading of the wall clock.
    pub(crate) fn wall_clock_reads(&mut self, time: UnixMillis) {
        self.upkeep.wall = Some((self.now, time));
        self.plan_the_end();
    }

    /// Sets the time when the pause ends by itself.
    pub(crate) fn plan_the_end(&mut self) {
        let (now, wall) = (self.now, self.upkeep.wall_clock(self.now));
        let Some(known) = self.upkeep.records_mut() else { return };
        if let Some(Remainder { left, at }) = known.restored {
            let latest = *known.latest.get_or_insert(now + left);
            let away = at.zip(wall).map(|(at, wall)| wall.0.saturating_sub(at.0));
            let left = left.saturating_sub(Duration::from_millis(away.unwrap_or(0)));
            known.ends = Some(latest.min(now + left));
        }
        let ends = known.ends.filter(|_| known.agreed.paused);
        known.elapsed = ends.is_some_and(|ends| ends <= now);
        known.paused_until = ends.filter(|ends| *ends > now).unwrap_or(Timestamp::MAX);
        let left = ends.map(|ends| ends.since(now));
        // How much is left is not known before the wall clock says how long the node was down.
        let is_known = wall.is_some() || known.restored.is_none_or(|rest| rest.at.is_none());
        if is_known {
            let pause = known.is_paused().then_some((known.agreed, left));
            self.alerts.paused(pause);
        }
        self.plan_errands();
    }

    /// Sets the timer to the next deadline that an order has set.
    pub(crate) fn plan_errands(&mut self) {
        let ordered =
            self.upkeep.records().map(|known| known.proposed_until.min(known.paused_until));
        let next = ordered.unwrap_or(Timestamp::MAX).min(self.fail_back.look_at);
        self.timers.set(Timer::Errand, next);
    }
}

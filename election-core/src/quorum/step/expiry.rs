//! What ends by itself.

use crate::{
    Change, Loss,
    quorum::{machine::Quorum, state::timers::Timer},
};

impl Quorum {
    /// Ends everything whose time is over, before the step looks at its input: a frame that came
    /// too late must not revive what has ended.
    pub(crate) fn expire(&mut self) -> Option<Change> {
        if !self.started {
            self.start();
        }
        let mut change = None;
        Timer::each(|timer| {
            if self.timers.has_passed(timer, self.now) {
                self.passed(timer, &mut change);
            }
        });
        change
    }

    #[inline(always)]
    fn passed(&mut self, timer: Timer, change: &mut Option<Change>) {
        match timer {
            Timer::Belief => *change = self.end_belief(Loss::Expired, None, None),
            Timer::Drain => self.step_down(),
            Timer::Support => self.lose_support(),
            Timer::Primary => self.forget_primary(),
            Timer::Candidacy => self.end_candidacy(),
            Timer::Proposal => self.withdraw_proposal(),
            Timer::PauseEnd => self.plan_the_end(),
            Timer::FailBack => *change = self.fail_back(),
            Timer::Asked => self.forget_offer(),
            // `settle` looks at these timers,
            Timer::Boot | Timer::Patience => {}
            Timer::Backoff | Timer::StayOut | Timer::Campaign => {}
            // and `act` at these.
            Timer::Save | Timer::Offer | Timer::Heartbeat => {}
            Timer::Silence | Timer::Announce => {}
        }
    }

    fn start(&mut self) {
        self.started = true;
        self.timers.set(Timer::Boot, self.now.after(self.config.timing.boot));
        self.timers.set(Timer::Heartbeat, self.now);
        self.be_patient();
        self.plan_the_end();
    }
}

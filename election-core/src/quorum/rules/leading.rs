//! This node's own leadership: how it begins, and how far trust carries it.

use crate::{
    Change, Epoch, Loss, Timestamp,
    quorum::{
        machine::Quorum,
        state::{
            leadership::{Lead, Leadership},
            timers::Timer,
        },
    },
};

impl Quorum {
    /// Moves the end of trust to where the majority's echoes put it, never back.
    pub(crate) fn refresh_trust(&mut self) {
        let timing = self.config.timing;
        let until = self.trust.until(timing.window.saturating_sub(self.stamps.ahead));
        if let Some(lead) = self.leadership.lead_mut() {
            if until > lead.trusted_until {
                lead.trusted_until = until;
                self.timers.set(Timer::Belief, belief_end(until, timing.grace));
            }
        }
    }

    /// Leads on by another list for as long as the majority of that list supports this node, and makes
    /// room if the list does not have it. The majority that a primary
    /// trusted by the list before need not have a member of every majority of the list after this one;
    /// and one that was alone would trust for ever.
    pub(crate) fn lead_by_new_list(&mut self) -> Option<Change> {
        let timing = self.config.timing;
        let until = self.trust.until(timing.window.saturating_sub(self.stamps.ahead));
        self.leadership.lead_mut()?.trusted_until = until;
        self.timers.set(Timer::Belief, belief_end(until, timing.grace));
        if !self.config.members().is_voter(self.me) {
            self.timers.set(Timer::FailBack, self.now);
        }
        let is_over = self.timers.has_passed(Timer::Belief, self.now);
        if is_over { self.end_belief(Loss::Expired, None, None) } else { None }
    }

    /// Begins to lead, if the votes leave enough time.
    pub(crate) fn begin_belief(&mut self, epoch: Epoch) -> Option<Change> {
        let timing = self.config.timing;
        let trusted_until = self.trust.until(timing.window.saturating_sub(self.stamps.ahead));
        let others = self.boot.others();
        let lead = Lead {
            token: epoch,
            epoch,
            since: self.now,
            trusted_until,
            outgrown: Epoch::NONE,
            unaware: others,
            announced: Timestamp::ZERO,
            announce: others,
        };
        let until = belief_end(trusted_until, timing.grace);
        if self.now >= until {
            return None;
        }
        self.timers.set(Timer::Belief, until);
        self.timers.set(Timer::Announce, self.now.after(timing.down_after));
        let tenure = self.tenure_of(&lead)?;
        self.leadership = Leadership::Leading(lead);
        self.watch_the_preferred();
        self.forget_primary();
        self.published.own();
        self.succession.settled();
        if self.boot.caught_up() {
            self.voter.renew();
        }
        self.data.lead();
        Some(Change::Elected(tenure))
    }
}

fn belief_end(trusted_until: Timestamp, grace: u64) -> Timestamp {
    match trusted_until {
        Timestamp::MAX => Timestamp::MAX,
        _ => trusted_until.before(grace),
    }
}

//! This node's own leadership, from its first belief to the moment when it lets the others in.

use super::{
    alerts::Published,
    leadership::{Drain, Lead, Leadership},
    machine::Quorum,
    members::Peer,
    timers::Timer,
};
use crate::{Change, Epoch, Loss, Term, Timestamp};

impl Quorum {
    /// Moves the end of trust to where the majority's echoes put it, never back.
    pub(super) fn refresh_trust(&mut self) {
        let timing = self.config.timing;
        let until = self.trust.until(timing.window.saturating_sub(self.stamps.ahead));
        if let Leadership::Leading(lead) = &mut self.leadership {
            if until > lead.trusted_until {
                lead.trusted_until = until;
                self.timers.set(Timer::Belief, belief_end(until, timing.grace));
            }
        }
    }

    /// Begins to lead, if the votes leave enough time.
    pub(super) fn begin_belief(&mut self, epoch: Epoch) -> Option<Change> {
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
        self.published = Published::Own;
        self.forget_primary();
        self.succession.settled();
        if self.boot.caught_up() {
            self.voter.renew();
        }
        self.data.resynced = true;
        Some(Change::Elected(tenure))
    }

    /// Ends belief. Work has until `stop_by`. Others are kept out meanwhile, unless another node
    /// already leads.
    pub(super) fn end_belief(
        &mut self,
        reason: Loss,
        nominee: Option<Peer>,
        successor: Option<Term>,
    ) -> Option<Change> {
        let lead = self.leadership.lead()?;
        let timing = self.config.timing;
        let (token, epoch) = (lead.token, lead.epoch);
        // A majority of one trusts itself without end. Its work gets the time that others would
        // have to wait.
        let trusted_until = if lead.trusted_until == Timestamp::MAX {
            self.now.after(timing.grace).after(timing.down_after)
        } else {
            lead.trusted_until
        };
        let replaced = reason == Loss::Replaced;
        let stop_by = if replaced { self.now } else { trusted_until };
        self.end_leadership();
        self.forsaken = reason == Loss::Expired;
        if replaced {
            self.unstopped = Some(token);
        } else {
            let resigned = reason == Loss::Resigned;
            let drain = Drain { token, epoch, nominee, stopped: false, resigned };
            self.leadership = Leadership::Draining(drain);
            self.timers.set(Timer::Silence, trusted_until.min(self.now.after(timing.grace)));
            self.timers.set(Timer::Drain, trusted_until.after(timing.margin));
        }
        self.take_candidacy();
        self.data.resynced = false;
        self.published = Published::Vacant;
        self.alerts.best_effort(false);
        self.be_patient();
        self.timers.set(Timer::Heartbeat, self.now);
        let term = self.term(token, self.me)?;
        Some(Change::Lost { term, reason, stop_by, successor })
    }

    /// This node no longer leads or drains.
    pub(super) fn end_leadership(&mut self) {
        self.leadership = Leadership::None;
        self.fail_back.look_at = Timestamp::MAX;
        for timer in [Timer::Belief, Timer::Drain, Timer::Silence, Timer::Announce] {
            self.timers.stop(timer);
        }
    }

    /// Lets go of a leadership whose work has stopped or whose trust has run out. The others are
    /// told, and may elect.
    pub(super) fn step_down(&mut self) {
        let Leadership::Draining(drain) = &self.leadership else { return };
        if !drain.stopped {
            self.unstopped = Some(drain.token);
        }
        if drain.resigned {
            let timeout = self.config.timing.election_timeout;
            self.timers.set(Timer::StayOut, self.now.after(timeout));
        }
        self.succession.own = drain.nominee;
        self.end_leadership();
        self.timers.set(Timer::Heartbeat, self.now);
        self.outbox.farewell = self.boot.others() != 0;
    }

    pub(super) fn health(&mut self, healthy: bool) -> Option<Change> {
        self.healthy = healthy;
        if healthy {
            return None;
        }
        self.end_candidacy();
        self.end_belief(Loss::Unhealthy, None, None)
    }

    pub(super) fn resign(&mut self) -> Option<Change> {
        self.end_candidacy();
        match &mut self.leadership {
            Leadership::Leading(_) => return self.end_belief(Loss::Resigned, None, None),
            Leadership::Draining(drain) => drain.resigned = true,
            Leadership::None => {
                let timeout = self.config.timing.election_timeout;
                self.timers.set(Timer::StayOut, self.now.after(timeout));
            }
        }
        None
    }

    /// Resigns in favour of a member that could take over. If it could not, resigning would leave
    /// everybody without a leader for nothing.
    pub(super) fn hand_over(&mut self, to: Peer) -> Option<Change> {
        if self.leadership.lead().is_none() || to == self.me {
            return None;
        }
        let view = self.peers.get(to);
        if view.is_some_and(|view| view.could_take_over(self.now)) {
            return self.end_belief(Loss::Resigned, Some(to), None);
        }
        let heard = view.is_some_and(|view| view.is_heard(self.now) && view.hears_me);
        self.alerts.hand_over_refused(to, heard);
        None
    }

    /// Whether the nominee has all the data, or will never have it.
    pub(super) fn is_ready(&self, nominee: Peer) -> bool {
        self.peers.get(nominee).is_none_or(|view| {
            let waits = view.is_heard(self.now) && view.availability.stands();
            !waits || view.position >= self.data.position()
        })
    }

    pub(super) fn withdraw(&mut self) -> Option<Change> {
        self.withdrawn = true;
        self.outbox.farewell |= self.candidacy.is_some();
        self.end_candidacy();
        self.end_belief(Loss::Withdrawn, None, None)
    }

    pub(super) fn stopped(&mut self, epoch: Epoch) {
        self.unstopped.take_if(|unstopped| *unstopped == epoch);
        if let Leadership::Draining(drain) = &mut self.leadership {
            drain.stopped |= drain.token == epoch;
        }
    }
}

fn belief_end(trusted_until: Timestamp, grace: u64) -> Timestamp {
    match trusted_until {
        Timestamp::MAX => Timestamp::MAX,
        _ => trusted_until.before(grace),
    }
}

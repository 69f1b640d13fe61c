//! What follows from the state, whichever input led to it.

use crate::quorum::{
    machine::Quorum,
    message::{Availability, Role},
    state::{leadership::Leadership, timers::Timer, voter::Eligibility},
};

impl Quorum {
    /// Draws all conclusions from the current state, whichever input led to it.
    pub(crate) fn settle(&mut self) {
        if !self.boot.is_over() {
            self.wait_for_boot();
        }
        if self.support.is_none() && self.voter.is_durable() {
            self.honour_pledge();
        }
        self.take_up_offer();
        if self.boot.must_promise() && self.voter.eligibility == Eligibility::Eligible {
            self.promise_what_was_forgotten();
        }
        if !self.boot.is_settled() {
            let lacks = self.boot.lacks().filter(|_| self.is_impatient());
            self.alerts.ballot_missing(lacks);
        }
        let lasts = !self.data.is_known() && self.is_impatient();
        self.alerts.position_unknown(lasts);
        // First: a node that is alone campaigns in this very step, because no frame brings another
        // step.
        if self.leadership.drain().is_some_and(|drain| {
            drain.stopped && drain.nominee.is_none_or(|nominee| self.is_ready(nominee))
        }) {
            self.step_down();
        }
        self.tend_maintenance();
        self.tend_lists();
        self.update_availability();
        if self.enough_echo() {
            self.alerts.best_effort(false);
        }
        match &self.leadership {
            Leadership::Leading(lead) => {
                if lead.epoch < lead.outgrown && self.candidacy.is_none() {
                    self.offer_itself();
                }
            }
            Leadership::Draining(_) => {}
            Leadership::None if self.support.is_none() => self.campaign(),
            Leadership::None => {
                self.wait_to_campaign();
                self.catch_up();
            }
        }
    }

    /// Waits for the end of the boot grace. Supporting a primary ends it, too: such a primary had this
    /// node's vote in an earlier life, which supported nobody else when it voted. (A primary of
    /// kevy-elect proves nothing: it may have declared itself one.)
    #[cold]
    fn wait_for_boot(&mut self) {
        let supports = self.support.as_ref().is_some_and(|support| support.stamp.is_some());
        if self.boot.end_early() {
            self.timers.stop(Timer::Boot);
            self.be_patient();
        } else if supports || self.timers.has_passed(Timer::Boot, self.now) {
            self.timers.stop(Timer::Boot);
            self.boot.end();
        }
    }

    /// Updates whether this node could vote now. The other nodes wait for that.
    fn update_availability(&mut self) {
        let stands = self.may_stand();
        let freed = self.readiness.update(match () {
            () if self.voter.eligibility != Eligibility::Eligible => Availability::Ineligible,
            () if !self.data.is_known() => Availability::Loading,
            () if self.is_bound() && stands => Availability::Busy,
            () if self.is_bound() => Availability::BusyAside,
            () if self.withdrawn => Availability::Leaving,
            () if !self.may_vote() => Availability::Waiting,
            () if stands => Availability::Free,
            () => Availability::FreeAside,
        });
        if freed {
            self.timers.set(Timer::Heartbeat, self.now);
        }
    }

    /// A node without a ballot binds itself as far as it can ever have been bound: to the highest
    /// epoch heard, with its vote in that epoch spent.
    fn promise_what_was_forgotten(&mut self) {
        self.accept_what_was_learned();
        if self.voter.promised < self.seen {
            if self.voter.bind(self.seen, Some(self.me)) {
                self.boot.promising();
            }
        } else if self.voter.is_durable() {
            self.boot.promising();
            self.boot.promised();
        }
    }

    fn catch_up(&mut self) {
        if self.data.resynced && self.boot.is_settled() {
            return;
        }
        let primary = self.following.as_ref().and_then(|known| self.peers.get(known.primary));
        // One that has started again has no position yet, and it may never lead again.
        let Some(primary) = primary.filter(|it| it.role == Role::Primary) else { return };
        if !self.data.is_known() {
            return;
        }
        if self.data.position() >= primary.position && self.boot.caught_up() {
            self.voter.renew();
        }
        self.data.follows(primary.position, primary.is_extended());
    }
}

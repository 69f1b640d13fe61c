//! What a node does nearly all the time: it hears that nothing has changed, and says so.
//!
//! In a cluster with a leader, a heartbeat has one effect: its sender stays fresh, and support or
//! trust lasts longer. No conclusion is to be drawn, no action is due, and the next deadline is
//! mostly the same. And when the node's own heartbeat is due, nothing else is. Here are these two
//! steps. Every other step takes the whole way (`received`, `settle`, `act`, `plan`). The whole way
//! would leave the same state and ask for the same after these two, too: this module only knows
//! beforehand that most of it changes nothing.

use crate::{
    Timestamp,
    quorum::{
        machine::Quorum,
        members::Peer,
        message::{Attestation, Connection, Message, Role},
        state::{leadership::Leadership, routine::Routine, timers::Timer},
    },
};

/// What a frame means to a node that has a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// All goes on.
    Routine,
    /// All goes on, and the next deadline comes later.
    Postponed,
    /// Perhaps more, so it has to take the whole way. Nothing has changed yet.
    News,
}

impl Quorum {
    /// The routine that the state permits.
    pub(crate) fn routine(&self) -> Routine {
        let waits_for_nothing = self.candidacy.is_none()
            && self.voter.pledge.is_none()
            && self.asked.is_none()
            && self.data.is_known()
            && self.upkeep.is_still()
            && self.alerts.is_still();
        // Others are told whether a node that is bound would stand for election if it were free.
        let may_stand_soon = self.is_bound() && !self.timers.has_passed(Timer::StayOut, self.now);
        if !waits_for_nothing || may_stand_soon {
            return Routine::None;
        }
        let is_settled = self.boot.is_settled();
        match (&self.leadership, &self.support, &self.following) {
            (Leadership::Leading(lead), None, None) => {
                let knows = lead.unaware == 0 && lead.outgrown <= lead.epoch;
                if knows && is_settled { Routine::Leads } else { Routine::None }
            }
            (Leadership::None, None, _) if self.boot.only_waits() => Routine::Waits,
            (Leadership::None, Some(support), following) => {
                if !self.data.resynced || !(is_settled || self.boot.only_waits()) {
                    return Routine::None;
                }
                let promised = self.voter.promised;
                let follows = following.as_ref().is_some_and(|known| {
                    (known.primary, known.epoch) == (support.node, promised) && !known.disputed
                });
                // A witness looks at how far its primary has come.
                let is_plain = self.voter.is_durable() && !self.data.is_witness();
                let supports = support.epoch == promised && is_plain;
                if follows && supports { Routine::Follows } else { Routine::Waits }
            }
            _ => Routine::None,
        }
    }

    /// Takes a heartbeat that only says that all goes on, while no deadline is due.
    #[inline(never)] // nothing of it is in the way of a caller's other steps
    pub(crate) fn goes_on(&mut self, from: Peer, connection: Connection, frame: &Message) -> Heard {
        let Message::Heartbeat(heartbeat) = frame else { return Heard::News };
        let Some(said) = &heartbeat.extension else { return Heard::News };
        let Some(view) = self.peers.get_mut(from) else { return Heard::News };
        let is_usual = view.listens_to(connection, &said.stamp, self.now)
            && !view.differs
            && said.fingerprint == self.fingerprint
            && said.nominee.is_none()
            && said.holds == view.holds
            && heartbeat.epoch <= self.seen
            && self.alerts.is_sound(from);
        if !is_usual {
            return Heard::News;
        }
        let until = self.now.after(self.config.timing.down_after);
        let mut moved = Timestamp::MAX;
        match (self.routine, heartbeat.role, &said.attestation) {
            (Routine::Leads, Role::Replica, Attestation::Echo(echo)) => {
                let epoch = self.leadership.epoch();
                if epoch != Some(heartbeat.epoch) || !self.stamps.gave(echo) {
                    return Heard::News;
                }
                moved = self.timers.at(Timer::Belief);
                self.trust.vouch(from, echo.at);
            }
            (Routine::Follows, Role::Primary, Attestation::Token(token)) => {
                let (Some(support), Some(known)) = (&mut self.support, &self.following) else {
                    return Heard::News;
                };
                let is_same = (from, heartbeat.epoch) == (support.node, support.epoch)
                    && known.token == *token;
                if !is_same || !support.stamp.is_some_and(|last| last.precedes(&said.stamp)) {
                    return Heard::News;
                }
                support.stamp = Some(said.stamp);
                moved = self.timers.at(Timer::Primary).min(self.timers.at(Timer::Support));
                self.timers.set(Timer::Primary, until);
                self.timers.postpone(Timer::Support, until);
            }
            (Routine::Follows | Routine::Waits, Role::Replica, _) => {
                let supports = self.support.as_ref().is_some_and(|support| support.node == from);
                let follows = self.following.as_ref().is_some_and(|known| known.primary == from);
                if supports || follows {
                    return Heard::News;
                }
            }
            _ => return Heard::News,
        }
        view.fresh_until = until;
        view.stamped = said.stamp.at;
        view.keep(heartbeat, Some(said), self.me);
        if self.routine == Routine::Leads {
            self.refresh_trust();
        } else {
            self.boot.hear(heartbeat.position);
        }
        if self.wake_at < moved {
            return Heard::Routine;
        }
        self.wake_at = self.plan();
        Heard::Postponed
    }

    /// Whether a heartbeat to all is due and nothing else, and plans what comes after it. `before`
    /// is the time of the last step: if that left something to be done, it asked to be called at
    /// once.
    #[inline]
    pub(crate) fn beats_on(&mut self, before: Timestamp) -> bool {
        let now = self.now;
        let is_usual = before < self.wake_at
            && self.routine != Routine::None
            && self.timers.has_passed(Timer::Heartbeat, now)
            && self.readiness.is_told()
            && self.boot.others() != 0
            && !self.hides_offset()
            && !self.forsaken
            && !self.alerts.is_best_effort()
            && !(self.routine == Routine::Leads && self.timers.has_passed(Timer::Announce, now));
        if !is_usual {
            return false;
        }
        let next = self.timers.next_but_heartbeat(self.is_seeking(), now);
        if next <= now {
            return false;
        }
        self.wake_at = next.min(now.after(self.config.timing.hb_interval));
        true
    }
}

//! What follows from a frame of kevy-elect's.

use crate::{
    Change, Epoch, Loss,
    quorum::{
        machine::Quorum,
        message::Role,
        places::Peer,
        rules::votes::Verdict,
        state::{asked::Asked, timers::Timer},
    },
};

/// The longest wait after being deposed by a primary that is not heard: this power of two of
/// `down_after`.
const LONGEST_WAIT: u32 = 4;

impl Quorum {
    /// Judges an offer of kevy-elect again, which was refused before: support or the boot grace may
    /// have ended since.
    pub(crate) fn take_up_offer(&mut self) {
        let Some(Asked { candidate, epoch, position }) = self.asked else { return };
        let stands = self.peers.get(candidate).is_some_and(|view| {
            view.role != Role::Replica && !view.is_extended() && view.is_fresh(self.now)
        });
        if stands && matches!(self.judge(candidate, epoch, position, None), Verdict::Vote) {
            self.forget_offer();
            self.vote(candidate, epoch, None);
        }
    }

    /// A peer that does not echo. If too few peers do, its heartbeats have to count as echoes, and
    /// only its epoch shows that it has turned away.
    #[cold]
    pub(crate) fn legacy_vouched(
        &mut self,
        from: Peer,
        epoch: Epoch,
        at_own: bool,
    ) -> Option<Change> {
        if let Some(lead) = self.leadership.lead_mut().filter(|lead| lead.epoch == epoch) {
            lead.is_known_to(from);
        }
        if self.enough_echo() {
            return None;
        }
        self.alerts.best_effort(true);
        if at_own {
            self.trust.vouch(from, self.now);
            self.refresh_trust();
            return None;
        }
        let higher = self.leadership.epoch().is_some_and(|own| own < epoch);
        if !higher {
            return None;
        }
        let change = self.end_belief(Loss::Replaced, None, None);
        self.give_way();
        change
    }

    /// Stays out for a while, because a primary that this node does not hear may have deposed it.
    ///
    /// The peer that said so keeps to no primary, and would depose that one for this node just as
    /// readily. So the wait doubles each time, until this node follows somebody.
    fn give_way(&mut self) {
        if self.peers.fresh(self.now).count() + 1 == self.peers.0.len() {
            return; // it would hear that primary
        }
        let longest = self.config.down_after().saturating_mul(1 << self.unseen.min(LONGEST_WAIT));
        self.unseen = self.unseen.saturating_add(1);
        let random = self.random.jitter(longest / 2);
        self.timers.set(Timer::StayOut, self.now + longest / 2 + random);
    }
}

//! What ends: a support, a candidacy, the knowledge of a primary, and this node's own leadership, from
//! the end of belief to the moment when it lets the others in.

use crate::{
    Change, Loss, Term, Timestamp,
    quorum::{
        machine::Quorum,
        places::Peer,
        state::{
            leadership::{Candidacy, Drain, Leadership},
            timers::Timer,
        },
    },
};

impl Quorum {
    /// There is no live primary from now on. Gives an election its time.
    pub(crate) fn be_patient(&mut self) {
        let since = if self.boot.is_over() { self.now } else { self.timers.at(Timer::Boot) };
        let patience = self.config.timing.election_timeout;
        self.timers.set(Timer::Patience, self.now.max(since).after(patience));
    }

    /// This node supports nobody any more. It tells the others at once that it is free.
    pub(crate) fn lose_support(&mut self) {
        self.support = None;
        self.timers.stop(Timer::Support);
        self.be_patient();
        if self.leadership.is_none() {
            self.timers.set(Timer::Heartbeat, self.now);
        }
    }

    /// This node follows nobody any more.
    pub(crate) fn forget_primary(&mut self) {
        self.following = None;
        self.timers.stop(Timer::Primary);
    }

    /// Gives up a candidacy. Its voters are free again at once.
    pub(crate) fn end_candidacy(&mut self) {
        if self.take_candidacy().is_some() {
            self.lost();
        }
    }

    pub(crate) fn take_candidacy(&mut self) -> Option<Candidacy> {
        self.timers.stop(Timer::Candidacy);
        self.timers.stop(Timer::Offer);
        self.candidacy.take()
    }

    pub(crate) fn lost(&mut self) {
        if self.leadership.is_none() {
            let (least, most) = self.config.election_backoff();
            let random = self.random.jitter(most.saturating_sub(least));
            self.timers.set(Timer::Backoff, self.now + least + random);
            self.timers.set(Timer::Heartbeat, self.now);
        }
    }

    /// Ends belief. Work has until `stop_by`. Others are kept out meanwhile, unless another node
    /// already leads.
    pub(crate) fn end_belief(
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
        self.data.may_fork();
        self.alerts.best_effort(false);
        self.be_patient();
        self.timers.set(Timer::Heartbeat, self.now);
        let term = self.term(token, self.me)?;
        Some(Change::Lost { term, reason, stop_by, successor })
    }

    /// This node no longer leads or drains.
    pub(crate) fn end_leadership(&mut self) {
        self.leadership = Leadership::None;
        for timer in [Timer::Belief, Timer::Drain, Timer::Silence, Timer::Announce, Timer::FailBack]
        {
            self.timers.stop(timer);
        }
    }

    /// Lets go of a leadership whose work has stopped or whose trust has run out. The others are
    /// told, and may elect.
    pub(crate) fn step_down(&mut self) {
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
        if self.boot.others() != 0 {
            self.outbox.bid_farewell();
        }
    }
}

//! When this node votes for a candidate, and supports it.

use crate::{
    Change, Epoch,
    quorum::{
        machine::Quorum,
        message::Stamp,
        places::Peer,
        position::Position,
        state::{asked::Asked, peers::bit, support::Following, timers::Timer, voter::Pledge},
    },
};

/// The answer to an offer.
pub(crate) enum Verdict {
    /// A vote, once it is durable.
    Vote,
    /// The vote that it already has.
    Repeat,
    /// Nothing yet: the vote is being saved.
    Wait,
    /// A heartbeat, which says why this node refuses.
    Refusal,
}

impl Quorum {
    pub(crate) fn offered(
        &mut self,
        from: Peer,
        epoch: Epoch,
        position: Position,
        stamp: Option<Stamp>,
    ) {
        if let Some(view) = self.peers.get_mut(from) {
            view.states(position);
        }
        self.boot.hear(position);
        match self.judge(from, epoch, position, stamp.as_ref()) {
            Verdict::Wait => {}
            Verdict::Refusal => {
                if stamp.is_none() && epoch > self.voter.promised {
                    self.keep_offer(Asked { candidate: from, epoch, position });
                }
                self.outbox.answer(bit(from));
            }
            Verdict::Repeat => {
                self.extend_support(from, epoch, stamp.as_ref(), self.now);
                self.grant(from);
            }
            Verdict::Vote => self.vote(from, epoch, stamp),
        }
    }

    pub(crate) fn vote(&mut self, candidate: Peer, epoch: Epoch, stamp: Option<Stamp>) {
        if !self.voter.bind(epoch, Some(candidate)) {
            return;
        }
        self.end_candidacy();
        if self.following.as_ref().is_some_and(|known| known.primary != candidate) {
            self.forget_primary();
        }
        let received = self.now;
        self.voter.pledge(Pledge { node: candidate, stamp, received, vote: true });
    }

    pub(crate) fn judge(
        &self,
        from: Peer,
        epoch: Epoch,
        position: Position,
        stamp: Option<&Stamp>,
    ) -> Verdict {
        let promised = self.voter.promised;
        // A list of members that may be older than this node's has other majorities.
        let later = self.config.members().list().generation > 0;
        if self.peers.get(from).is_none_or(|view| view.differs || later && view.list.is_none()) {
            return Verdict::Refusal;
        }
        let pledged = self.voter.pledge.is_some_and(|pledge| pledge.vote && pledge.node == from);
        if pledged && epoch == promised {
            return Verdict::Wait;
        }
        if epoch < promised || epoch == Epoch::NONE || !self.may_support(from, position, stamp) {
            return Verdict::Refusal;
        }
        let durable = self.voter.is_durable();
        let own = self.candidacy.as_ref().is_some_and(|candidacy| candidacy.epoch == epoch);
        let known = self.following.as_ref().filter(|following| following.epoch == epoch);
        let free = match self.voter.voted_for {
            _ if epoch > promised => true,
            Some(voted) if voted == from => {
                return if durable { Verdict::Repeat } else { Verdict::Refusal };
            }
            Some(voted) if voted == self.me && own => {
                self.merit(from, position) > self.merit(self.me, self.data.position())
            }
            Some(_) => false,
            None => known.is_none_or(|following| following.primary == from),
        };
        if free && self.voter.may_bind() { Verdict::Vote } else { Verdict::Refusal }
    }

    /// Whether this node could vote for `node`, apart from the epoch and earlier votes.
    fn may_support(&self, node: Peer, position: Position, stamp: Option<&Stamp>) -> bool {
        let supported =
            self.support.as_ref().map(|support| support.node == node && support.is_of(stamp));
        // The current primary's data is not compared.
        let in_office = supported == Some(true)
            && self.following.as_ref().is_some_and(|following| following.primary == node);
        self.may_vote()
            && !self.withdrawn
            && self.leadership.is_none()
            && supported != Some(false)
            && self.may_be_elected(node)
            && (in_office || self.is_as_new(position))
    }

    /// Whether an election with this node's help would lose nothing that it may have acknowledged.
    fn is_as_new(&self, position: Position) -> bool {
        self.data.is_known() && position >= self.data.position().max(self.boot.floor())
    }

    /// The ballot is durable. The pledge that waited for it is judged again, because time has
    /// passed.
    pub(crate) fn saved(&mut self, epoch: Epoch) -> Option<Change> {
        if !self.voter.saved(epoch) {
            return None;
        }
        self.alerts.saved();
        self.data.saved();
        let lost = self.lists.saved().and_then(|lists| self.go_by(lists));
        if self.failover.saved() {
            self.timers.set(Timer::Heartbeat, self.now);
        }
        self.boot.promised();
        self.honour_pledge();
        let opens = self.candidacy.as_ref().is_some_and(|own| own.epoch == epoch && !own.open);
        if opens { self.open_candidacy() } else { lost }
    }

    /// Gives what was promised, once it is durable.
    pub(crate) fn honour_pledge(&mut self) {
        let Some(pledge) = self.voter.take_pledge() else { return };
        let (node, epoch) = (pledge.node, self.voter.promised);
        let Some(view) = self.peers.get(node) else { return };
        let same_life = view.incarnation == pledge.stamp.map(|stamp| stamp.incarnation);
        let late = pledge.received.after(self.config.timing.down_after) <= self.now;
        if late || !same_life || view.clashes(self.now) || view.differs {
            return;
        }
        if pledge.vote {
            if !self.may_support(node, view.position, pledge.stamp.as_ref()) {
                return;
            }
            self.grant(node);
        } else {
            let leads = |following: &Following| {
                following.primary == node && following.epoch == epoch && !following.disputed
            };
            if !self.following.as_ref().is_some_and(leads) {
                return;
            }
        }
        self.extend_support(node, epoch, pledge.stamp.as_ref(), pledge.received);
        if pledge.vote && pledge.stamp.is_none() {
            // Another voter may make it primary as late as this, and nothing else would tell.
            let until =
                self.legacy_deadline(pledge.received).after(self.config.timing.election_timeout);
            self.timers.postpone(Timer::Support, until);
        }
    }
}

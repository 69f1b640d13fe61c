//! What keeps this node from voting and from asking for votes, as far as its own state goes.

use crate::quorum::{
    hindrance::Hindrance,
    machine::Quorum,
    places::Peer,
    state::{peers::View, timers::Timer, voter::Eligibility},
};

impl Quorum {
    /// What keeps this node from standing for election, however the others stand. If anything does,
    /// nobody has to wait for it.
    #[inline(always)] // most callers only ask whether there is anything
    pub(crate) fn aside(&self) -> Option<Hindrance> {
        if self.data.is_witness() {
            return Some(Hindrance::Witness);
        }
        if self.withdrawn {
            return Some(Hindrance::Leaves);
        }
        if !self.healthy {
            return Some(Hindrance::Unfit);
        }
        if !self.data.is_known() {
            return Some(Hindrance::PositionUnknown);
        }
        if let Some(epoch) = self.unstopped {
            return Some(Hindrance::WorkGoesOn(epoch));
        }
        let until = self.timers.at(Timer::StayOut);
        (self.now < until).then_some(Hindrance::StaysOut { until })
    }

    /// Whether it is fit and willing to stand for election.
    pub(crate) fn may_stand(&self) -> bool {
        self.aside().is_none()
    }

    /// What keeps this node from voting, whomever it supports.
    #[inline(always)]
    pub(crate) fn voteless(&self) -> Option<Hindrance> {
        match self.voter.eligibility {
            Eligibility::Eligible => {}
            Eligibility::BallotUnusable => return Some(Hindrance::BallotUnusable),
            Eligibility::MembersChanged => return Some(Hindrance::MembersChanged),
        }
        let members = self.config.members();
        if self.lists.removed || !members.is_voter(self.me) {
            return Some(Hindrance::NotAMember);
        }
        if !self.boot.is_over() {
            return Some(Hindrance::Boots { until: self.timers.at(Timer::Boot) });
        }
        if !self.boot.permits_support() {
            let lacks = self.boot.lacks();
            return Some(lacks.map_or(Hindrance::RecordsPromises, |(needed, _)| {
                Hindrance::BallotMissing { needed }
            }));
        }
        let generation = members.list().generation;
        let contradicts =
            |peer: &Peer, view: &View| members.is_voter(*peer) && view.contradicts(generation);
        let mut fresh = self.peers.fresh(self.now);
        let found = fresh.find(|(peer, view)| contradicts(peer, view));
        found.map(|(peer, _)| Hindrance::ListDiffers(peer))
    }

    /// Whether this node's own state permits it to vote.
    pub(crate) fn may_vote(&self) -> bool {
        self.voteless().is_none()
    }

    /// What keeps this node from campaigning, apart from the other members' votes and a running
    /// candidacy.
    #[inline(always)]
    pub(crate) fn barred(&self) -> Option<Hindrance> {
        if let Some(drain) = self.leadership.drain() {
            return Some(Hindrance::Drains(drain.token));
        }
        if !self.leadership.is_none() {
            return Some(Hindrance::Leads);
        }
        if let Some(hindrance) = self.aside().or_else(|| self.voteless()) {
            return Some(hindrance);
        }
        if let Some(support) = &self.support {
            let until = self.timers.at(Timer::Support);
            return Some(Hindrance::Supports { node: support.node, until });
        }
        if !self.may_be_elected(self.me) {
            return Some(Hindrance::Paused { by: self.failover.agreed().by });
        }
        let floor = self.boot.floor();
        if self.data.position() < floor {
            return Some(Hindrance::LacksData { floor });
        }
        if !self.voter.may_bind() {
            return Some(Hindrance::Saves);
        }
        if self.outbox.farewell || !self.readiness.is_told() {
            return Some(Hindrance::Tells);
        }
        let until = self.timers.at(Timer::Backoff);
        (self.now < until).then_some(Hindrance::BacksOff { until })
    }

    /// Whether this node may campaign, apart from the other members and a running candidacy.
    #[inline(never)] // most steps ask only this
    pub(crate) fn may_campaign(&self) -> bool {
        self.barred().is_none()
    }

    /// Whether a pause permits this node to be elected.
    #[inline]
    pub(crate) fn may_be_elected(&self, node: Peer) -> bool {
        !self.failover.is_paused() || self.is_exempt(node)
    }

    /// Whether a node may be elected in spite of a pause: it leads, it was the last that did, or the
    /// one that did has made room.
    #[cold]
    fn is_exempt(&self, node: Peer) -> bool {
        let in_office = self.support.as_ref().is_some_and(|support| support.node == node)
            && self.following.as_ref().is_some_and(|known| known.primary == node);
        in_office || self.failover.agreed().primary == Some(node) || self.succession.is_ordered()
    }
}

//! When this node asks for votes, and when it has won.

use crate::{
    Change, Epoch,
    quorum::{
        machine::Quorum,
        message::Audience,
        places::{Fingerprint, Peer},
        rules::survey::Survey,
        state::{
            leadership::Candidacy,
            peers::{bit, members_of},
            timers::Timer,
        },
    },
};

impl Quorum {
    /// Makes an offer as soon as this node may, and its rank's waiting time has passed.
    pub(crate) fn campaign(&mut self) {
        let may_campaign = self.candidacy.is_none() && self.may_campaign();
        if !may_campaign && !self.is_impatient() {
            // Whoever would be electable does not matter yet.
            self.wait_to_campaign();
            self.alerts.catch_up(None);
            return;
        }
        let Survey { electable, ahead, .. } = self.survey();
        if !may_campaign || !electable {
            self.wait_to_campaign();
            let may_lead = self.data.is_known() && !self.data.is_witness();
            let stuck = ahead.filter(|_| self.is_impatient() && may_lead);
            self.alerts.catch_up(stuck);
            return;
        }
        self.alerts.catch_up(None);
        let since = *self.eligible_since.get_or_insert(self.now);
        let at = since.after(self.config.timing.stagger.saturating_mul(self.rank()));
        self.timers.set(Timer::Campaign, at);
        if at <= self.now {
            self.offer_itself();
        }
    }

    /// The rank's waiting time begins only when this node may campaign.
    pub(crate) fn wait_to_campaign(&mut self) {
        self.eligible_since = None;
        self.timers.stop(Timer::Campaign);
    }

    /// Whether this node has waited long enough to report missing data or knowledge.
    pub(crate) fn is_impatient(&self) -> bool {
        self.timers.has_passed(Timer::Patience, self.now)
    }

    /// Asks for votes in an election of its own. A primary does so without ceasing to lead.
    pub(crate) fn offer_itself(&mut self) {
        let highest = self.voter.promised.max(self.seen);
        let Some(next) = highest.get().checked_add(1) else { return };
        if !self.voter.is_durable() || !self.voter.bind(Epoch::new(next), Some(self.me)) {
            return;
        }
        self.ceiling.reached(next);
        self.wait_to_campaign();
        self.candidacy = Some(Candidacy {
            epoch: Epoch::new(next),
            open: false,
            offered: None,
            offer_to: 0,
            votes: bit(self.me),
        });
    }

    pub(crate) fn open_candidacy(&mut self) -> Option<Change> {
        if self.leadership.is_none() {
            let may = self.may_campaign() && self.survey().electable;
            if !may {
                self.end_candidacy();
                return None;
            }
        }
        self.candidacy.as_mut()?.open = true;
        self.timers.set(Timer::Offer, self.now);
        if self.majority == 1 { self.won() } else { None }
    }

    /// Who gets this node's offer next; everybody at once, unless they have to see different offers.
    pub(crate) fn next_offer(&mut self, one_by_one: bool) -> Option<(Epoch, Audience)> {
        let (now, others) = (self.now, self.boot.others());
        let candidacy = self.candidacy.as_mut()?;
        if candidacy.open && self.timers.has_passed(Timer::Offer, now) {
            let timing = &self.config.timing;
            if candidacy.offered.is_none() {
                candidacy.offered = Some(now);
                self.timers.set(Timer::Candidacy, now.after(timing.election_timeout));
            }
            self.timers.set(Timer::Offer, now.after(timing.hb_interval));
            candidacy.offer_to = others;
        }
        let next = members_of(candidacy.offer_to).next()?;
        candidacy.offer_to &= if one_by_one { !bit(next) } else { 0 };
        let to = if one_by_one { Audience::One(next) } else { Audience::All };
        Some((candidacy.epoch, to))
    }

    /// Takes a vote. It counts once, for the epoch that it names, if this node has made that offer.
    ///
    /// A vote of who has accepted a list that this node does not know counts when it does: as primary it
    /// would have to go on with it.
    pub(crate) fn accepted(
        &mut self,
        from: Peer,
        epoch: Epoch,
        list: Option<(Epoch, Fingerprint)>,
    ) -> Option<Change> {
        let is_known = self.lists.knows(list) && self.config.members().is_voter(from);
        let differs = self.peers.get(from)?.differs || !is_known;
        let candidacy = self.candidacy.as_mut()?;
        let offered = candidacy.offered.filter(|_| candidacy.epoch == epoch && !differs)?;
        candidacy.votes |= bit(from);
        if self.leadership.lead().is_some() {
            self.trust.vouch(from, offered);
            self.refresh_trust();
        }
        let votes = self.candidacy.as_ref()?.votes.count_ones();
        if usize::try_from(votes).ok()? < self.majority { None } else { self.won() }
    }

    /// What a peer has voted for does not count: another process may have voted in its name.
    #[cold]
    pub(crate) fn takes_back_vote(&mut self, of: Peer) {
        if let Some(candidacy) = &mut self.candidacy {
            candidacy.votes &= !bit(of);
        }
    }

    fn won(&mut self) -> Option<Change> {
        let won = self.take_candidacy()?;
        let offered = won.offered.unwrap_or(self.now);
        let leads = self.leadership.lead().is_some();
        if !leads {
            self.trust.forget();
        }
        for voter in members_of(won.votes & !bit(self.me)) {
            self.trust.vouch(voter, offered);
        }
        if !leads {
            let change = self.begin_belief(won.epoch);
            if change.is_none() {
                self.lost();
            }
            return change;
        }
        self.refresh_trust();
        let others = self.boot.others();
        if let Some(lead) = self.leadership.lead_mut() {
            lead.raise(won.epoch, others);
        }
        None
    }
}

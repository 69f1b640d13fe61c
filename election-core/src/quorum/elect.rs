//! Votes: when this node asks for them, when it gives its own, and what they add up to.

use super::{
    leadership::{Candidacy, Leadership},
    machine::Quorum,
    members::Peer,
    message::{Availability, Stamp},
    peers::{View, bit},
    position::Position,
    voter::{Disclosure, Eligibility, Pledge},
};
use crate::{Change, Epoch, Timestamp};
use core::cmp::Reverse;

/// What an offer gets.
enum Verdict {
    /// A vote, once that is durable.
    Vote,
    /// The vote it has already.
    Repeat,
    /// Nothing yet: its vote is being saved.
    Wait,
    /// A heartbeat, which says why.
    Refusal,
}

impl Quorum {
    /// Whatever follows from the state as it is now, whichever input brought it there.
    pub(super) fn settle(&mut self) {
        self.boot.advance(self.now, self.voter.promised);
        if self.boot.must_promise() && self.voter.eligibility == Eligibility::Eligible {
            self.promise_what_was_forgotten();
        }
        if !self.boot.is_settled() {
            let lacks = self.boot.lacks().filter(|_| self.catch_up_at() <= self.now);
            self.alerts.ballot_missing(lacks);
        }
        // First: a node that is alone campaigns in this very step, as nobody brings it another.
        if self.leadership.drain().is_some_and(|drain| {
            drain.stopped && drain.nominee.is_none_or(|nominee| self.is_ready(nominee))
        }) {
            self.step_down();
        }
        self.update_availability();
        match &self.leadership {
            Leadership::Leading(lead) => {
                if lead.epoch < lead.outgrown && self.candidacy.is_none() {
                    self.offer_itself();
                }
            }
            Leadership::Draining(_) => {}
            Leadership::None if self.support.is_none() => self.campaign(),
            Leadership::None => {
                self.eligible_since = None;
                self.catch_up();
            }
        }
    }

    /// Whether this node could give its vote now. The others wait for that.
    fn update_availability(&mut self) {
        if self.disclosure == Disclosure::JustTold {
            self.disclosure = Disclosure::Told;
        }
        let before = self.availability;
        self.availability = match () {
            () if self.voter.eligibility == Eligibility::BallotUnusable => Availability::Ineligible,
            () if !self.leadership.is_none() || self.support.is_some() => Availability::Busy,
            () if self.may_vote() && !self.withdrawn => Availability::Free,
            () => Availability::Waiting,
        };
        if (before, self.availability) == (Availability::Waiting, Availability::Free) {
            (self.heartbeat_at, self.disclosure) = (self.now, Disclosure::Untold);
        }
    }

    /// A node without a ballot binds itself as far as it can ever have: to the highest epoch
    /// heard, with its vote in it spent.
    fn promise_what_was_forgotten(&mut self) {
        if self.voter.promised < self.seen {
            if self.voter.bind(self.seen, Some(self.me)) {
                self.boot.promising();
            }
        } else if self.voter.is_durable() {
            self.boot.promising();
            self.boot.promised();
        }
    }

    /// Whether the node that is to follow has all the data, or will never have it.
    fn is_ready(&self, nominee: Peer) -> bool {
        self.peers
            .get(nominee)
            .is_none_or(|view| !view.is_fresh(self.now) || view.position >= self.position)
    }

    fn catch_up(&mut self) {
        if self.resynced && self.boot.is_settled() {
            return;
        }
        let primary = self.following.as_ref().and_then(|known| self.peers.get(known.primary));
        let Some(primary) = primary else { return };
        if self.position >= primary.position && self.boot.caught_up() {
            self.voter.renew();
        }
        // A replica is never ahead of its primary, unless it is a fork.
        let one_history =
            !primary.is_extended() || self.position.history == primary.position.history;
        self.resynced |= one_history && self.position.offset <= primary.position.offset;
    }

    /// Offers itself as soon as it may, and nobody better has for its rank's time.
    fn campaign(&mut self) {
        let (electable, ahead) = self.survey();
        if !self.may_campaign() || !electable {
            self.eligible_since = None;
            let stuck = ahead.filter(|_| self.catch_up_at() <= self.now);
            self.alerts.catch_up(stuck);
            return;
        }
        self.alerts.catch_up(None);
        self.eligible_since.get_or_insert(self.now);
        if self.campaign_at().is_some_and(|at| at <= self.now) {
            self.offer_itself();
        }
    }

    /// When it offers itself if nothing changes.
    pub(super) fn campaign_at(&self) -> Option<Timestamp> {
        let since = self.eligible_since?;
        Some(since.after(self.config.timing.stagger.saturating_mul(self.rank())))
    }

    /// From when on being unelectable for want of data, or of knowledge, is worth a report.
    pub(super) fn catch_up_at(&self) -> Timestamp {
        let patience = self.config.timing.election_timeout;
        self.vacant_since.max(self.boot.ended_at()).after(patience)
    }

    /// Everything that speaks against a campaign but the other members.
    fn may_campaign(&self) -> bool {
        self.healthy
            && !self.withdrawn
            && !self.farewell
            && self.leadership.is_none()
            && self.candidacy.is_none()
            && self.support.is_none()
            && self.unstopped.is_none()
            && self.disclosure == Disclosure::Told
            && self.voter.is_durable()
            && self.may_vote()
            && self.position >= self.boot.floor()
            && self.backoff_until <= self.now
            && self.stay_out_until <= self.now
    }

    /// Whether enough fresh peers could vote for this node and would hear of its offer, which is
    /// the pre-vote: no message, and no epoch spent. With it, the one with the newest data if it
    /// is only data that is missing.
    fn survey(&self) -> (bool, Option<Peer>) {
        let (mut willing, mut present) = (1, 1);
        let mut newest: Option<(Position, Peer)> = None;
        for (peer, view) in self.peers.fresh(self.now).filter(|(_, view)| view.is_willing()) {
            present += 1;
            if view.position <= self.position {
                willing += 1;
            } else if newest.is_none_or(|(position, _)| position < view.position) {
                newest = Some((view.position, peer));
            }
        }
        let electable = willing >= self.majority;
        let stuck = newest.filter(|_| present >= self.majority && !electable);
        (electable, stuck.map(|(_, peer)| peer))
    }

    /// Whether the last primary wants to be followed by this node.
    pub(super) fn is_nominated(&self) -> bool {
        self.nomination.is_some_and(|nomination| nomination.nominee == self.me)
    }

    /// How many that may be elected would be better, and one more while somebody else is wanted.
    /// The nominee waits for newer data only; who nominated it has had its turn, and is waited for
    /// by nobody.
    fn rank(&self) -> u64 {
        let own = (self.position, Reverse(self.me));
        let (mut better, mut newer, mut wanted) = (0, false, false);
        let wants = self.nomination.map(|nomination| nomination.nominee).or(self.nominates);
        let past = self.nomination.map(|nomination| nomination.by);
        let rivals = |view: &&View| view.availability != Availability::Ineligible;
        let fresh = self.peers.fresh(self.now).filter(|(peer, _)| Some(*peer) != past);
        for (peer, view) in fresh.filter(|(_, view)| rivals(view)) {
            better += u64::from((view.position, Reverse(peer)) > own);
            newer |= view.position > self.position;
            wanted |= wants == Some(peer)
                || (wants.is_none() && self.config.declared_primary() == Some(peer));
        }
        if self.is_nominated() && !newer { 0 } else { better + u64::from(wanted) }
    }

    /// Asks for votes in an election of its own; while it leads, without ceasing to.
    fn offer_itself(&mut self) {
        let highest = self.voter.promised.max(self.seen);
        let Some(next) = highest.get().checked_add(1) else { return };
        if !self.voter.is_durable() || !self.voter.bind(Epoch::new(next), Some(self.me)) {
            return;
        }
        self.eligible_since = None;
        self.candidacy = Some(Candidacy {
            epoch: Epoch::new(next),
            open: false,
            offered: None,
            offer_at: self.now,
            offer_to: 0,
            votes: bit(self.me),
        });
    }

    /// Gives up a candidacy: whoever voted for it is set free at once.
    pub(super) fn end_candidacy(&mut self) {
        let Some(ended) = self.candidacy.take() else { return };
        if self.leadership.is_none() {
            let (least, most) = self.config.election_backoff();
            let random = self.random.jitter(most.saturating_sub(least));
            self.backoff_until = self.now + least + random;
            self.heartbeat_at = self.now;
        } else if let Leadership::Leading(lead) = &mut self.leadership {
            // Those that have promised this election are lost to the old epoch.
            lead.outgrown = lead.outgrown.max(ended.epoch);
        }
    }

    /// Whether this node may give its vote, as far as it alone is concerned.
    fn may_vote(&self) -> bool {
        self.voter.eligibility == Eligibility::Eligible
            && self.boot.permits_votes()
            && !self.peers.fresh(self.now).any(|(_, view)| view.differs)
    }

    pub(super) fn offered(
        &mut self,
        from: Peer,
        epoch: Epoch,
        position: Position,
        stamp: Option<Stamp>,
    ) {
        if let Some(view) = self.peers.get_mut(from) {
            view.position = position;
        }
        self.seen = self.seen.max(epoch);
        self.boot.hear(position);
        match self.judge(from, epoch, position, stamp.as_ref()) {
            Verdict::Wait => {}
            Verdict::Refusal => self.answer |= bit(from),
            Verdict::Repeat => {
                self.extend_support(from, epoch, stamp.as_ref(), self.now);
                self.accept = Some(from);
            }
            Verdict::Vote => {
                self.end_candidacy();
                self.following.take_if(|following| following.primary != from);
                self.voter.bind(epoch, Some(from));
                let received = self.now;
                self.voter.pledge = Some(Pledge { node: from, stamp, received, vote: true });
            }
        }
    }

    fn judge(
        &self,
        from: Peer,
        epoch: Epoch,
        position: Position,
        stamp: Option<&Stamp>,
    ) -> Verdict {
        let promised = self.voter.promised;
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
                (position, Reverse(from)) > (self.position, Reverse(self.me))
            }
            Some(_) => false,
            None => known.is_none_or(|following| following.primary == from),
        };
        if free && durable { Verdict::Vote } else { Verdict::Refusal }
    }

    /// Whether nothing but the epoch and earlier votes can speak against voting for `node`.
    fn may_support(&self, node: Peer, position: Position, stamp: Option<&Stamp>) -> bool {
        let supported =
            self.support.as_ref().map(|support| support.node == node && support.is_of(stamp));
        // Data is not compared with that of the primary in office.
        let in_office = supported == Some(true)
            && self.following.as_ref().is_some_and(|following| following.primary == node);
        self.may_vote()
            && !self.withdrawn
            && self.leadership.is_none()
            && supported != Some(false)
            && (in_office || position >= self.position.max(self.boot.floor()))
    }

    /// The ballot is durable. What waited for that is judged again: time has passed.
    pub(super) fn saved(&mut self, epoch: Epoch) -> Option<Change> {
        if !self.voter.saved(epoch) {
            return None;
        }
        self.alerts.saved();
        self.boot.promised();
        if let Some(pledge) = self.voter.pledge.take() {
            self.honour(pledge, epoch);
        }
        let opens = self.candidacy.as_ref().is_some_and(|own| own.epoch == epoch && !own.open);
        if opens { self.open_candidacy() } else { None }
    }

    fn honour(&mut self, pledge: Pledge, epoch: Epoch) {
        let node = pledge.node;
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
            self.accept = Some(node);
        } else {
            let leads = |following: &super::support::Following| {
                following.primary == node && following.epoch == epoch && !following.disputed
            };
            if !self.following.as_ref().is_some_and(leads) {
                return;
            }
        }
        self.extend_support(node, epoch, pledge.stamp.as_ref(), pledge.received);
    }

    fn open_candidacy(&mut self) -> Option<Change> {
        if self.leadership.is_none() {
            let candidacy = self.candidacy.take();
            let may = self.may_campaign() && self.survey().0;
            self.candidacy = candidacy;
            if !may {
                self.end_candidacy();
                return None;
            }
        }
        let candidacy = self.candidacy.as_mut()?;
        candidacy.open = true;
        candidacy.offer_at = self.now;
        if self.majority == 1 { self.won() } else { None }
    }

    /// A vote came in. It counts once, for the election it names, if the offer stands.
    pub(super) fn accepted(&mut self, from: Peer, epoch: Epoch) -> Option<Change> {
        let differs = self.peers.get(from)?.differs;
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

    fn won(&mut self) -> Option<Change> {
        let won = self.candidacy.take()?;
        let offered = won.offered.unwrap_or(self.now);
        let leads = self.leadership.lead().is_some();
        if !leads {
            self.trust.forget();
        }
        for voter in super::peers::members_of(won.votes & !bit(self.me)) {
            self.trust.vouch(voter, offered);
        }
        if !leads {
            let change = self.begin_belief(won.epoch);
            if change.is_none() {
                self.candidacy = Some(won);
                self.end_candidacy();
            }
            return change;
        }
        self.refresh_trust();
        let others = self.boot.others();
        if let Leadership::Leading(lead) = &mut self.leadership {
            lead.epoch = won.epoch;
            lead.unaware = others;
            lead.announced = Timestamp::ZERO;
            lead.announce = others;
        }
        None
    }
}

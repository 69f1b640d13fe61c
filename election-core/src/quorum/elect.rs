//! When this node asks for votes, and when it has won.

use super::{
    leadership::{Candidacy, Leadership},
    machine::Quorum,
    members::Peer,
    message::Availability,
    peers::{View, bit, members_of},
    position::Position,
    standing::Survey,
    succession::FOR_NOMINEE,
    timers::Timer,
    voter::Eligibility,
};
use crate::{Change, Epoch, Timestamp};
use core::cmp::Reverse;

impl Quorum {
    /// Draws all conclusions from the current state, whichever input led to it.
    pub(super) fn settle(&mut self) {
        if !self.boot.is_over() {
            self.wait_for_boot();
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
                self.wait_to_campaign();
                self.catch_up();
            }
        }
    }

    /// Waits for the end of the boot grace.
    ///
    /// Supporting a primary ends it, too. Only a primary can have got this support, and its epoch is
    /// not below the promised one. So an earlier life supported either the same primary, which this
    /// support outlasts, or a node of an earlier epoch, whose trust was over when this primary was
    /// elected. That life would have dropped such support for the frame that this one has taken. (A
    /// primary of kevy-elect proves nothing: it may have declared itself one.)
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

    /// Whether this node leads, drains, or supports another.
    pub(super) fn is_bound(&self) -> bool {
        !self.leadership.is_none() || self.support.is_some()
    }

    /// A node without a ballot binds itself as far as it can ever have been bound: to the highest
    /// epoch heard, with its vote in that epoch spent.
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

    fn catch_up(&mut self) {
        if self.data.resynced && self.boot.is_settled() {
            return;
        }
        let primary = self.following.as_ref().and_then(|known| self.peers.get(known.primary));
        let Some(primary) = primary else { return };
        if !self.data.is_known() {
            return;
        }
        if self.data.position() >= primary.position && self.boot.caught_up() {
            self.voter.renew();
        }
        self.data.follows(primary.position, primary.is_extended());
    }

    /// Makes an offer as soon as this node may, and its rank's waiting time has passed.
    fn campaign(&mut self) {
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
    fn wait_to_campaign(&mut self) {
        self.eligible_since = None;
        self.timers.stop(Timer::Campaign);
    }

    /// Whether this node has waited long enough to report missing data or knowledge.
    fn is_impatient(&self) -> bool {
        self.timers.has_passed(Timer::Patience, self.now)
    }

    /// What decides between two candidates: the data, then the preference, then the lower id.
    pub(super) fn merit(&self, peer: Peer, position: Position) -> impl Ord + use<> {
        let is_preferred = self.config.preferred_primary() == Some(peer);
        (position, is_preferred, Reverse(peer))
    }

    /// How many staggers this node leaves to others: one for each peer that stands for election and
    /// would be better, and [`FOR_NOMINEE`] for the nominee of a handover. The nominee itself waits
    /// for newer data only. Nobody waits for the primary that nominated it.
    fn rank(&self) -> u64 {
        let position = self.data.position();
        let own = self.merit(self.me, position);
        let (mut better, mut newer, mut wanted) = (0, false, false);
        let wants = self.succession.nominee();
        let past = self.succession.past();
        let members = self.config.members();
        let rivals = |peer: Peer, view: &View| {
            let stands = view.availability.stands() && !members.is_witness(peer);
            stands && Some(peer) != past && !view.has_ended() && self.may_be_elected(peer)
        };
        for (peer, view) in self.peers.fresh(self.now).filter(|(peer, view)| rivals(*peer, view)) {
            better += u64::from(self.merit(peer, view.position) > own);
            newer |= view.position > position;
            wanted |= wants == Some(peer);
        }
        if self.succession.names(self.me) && !newer {
            return 0;
        }
        better + if wanted { FOR_NOMINEE } else { 0 }
    }

    /// Asks for votes in an election of its own. A primary does so without ceasing to lead.
    fn offer_itself(&mut self) {
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

    /// Gives up a candidacy. Its voters are free again at once.
    pub(super) fn end_candidacy(&mut self) {
        if self.take_candidacy().is_some() {
            self.lost();
        }
    }

    pub(super) fn take_candidacy(&mut self) -> Option<Candidacy> {
        self.timers.stop(Timer::Candidacy);
        self.timers.stop(Timer::Offer);
        self.candidacy.take()
    }

    fn lost(&mut self) {
        if self.leadership.is_none() {
            let (least, most) = self.config.election_backoff();
            let random = self.random.jitter(most.saturating_sub(least));
            self.timers.set(Timer::Backoff, self.now + least + random);
            self.timers.set(Timer::Heartbeat, self.now);
        }
    }

    pub(super) fn open_candidacy(&mut self) -> Option<Change> {
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

    /// Takes a vote. It counts once, for the epoch that it names, if this node has made that offer.
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
        if let Leadership::Leading(lead) = &mut self.leadership {
            lead.epoch = won.epoch;
            lead.unaware = others;
            lead.announced = Timestamp::ZERO;
            lead.announce = others;
        }
        None
    }
}

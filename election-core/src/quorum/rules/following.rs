//! Whom this node follows and supports: what a primary's claim means, and when it is taken back.

use crate::{
    Change, Epoch, Label, Loss, Timestamp,
    quorum::{
        machine::Quorum,
        message::Stamp,
        places::Peer,
        state::{
            leadership::Leadership,
            succession::Nomination,
            support::{Following, Support},
            timers::Timer,
            voter::{Eligibility, Pledge},
        },
    },
};

impl Quorum {
    pub(crate) fn nominated(&mut self, by: Peer, nominee: Peer) {
        let supported = self.support.is_some_and(|support| support.node == by);
        let followed = self.follows(by);
        if supported || followed {
            if nominee == self.me && !self.succession.names(self.me) {
                // The primary waits for this node's position.
                self.timers.set(Timer::Heartbeat, self.now);
            }
            self.succession.heard = Some(Nomination { by, nominee });
        }
    }

    /// A heartbeat as replica takes back what its sender asked for before. (A heartbeat as
    /// candidate does not: the candidate may have won by the time it is read.)
    pub(crate) fn retracted(&mut self, from: Peer, stamp: Option<&Stamp>) {
        let releases = |support: &Support| support.node == from && support.is_released_by(stamp);
        if self.support.as_ref().is_some_and(releases) {
            self.lose_support();
        }
        self.voter.take_back(from, stamp);
        if self.follows(from) && self.support.is_none_or(|support| support.node != from) {
            self.forget_primary();
        }
    }

    fn follows(&self, peer: Peer) -> bool {
        self.following.as_ref().is_some_and(|following| following.primary == peer)
    }

    /// A peer claims to have won an election: its heartbeat as primary, or its announcement.
    pub(crate) fn claimed(&mut self, from: Peer, claim: Claim<'_>) -> Option<Change> {
        let epoch = claim.epoch;
        if epoch == Epoch::NONE || self.peers.get(from)?.differs {
            return None;
        }
        if let Some(own) = self.leadership.epoch() {
            if epoch == own {
                self.alerts.two_primaries(epoch, self.me, from);
            }
            if epoch <= own {
                return None;
            }
        }
        let change = self.deposed(from, claim.tenure());
        let until = self.now.after(self.config.timing.down_after);
        if epoch < self.voter.promised {
            // The primary's peers have moved on to a higher epoch, and it is about to follow.
            if self.follows(from) {
                self.timers.set(Timer::Primary, until);
            }
            return change;
        }
        if self.follow(from, until, &claim) {
            self.support_primary(from, epoch, claim.stamp);
        }
        change
    }

    /// Another node has won a higher epoch: this node's leadership is over, whatever it trusted.
    fn deposed(&mut self, by: Peer, token: Epoch) -> Option<Change> {
        match &mut self.leadership {
            Leadership::None => None,
            Leadership::Leading(_) => {
                let successor = self.term(token, by);
                let lost = self.end_belief(Loss::Replaced, None, successor);
                self.published.replaced(by, token);
                lost
            }
            // Its work was promised the time until trust ends, and nothing takes that back. So the
            // drain goes on, in silence: nobody is left to keep out, and nobody may be let in.
            Leadership::Draining(drain) => {
                (drain.nominee, drain.resigned) = (None, false);
                self.timers.set(Timer::Silence, self.now);
                None
            }
        }
    }

    /// Records the primary. Returns false if two members claim the epoch.
    fn follow(&mut self, primary: Peer, until: Timestamp, claim: &Claim<'_>) -> bool {
        let (epoch, label) = (claim.epoch, claim.label);
        if self.candidacy.is_some() {
            self.end_candidacy();
        }
        match &mut self.following {
            Some(known) if known.primary == primary && known.epoch <= epoch => {
                known.disputed &= known.epoch == epoch;
                known.epoch = epoch;
                self.timers.set(Timer::Primary, until);
                if claim.token != Epoch::NONE {
                    known.token = claim.tenure();
                }
                if label.is_some() && label != known.label.as_ref() {
                    known.label = label.cloned();
                    self.published.relabelled();
                }
                return !known.disputed;
            }
            Some(known) if known.epoch == epoch => {
                known.disputed = true;
                let first = known.primary;
                self.alerts.two_primaries(epoch, first, primary);
                return false;
            }
            Some(known) if known.epoch > epoch => return false,
            _ => {}
        }
        let (token, label, disputed) = (claim.tenure(), label.cloned(), false);
        self.following = Some(Following { primary, epoch, token, label, disputed });
        self.timers.set(Timer::Primary, until);
        self.timers.set(Timer::StayOut, Timestamp::ZERO);
        self.unseen = 0;
        self.forsaken = false;
        self.succession.settled();
        self.alerts.catch_up(None);
        true
    }

    /// Supports a primary once its epoch is promised and the promise is durable.
    fn support_primary(&mut self, node: Peer, epoch: Epoch, stamp: Option<&Stamp>) {
        if self.voter.eligibility != Eligibility::Eligible || !self.boot.permits_support() {
            return;
        }
        let reached = self.peers.get(node).map(|view| view.position);
        if reached.is_some_and(|position| self.data.witness(position)) {
            self.voter.renew();
        }
        if epoch == self.voter.promised && self.voter.is_durable() {
            self.extend_support(node, epoch, stamp, self.now);
            return;
        }
        if epoch > self.voter.promised && !self.voter.bind(epoch, None) {
            return; // a save is outstanding: the primary will repeat its frame
        }
        let (stamp, received) = (stamp.copied(), self.now);
        self.voter.pledge(Pledge { node, stamp, received, vote: false });
    }

    /// Supports `node` for `down_after` from `received`, when its frame came in.
    pub(crate) fn extend_support(
        &mut self,
        node: Peer,
        epoch: Epoch,
        stamp: Option<&Stamp>,
        received: Timestamp,
    ) {
        let until = match stamp {
            Some(_) => received.after(self.config.timing.down_after),
            None => self.legacy_deadline(received),
        };
        match &mut self.support {
            Some(support) if support.node == node && support.is_of(stamp) => {
                if support.extend(epoch, stamp) {
                    self.timers.postpone(Timer::Support, until);
                }
            }
            None if self.boot.is_over() || self.voter.has_voted_for(node, epoch) => {
                let stamp = stamp.copied();
                self.support = Some(Support { node, epoch, stamp });
                self.timers.set(Timer::Support, until);
            }
            Some(support) if epoch <= support.epoch => return,
            // Support that another has, or may have of an earlier life, has to end first.
            _ => {
                let stamp = stamp.copied();
                self.voter.pledge(Pledge { node, stamp, received, vote: false });
                return;
            }
        }
        self.voter.supports(node, epoch);
    }
}

/// The claim of a peer to lead.
pub(crate) struct Claim<'a> {
    /// The epoch under which it leads now.
    pub(crate) epoch: Epoch,
    /// The first epoch of its tenure, if it says so.
    pub(crate) token: Epoch,
    pub(crate) stamp: Option<&'a Stamp>,
    pub(crate) label: Option<&'a Label>,
}

impl Claim<'_> {
    /// The epoch that identifies this tenure. If a peer does not say, the first epoch that this
    /// node hears from it counts.
    fn tenure(&self) -> Epoch {
        if self.token == Epoch::NONE { self.epoch } else { self.token.min(self.epoch) }
    }
}

//! The meaning of a frame, once it is decoded.

use super::{
    alerts::Published,
    boot::PeerReport,
    leadership::Leadership,
    machine::Quorum,
    members::Peer,
    message::{Availability, Connection, Extension, Heartbeat, Message, Role, Stamp},
    peers::{Admission, bit},
    succession::Nomination,
    support::{Following, Support},
    timers::Timer,
    voter::{Eligibility, Pledge},
};
use crate::{Change, Epoch, Label, Loss, Timestamp};

impl Quorum {
    pub(super) fn received(
        &mut self,
        from: Peer,
        connection: Connection,
        message: &Message,
    ) -> Option<Change> {
        let (epoch, stamp) = (message.epoch(), message.stamp());
        let is_news = self.admits(from, connection, epoch, stamp)?;
        match message {
            Message::Heartbeat(heartbeat) => {
                if is_news {
                    self.greet(from, heartbeat);
                }
                self.heartbeat_heard(from, heartbeat)
            }
            Message::Offer { position, .. } => {
                if !self.is_overtaken(from, stamp) {
                    self.offered(from, epoch, *position, stamp.copied());
                }
                None
            }
            Message::Accept { .. } => self.accepted(from, epoch),
            Message::Maintenance { record, left, agreed, .. } => {
                self.told_of(from, record, *left, *agreed);
                None
            }
            Message::Announce { address, token, .. } => {
                if self.is_overtaken(from, stamp) {
                    return None;
                }
                self.claimed(from, Claim { epoch, token: *token, stamp, label: Some(address) })
            }
        }
    }

    /// A peer that this life hears for the first time has missed announcements. If both nodes look
    /// for a primary, the peer also waits until it knows that it is heard.
    #[cold]
    fn greet(&mut self, peer: Peer, heartbeat: &Heartbeat) {
        let is_busy = |said: &Extension| said.availability.is_busy();
        let looks = !heartbeat.extension.as_ref().is_some_and(is_busy);
        if looks && !self.readiness.availability.is_busy() {
            self.outbox.answer(bit(peer));
        }
        if let Leadership::Leading(lead) = &mut self.leadership {
            lead.announce |= bit(peer);
        }
    }

    /// Whether a frame counts, by its origin and its epoch. If it does, returns whether its sender
    /// is newly heard.
    fn admits(
        &mut self,
        from: Peer,
        connection: Connection,
        epoch: Epoch,
        stamp: Option<&Stamp>,
    ) -> Option<bool> {
        let view = self.peers.get_mut(from)?;
        if from == self.me {
            self.alerts.duplicate(from);
            return None;
        }
        if !self.ceiling.admits(epoch.get()) {
            self.ceiling.strained(self.now, self.config.timing.down_after);
            self.alerts.jump(from, epoch);
            return None;
        }
        let admission = view.admit(connection, stamp, self.now, self.config.timing.down_after);
        match admission {
            Admission::Admitted | Admission::News => {}
            Admission::Instead => self.takes_back_vote(from),
            Admission::Superseded => return None,
            Admission::Doubt | Admission::Clash => {
                if admission == Admission::Clash {
                    self.alerts.duplicate(from);
                }
                self.takes_back_vote(from);
                return None;
            }
        }
        self.alerts.sound(from);
        Some(admission != Admission::Admitted)
    }

    /// What a peer has voted for does not count: another process may have voted in its name.
    #[cold]
    fn takes_back_vote(&mut self, of: Peer) {
        if let Some(candidacy) = &mut self.candidacy {
            candidacy.votes &= !bit(of);
        }
    }

    /// Whether the sender has said since that it neither leads nor asks for votes any more.
    fn is_overtaken(&self, from: Peer, stamp: Option<&Stamp>) -> bool {
        let Some(view) = self.peers.get(from) else { return true };
        view.role == Role::Replica && stamp.is_some_and(|stamp| stamp.at < view.stamped())
    }

    fn heartbeat_heard(&mut self, from: Peer, heartbeat: &Heartbeat) -> Option<Change> {
        let extension = heartbeat.extension.as_ref();
        let stamp = extension.map(|extension| &extension.stamp);
        let (own, me) = (self.fingerprint, self.me);
        let view = self.peers.get_mut(from)?;
        if !view.supersedes(stamp) {
            return None;
        }
        view.keep(heartbeat, extension, me);
        view.holds(extension);
        view.differs = extension.map_or(view.differs, |extension| extension.fingerprint != own);
        let differs = view.differs;
        self.alerts.differs(from, differs);
        self.seen = self.seen.max(heartbeat.epoch);
        if !self.boot.is_settled() {
            let knows_itself =
                !matches!(view.availability, Availability::Ineligible | Availability::Loading);
            // In another list of members, the bit would mean another member.
            let is_mutual = view.hears_me && knows_itself && !view.differs;
            let epoch = heartbeat.epoch;
            let report = PeerReport { from, epoch, position: heartbeat.position, stamp, is_mutual };
            self.boot.listen(&report, self.config.timing.election);
        }
        if let Some(nominee) = extension.and_then(|extension| extension.nominee) {
            self.nominated(from, nominee);
        }
        self.peer_holds(from);
        match heartbeat.role {
            Role::Primary => {
                let token = extension.map_or(Epoch::NONE, |said| said.attestation.token());
                self.claimed(from, Claim { epoch: heartbeat.epoch, token, stamp, label: None })
            }
            Role::Candidate => self.vouched(from, heartbeat),
            Role::Replica => {
                self.retracted(from, stamp);
                self.vouched(from, heartbeat)
            }
        }
    }

    fn nominated(&mut self, by: Peer, nominee: Peer) {
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
    fn retracted(&mut self, from: Peer, stamp: Option<&Stamp>) {
        let releases = |support: &Support| support.node == from && support.is_released_by(stamp);
        if self.support.as_ref().is_some_and(releases) {
            self.lose_support();
        }
        self.voter.pledge.take_if(|pledge| {
            pledge.node == from && pledge.stamp.is_none_or(|known| !precedes(stamp, &known))
        });
        if self.follows(from) && self.support.is_none_or(|support| support.node != from) {
            self.forget_primary();
        }
    }

    fn follows(&self, peer: Peer) -> bool {
        self.following.as_ref().is_some_and(|following| following.primary == peer)
    }

    /// A peer claims to have won an election: its heartbeat as primary, or its announcement.
    fn claimed(&mut self, from: Peer, claim: Claim<'_>) -> Option<Change> {
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
                self.published = Published::Followed(by, token, false);
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
                    self.published = Published::Nothing;
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
        self.voter.pledge = Some(Pledge { node, stamp, received, vote: false });
    }

    /// Supports `node` for `down_after` from `received`, when its frame came in.
    pub(super) fn extend_support(
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
            Some(support) if support.node == node => {
                if support.extend(epoch, stamp) {
                    self.timers.postpone(Timer::Support, until);
                }
            }
            _ => {
                let stamp = stamp.copied();
                self.support = Some(Support { node, epoch, stamp });
                self.timers.set(Timer::Support, until);
            }
        }
    }

    /// Takes what a peer that does not lead says about this node's leadership. Its echo shows that
    /// it supports this node; its epoch may show that it is bound elsewhere.
    fn vouched(&mut self, from: Peer, heartbeat: &Heartbeat) -> Option<Change> {
        let Leadership::Leading(lead) = &mut self.leadership else { return None };
        let bump = self.candidacy.as_ref().map(|candidacy| candidacy.epoch);
        let at_own_epoch = heartbeat.epoch == lead.epoch || Some(heartbeat.epoch) == bump;
        if !at_own_epoch {
            lead.outgrown = lead.outgrown.max(heartbeat.epoch);
        }
        let Some(extension) = &heartbeat.extension else {
            return self.legacy_vouched(from, heartbeat.epoch, at_own_epoch);
        };
        let echo =
            extension.attestation.echo().filter(|echo| self.stamps.gave(echo) && at_own_epoch)?;
        if extension.fingerprint != self.fingerprint {
            return None;
        }
        if heartbeat.epoch == lead.epoch
            && lead.announced != Timestamp::ZERO
            && lead.announced <= echo.at
        {
            lead.unaware &= !bit(from);
        }
        self.trust.vouch(from, echo.at);
        self.refresh_trust();
        None
    }
}

/// The claim of a peer to lead.
struct Claim<'a> {
    /// The epoch under which it leads now.
    epoch: Epoch,
    /// The first epoch of its tenure, if it says so.
    token: Epoch,
    stamp: Option<&'a Stamp>,
    label: Option<&'a Label>,
}

impl Claim<'_> {
    /// The epoch that identifies this tenure. If a peer does not say, the first epoch that this
    /// node hears from it counts.
    fn tenure(&self) -> Epoch {
        if self.token == Epoch::NONE { self.epoch } else { self.token.min(self.epoch) }
    }
}

/// Whether a frame with this stamp is older than a known frame of the same life.
fn precedes(stamp: Option<&Stamp>, known: &Stamp) -> bool {
    stamp.is_some_and(|stamp| stamp.at < known.at)
}

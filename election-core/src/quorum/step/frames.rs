//! The meaning of a frame, once it is decoded.

use crate::{
    Change, Epoch,
    quorum::{
        machine::Quorum,
        message::{Availability, Connection, Extension, Heartbeat, Message, Role, Stamp},
        places::Peer,
        rules::following::Claim,
        state::{
            boot::PeerReport,
            peers::{Admission, bit},
        },
    },
};

impl Quorum {
    pub(crate) fn received(
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
                    self.seen = self.seen.max(epoch);
                    self.offered(from, epoch, *position, stamp.copied());
                }
                None
            }
            Message::Accept { accepted, .. } => self.accepted(from, epoch, *accepted),
            Message::Lists { lists, .. } => self.lists_told(from, lists),
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
        if let Some(lead) = self.leadership.lead_mut() {
            lead.announce_to(bit(peer));
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

    /// Whether the sender has said since that it neither leads nor asks for votes any more.
    fn is_overtaken(&self, from: Peer, stamp: Option<&Stamp>) -> bool {
        let Some(view) = self.peers.get(from) else { return true };
        view.role == Role::Replica && stamp.is_some_and(|stamp| stamp.at < view.stamped())
    }

    fn heartbeat_heard(&mut self, from: Peer, heartbeat: &Heartbeat) -> Option<Change> {
        let extension = heartbeat.extension.as_ref();
        let stamp = extension.map(|extension| &extension.stamp);
        let (own, me) = (self.fingerprint, self.me);
        let is_new = self.boot.learns_promises() && !self.is_impatient();
        let view = self.peers.get_mut(from)?;
        if !view.supersedes(stamp) {
            return None;
        }
        view.keep(heartbeat, me);
        view.differs = extension.map_or(view.differs, |extension| extension.fingerprint != own);
        let differs =
            view.differs && view.lists.generation == self.config.members().list().generation;
        // A node without a ballot may be about to join those who follow a primary.
        let joins = is_new && view.availability.is_busy();
        let differs = differs && !joins && self.config.members().is_voter(from);
        self.alerts.differs(from, differs);
        self.seen = self.seen.max(heartbeat.epoch);
        if !self.boot.is_settled() {
            let knows_itself =
                !matches!(view.availability, Availability::Ineligible | Availability::Loading);
            // In a strange list of members, the bit would mean another member.
            let is_known =
                view.list.is_none_or(|list| self.lists.know(list, self.config.members()));
            let is_known = is_known && self.lists.knows(view.lists.accepted);
            let is_mutual = view.hears_me && knows_itself && is_known;
            let epoch = heartbeat.epoch;
            let report = PeerReport { from, epoch, position: heartbeat.position, stamp, is_mutual };
            self.boot.listen(&report, self.config.timing.election);
        }
        if let Some(nominee) = extension.and_then(|extension| extension.nominee) {
            self.nominated(from, nominee);
        }
        self.decide();
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

    /// Takes what a peer that does not lead says about this node's leadership. Its echo shows that
    /// it supports this node; its epoch may show that it is bound elsewhere.
    fn vouched(&mut self, from: Peer, heartbeat: &Heartbeat) -> Option<Change> {
        let lead = self.leadership.lead_mut()?;
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
        if heartbeat.epoch == lead.epoch {
            lead.echoed(from, echo.at);
        }
        self.trust.vouch(from, echo.at);
        self.refresh_trust();
        None
    }
}

//! What to do next, and when: the one place that looks at every deadline.

use crate::{
    Timestamp,
    quorum::{
        machine::Quorum,
        message::{Action, Attestation, Audience, Extension, Heartbeat, Message, Role},
        places::{Peer, PeerSet},
        position::Position,
        state::{
            leadership::{Drain, Lead, Leadership},
            peers::{View, bit, members_of},
            support::Support,
            timers::Timer,
        },
    },
};

impl Quorum {
    /// Performs the most urgent action that is due. A vote goes before heartbeats, and a frame to
    /// all members before a frame to one.
    pub(crate) fn act(&mut self) -> Option<Action> {
        let now = self.now;
        if self.voter.wants_saving(|| self.timers.has_passed(Timer::Save, now)) {
            self.timers.stop(Timer::Save);
            let floor = self.boot.floor().max(self.data.save());
            let (members, incarnation) = (self.config.members(), self.stamps.incarnation);
            let (maintenance, lists) = (self.failover.save(now), self.lists.save());
            let ballot = self.voter.save(members, incarnation, floor, maintenance, lists);
            return Some(Action::Save(ballot));
        }
        // A vote that was due may have been overtaken, in the step that made it durable, by a promise
        // that is not durable yet; it would be sent under that promise's epoch.
        let durable = self.voter.is_durable();
        if let Some(lists) = self.outbox.accepts().and_then(|to| self.send_lists(Some(to))) {
            return Some(lists);
        }
        if let Some(candidate) = self.outbox.take_accept().filter(|_| durable) {
            let (epoch, stamp) = (self.voter.promised, Some(self.stamps.next(self.now)));
            let to = Audience::One(candidate);
            let accepted = self.config.members().outline(self.lists.recorded()).accepted;
            return Some(Action::Send { to, message: Message::Accept { epoch, stamp, accepted } });
        }
        if self.is_silent() {
            return None;
        }
        if let Some(announcement) = self.announce_to_all() {
            return Some(announcement);
        }
        if let Some(offer) = self.offer() {
            return Some(offer);
        }
        if self.timers.has_passed(Timer::Heartbeat, now) {
            if let Some(heartbeat) = self.heartbeat_to_all() {
                return Some(heartbeat);
            }
        }
        if let Some(refused) = self.outbox.take_answer() {
            return Some(self.heartbeat(Audience::One(refused)));
        }
        let one = self.announce_to_one().or_else(|| self.send_maintenance());
        one.or_else(|| self.send_lists(None))
    }

    /// When this node next has to act, or something ends, by itself.
    pub(crate) fn plan(&self) -> Timestamp {
        if self.owes_action() || self.readiness.is_just_told() {
            return self.now;
        }
        self.timers.next(self.now, !self.is_silent(), self.is_seeking())
    }

    fn owes_action(&self) -> bool {
        if self.outbox.owes_accept() {
            return true;
        }
        let announces = self.leadership.lead().is_some_and(|lead| lead.announce != 0);
        let offers = self.candidacy.as_ref().is_some_and(|own| own.offer_to != 0);
        let records = self.failover.owes() || self.lists.owed() != 0;
        let answers = self.outbox.owes_answers() || records;
        !self.is_silent() && (answers || announces || offers)
    }

    fn offer(&mut self) -> Option<Action> {
        let (epoch, to) = self.next_offer(self.hides_offset())?;
        let (position, stamp) = (self.position_for(to), Some(self.stamps.next(self.now)));
        Some(Action::Send { to, message: Message::Offer { epoch, position, stamp } })
    }

    /// Whether some peers must see another offset than the others. A peer that was not heard yet may
    /// hear this node all the same, and be one that cannot tell histories apart.
    pub(crate) fn hides_offset(&self) -> bool {
        let unknown = |peer: Peer| self.peers.get(peer).is_none_or(|view| !view.is_extended());
        self.data.is_hidden() && members_of(self.boot.others()).any(unknown)
    }

    /// The position of this node's data, as shown to an audience.
    fn position_for(&self, to: Audience) -> Position {
        self.data.shown_to(match to {
            Audience::All => true,
            Audience::One(peer) => self.peers.get(peer).is_some_and(View::is_extended),
        })
    }

    pub(crate) fn heartbeat_to_all(&mut self) -> Option<Action> {
        let timing = self.config.timing;
        self.timers.set(Timer::Heartbeat, self.now.after(timing.hb_interval));
        self.outbox.answered_all();
        self.readiness.tell();
        self.remind_who_is_behind();
        self.remind_of_lists();
        let others = self.boot.others();
        let now = self.now;
        if let Some(lead) = self.leadership.lead_mut() {
            lead.remind();
            if self.timers.has_passed(Timer::Announce, now) {
                self.timers.set(Timer::Announce, now.after(timing.down_after));
                lead.announce_to(others);
            }
        }
        if others == 0 {
            self.timers.stop(Timer::Heartbeat); // nobody to tell
            self.outbox.farewell_is_told();
            return None;
        }
        let shunned = self.shunned();
        if shunned != 0 || self.hides_offset() {
            self.outbox.answer(others & !shunned); // one by one
            if !self.outbox.owes_answers() {
                self.outbox.farewell_is_told();
            }
            return None;
        }
        self.outbox.farewell_is_told();
        Some(self.heartbeat(Audience::All))
    }

    fn heartbeat(&mut self, to: Audience) -> Action {
        let (epoch, role, attestation, nominee) = match &self.leadership {
            Leadership::Leading(Lead { epoch, token, .. }) => {
                (*epoch, Role::Primary, Attestation::Token(*token), self.succession.own)
            }
            Leadership::Draining(Drain { epoch, token, nominee, .. }) => {
                (*epoch, Role::Primary, Attestation::Token(*token), *nominee)
            }
            Leadership::None => {
                let (promised, role) = (self.voter.promised, self.role());
                let echoes =
                    |support: &&Support| role == Role::Replica && support.epoch == promised;
                let echo = self.support.as_ref().filter(echoes).and_then(|support| support.stamp);
                (
                    promised,
                    role,
                    echo.map_or(Attestation::None, Attestation::Echo),
                    self.succession.own,
                )
            }
        };
        let heard = self.peers.fresh(self.now).filter(|(_, view)| !view.has_ended());
        let hears = heard.fold(0, |heard, (peer, _)| heard | bit(peer));
        let extension = Some(Extension {
            stamp: self.stamps.next(self.now),
            attestation,
            availability: self.readiness.availability,
            nominee,
            fingerprint: self.fingerprint,
            hears: PeerSet::from_bits(hears),
            holds: self.failover.holds(),
            lists: self.config.members().outline(self.lists.recorded()),
        });
        let position = self.position_for(to);
        let message = Message::Heartbeat(Heartbeat { epoch, role, position, extension });
        Action::Send { to, message }
    }

    fn announce_to_all(&mut self) -> Option<Action> {
        let others = self.boot.others();
        let lead = self.leadership.lead()?;
        if lead.announce != others || others == 0 {
            return None;
        }
        let announcement = self.announcement(Audience::All);
        let stamped = self.stamps.newest;
        if let Some(lead) = self.leadership.lead_mut() {
            lead.announced_to_all(stamped);
        }
        announcement
    }

    fn announce_to_one(&mut self) -> Option<Action> {
        let to = self.leadership.lead_mut()?.take_unannounced()?;
        self.announcement(Audience::One(to))
    }

    fn announcement(&mut self, to: Audience) -> Option<Action> {
        let (epoch, stamp) = (self.leadership.epoch()?, Some(self.stamps.next(self.now)));
        let (address, token) = (self.config.address().clone(), self.leadership.token()?);
        Some(Action::Send { to, message: Message::Announce { epoch, address, token, stamp } })
    }
}

//! What to do next, and when: the one place that looks at every deadline.

use super::{
    leadership::Leadership,
    machine::Quorum,
    members::PeerSet,
    message::{Action, Attestation, Audience, Extension, Heartbeat, Message, Role, Stamp},
    peers::{View, bit, members_of},
    position::Position,
    support::Support,
    voter::Disclosure,
};
use crate::Timestamp;

impl Quorum {
    /// Performs the most urgent thing that is due. A vote goes before heartbeats, and what is
    /// owed to everybody before what is owed to one.
    pub(super) fn act(&mut self) -> Option<Action> {
        let now = self.now;
        if self.voter.save_at().is_some_and(|at| at <= now) {
            let (members, floor) = (self.config.members(), self.boot.floor());
            return Some(Action::Save(self.voter.save(members, self.incarnation, floor)));
        }
        if let Some(candidate) = self.accept.take() {
            let (epoch, stamp) = (self.voter.promised, Some(self.stamp()));
            let to = Audience::One(candidate);
            return Some(Action::Send { to, message: Message::Accept { epoch, stamp } });
        }
        if self.is_silent() {
            self.answer = 0;
            return None;
        }
        if let Some(announcement) = self.announce_to_all() {
            return Some(announcement);
        }
        if let Some(offer) = self.offer() {
            return Some(offer);
        }
        if self.heartbeat_at <= now {
            if let Some(heartbeat) = self.heartbeat_to_all() {
                return Some(heartbeat);
            }
        }
        if let Some(refused) = members_of(self.answer).next() {
            self.answer &= !bit(refused);
            self.farewell &= self.answer != 0;
            return Some(self.heartbeat(Audience::One(refused)));
        }
        self.announce_to_one()
    }

    /// When something is to be done, or ends, by itself.
    pub(super) fn plan(&self) -> Timestamp {
        if self.owes_action() || self.owes_change() || self.disclosure == Disclosure::JustTold {
            return self.now;
        }
        let mut next = match &self.leadership {
            Leadership::Leading(lead) => lead.until,
            Leadership::Draining(drain) => drain.over_at,
            Leadership::None => Timestamp::MAX,
        };
        let mut by = |at: Timestamp| next = next.min(at);
        if !self.is_silent() {
            by(self.heartbeat_at);
        }
        if let Some(support) = &self.support {
            by(support.until);
        }
        if let Some(following) = &self.following {
            by(following.until);
        }
        if let Some(at) = self.voter.save_at() {
            by(at);
        }
        if let Some(at) = self.boot.ends_at() {
            by(at);
        }
        if let Some(candidacy) = self.candidacy.as_ref().filter(|candidacy| candidacy.open) {
            by(candidacy.offer_at);
            if let Some(offered) = candidacy.offered {
                by(offered.after(self.config.timing.election_timeout));
            }
        }
        if self.leadership.is_none() && self.support.is_none() {
            self.plan_campaign(&mut by);
        }
        next
    }

    fn plan_campaign(&self, by: &mut impl FnMut(Timestamp)) {
        for at in [self.backoff_until, self.stay_out_until, self.catch_up_at()] {
            if at > self.now {
                by(at);
            }
        }
        if let Some(at) = self.campaign_at().filter(|at| *at > self.now) {
            by(at);
        }
    }

    fn owes_action(&self) -> bool {
        if self.accept.is_some() {
            return true;
        }
        let announces = self.leadership.lead().is_some_and(|lead| lead.announce != 0);
        let offers = self.candidacy.as_ref().is_some_and(|own| own.offer_to != 0);
        !self.is_silent() && (self.answer != 0 || announces || offers)
    }

    /// Whether this node holds what it led with and must neither keep others out any longer nor
    /// let them in yet.
    fn is_silent(&self) -> bool {
        self.leadership.drain().is_some_and(|drain| drain.silent_from <= self.now)
    }

    fn offer(&mut self) -> Option<Action> {
        let now = self.now;
        let others = self.boot.others();
        let candidacy = self.candidacy.as_mut()?;
        if candidacy.open && candidacy.offer_at <= now {
            candidacy.offered.get_or_insert(now);
            candidacy.offer_at = now.after(self.config.timing.hb_interval);
            candidacy.offer_to = others;
        }
        let (epoch, pending) = (candidacy.epoch, candidacy.offer_to);
        let next = members_of(pending).next()?;
        let one_by_one = self.hides_offset();
        if let Some(candidacy) = &mut self.candidacy {
            candidacy.offer_to = if one_by_one { pending & !bit(next) } else { 0 };
        }
        let to = if one_by_one { Audience::One(next) } else { Audience::All };
        let (position, stamp) = (self.position_for(to), Some(self.stamp()));
        Some(Action::Send { to, message: Message::Offer { epoch, position, stamp } })
    }

    /// Whether some peers are to be told another offset than the others. (Without histories
    /// nobody could tell a fork; the seed's rule holds, offset alone.)
    fn hides_offset(&self) -> bool {
        !self.resynced
            && self.position.history != 0
            && self.peers.fresh(self.now).any(|(_, view)| !view.is_extended())
    }

    /// This node's data as an audience is to see it: a fork must not win by its length with those
    /// that cannot tell histories apart.
    fn position_for(&self, to: Audience) -> Position {
        let knows_histories = match to {
            Audience::All => true,
            Audience::One(peer) => self.peers.get(peer).is_none_or(View::is_extended),
        };
        if self.resynced || self.position.history == 0 || knows_histories {
            return self.position;
        }
        Position { offset: 0, ..self.position }
    }

    fn heartbeat_to_all(&mut self) -> Option<Action> {
        let timing = self.config.timing;
        self.heartbeat_at = self.now.after(timing.hb_interval);
        self.answer = 0;
        if self.disclosure == Disclosure::Untold {
            self.disclosure = Disclosure::JustTold;
        }
        let others = self.boot.others();
        let now = self.now;
        if let Leadership::Leading(lead) = &mut self.leadership {
            lead.announce = lead.unaware;
            if lead.announce_at <= now {
                lead.announce_at = now.after(timing.down_after);
                lead.announce = others;
            }
            if self.alerts.is_best_effort() && self.enough_echo() {
                self.alerts.best_effort(false);
            }
        }
        if others == 0 {
            self.heartbeat_at = Timestamp::MAX; // nobody to tell
            self.farewell = false;
            return None;
        }
        if self.hides_offset() {
            self.answer = others; // one by one
            return None;
        }
        self.farewell &= !self.leadership.is_none();
        Some(self.heartbeat(Audience::All))
    }

    fn heartbeat(&mut self, to: Audience) -> Action {
        let role = self.role();
        let epoch = self.leadership.epoch().unwrap_or(self.voter.promised);
        let echoes =
            |support: &&Support| role == Role::Replica && support.epoch == self.voter.promised;
        let echo = self.support.as_ref().filter(echoes).and_then(|support| support.stamp);
        let attestation = match (self.leadership.token(), echo) {
            (Some(token), _) => Attestation::Token(token),
            (None, Some(stamp)) => Attestation::Echo(stamp),
            (None, None) => Attestation::None,
        };
        let nominee = self.leadership.drain().map_or(self.nominates, |drain| drain.nominee);
        let heard = self.peers.fresh(self.now).filter(|(_, view)| !view.has_ended());
        let hears = heard.fold(0, |heard, (peer, _)| heard | bit(peer));
        let extension = Some(Extension {
            stamp: self.stamp(),
            attestation,
            availability: self.availability,
            nominee,
            fingerprint: self.fingerprint,
            hears: PeerSet::from_bits(hears),
        });
        let position = self.position_for(to);
        let message = Message::Heartbeat(Heartbeat { epoch, role, position, extension });
        Action::Send { to, message }
    }

    fn announce_to_all(&mut self) -> Option<Action> {
        let others = self.boot.others();
        let Leadership::Leading(lead) = &self.leadership else { return None };
        if lead.announce != others || others == 0 {
            return None;
        }
        let announcement = self.announcement(Audience::All);
        let stamped = self.stamped;
        if let Leadership::Leading(lead) = &mut self.leadership {
            lead.announce = 0;
            if lead.announced == Timestamp::ZERO {
                lead.announced = stamped;
            }
        }
        announcement
    }

    fn announce_to_one(&mut self) -> Option<Action> {
        let Leadership::Leading(lead) = &mut self.leadership else { return None };
        let to = members_of(lead.announce).next()?;
        lead.announce &= !bit(to);
        self.announcement(Audience::One(to))
    }

    fn announcement(&mut self, to: Audience) -> Option<Action> {
        let (epoch, stamp) = (self.leadership.epoch()?, Some(self.stamp()));
        let (address, token) = (self.config.address().clone(), self.leadership.token()?);
        Some(Action::Send { to, message: Message::Announce { epoch, address, token, stamp } })
    }

    /// A stamp newer than every one before, as close to the clock as that allows.
    fn stamp(&mut self) -> Stamp {
        let at = self.now.max(self.stamped.after(1));
        self.stamped = at;
        self.ahead = self.ahead.max(at.as_nanos() - self.now.as_nanos());
        Stamp { incarnation: self.incarnation, at }
    }
}

//! How a record of maintenance is agreed: by a majority, or not at all.
//!
//! The node that takes an order proposes the next record to the others. Nobody acts on a proposal.
//! If a majority has it within an `election_timeout`, the node that proposed it declares it agreed.
//! If not, the order is refused, and everybody forgets it. (Only the proposer decides. If any holder
//! could, one might declare agreed what the proposer has just reported as refused.) An agreed record
//! belongs to the ballot: voters keep to it after a restart. Once a majority has recorded it, no
//! election can pass them by. [`Quorum::maintenance`] says how many have.

use crate::{
    Timestamp,
    quorum::{
        machine::Quorum,
        maintenance::Maintenance,
        members::Peer,
        message::{Action, Audience, Availability, Message},
        state::{
            peers::{View, bit, members_of},
            timers::Timer,
            upkeep::Records,
        },
    },
};
use core::time::Duration;

/// What this node can send of the records that it holds.
struct Sendable<'a> {
    record: &'a Maintenance,
    ends: Option<Timestamp>,
    agreed: bool,
}

impl Quorum {
    /// Proposes the next record, if a majority of voters is there to take it; otherwise says how
    /// many are.
    pub(crate) fn propose(
        &mut self,
        record: Maintenance,
        ends: Option<Timestamp>,
        ordered: bool,
    ) -> Result<(), usize> {
        let newest = self.upkeep.records().map_or(0, |Records { agreed, proposed, .. }| {
            proposed.map_or(agreed.number, |newer| newer.number.max(agreed.number))
        });
        let takes = |view: &View| can_record(view) && view.hears_me && !view.has_ended();
        let heard = 1 + self.peers.fresh(self.now).filter(|(_, view)| takes(view)).count();
        let number = newest.checked_add(1).filter(|_| heard >= self.majority);
        let number = number.filter(|_| self.voteless().is_none()).ok_or(heard)?;
        self.consider(Maintenance { number, issuer: self.me, ..record }, ends);
        self.upkeep.begun().ordered = ordered;
        self.decide();
        Ok(())
    }

    /// Holds a proposal for a while.
    fn consider(&mut self, record: Maintenance, ends: Option<Timestamp>) {
        self.withdraw_proposal();
        let until = self.now.after(self.config.timing.election_timeout);
        let known = self.upkeep.begun();
        (known.proposed, known.proposed_ends) = (Some(record), ends);
        known.proposed_until = until;
        self.plan_errands();
        self.timers.set(Timer::Heartbeat, self.now);
        self.find_who_is_behind();
    }

    /// A proposal has not been agreed in time, or a newer one takes its place.
    pub(crate) fn withdraw_proposal(&mut self) {
        let Some(known) = self.upkeep.records_mut() else { return };
        known.proposed_until = Timestamp::MAX;
        let was_ordered = core::mem::take(&mut known.ordered);
        let Some(proposed) = known.proposed.take() else { return };
        if was_ordered {
            let holders = self.holders(&proposed);
            self.alerts.maintenance_refused(holders, self.majority);
        }
    }

    /// How many voters hold a record, this node included.
    fn holders(&self, record: &Maintenance) -> usize {
        let fresh = self.peers.fresh(self.now);
        1 + fresh.filter(|(_, view)| can_record(view) && view.holds.is(record)).count()
    }

    /// Declares this node's own proposal agreed once a majority has it.
    fn decide(&mut self) {
        let proposed = self.upkeep.records().and_then(|known| known.proposed);
        let own = proposed.filter(|proposed| proposed.issuer == self.me);
        if let Some(proposed) = own.filter(|own| self.holders(own) >= self.majority) {
            let ends = self.upkeep.records().and_then(|known| known.proposed_ends);
            self.adopt(proposed, ends);
        }
    }

    /// Keeps to an agreed record.
    fn adopt(&mut self, record: Maintenance, ends: Option<Timestamp>) {
        let known = self.upkeep.begun();
        (known.agreed, known.ends, known.restored) = (record, ends, None);
        let newest = record.held(true);
        if let Some(own) = known.proposed.filter(|own| own.held(true) <= newest) {
            known.ordered &= own.held(true) != newest;
            self.withdraw_proposal();
        }
        self.timers.set(Timer::Heartbeat, self.now);
        self.plan_the_end();
        self.find_who_is_behind();
    }

    /// Takes a record from a peer.
    pub(crate) fn told_of(
        &mut self,
        from: Peer,
        record: &Maintenance,
        left: Option<Duration>,
        agreed: bool,
    ) {
        let differs = self.peers.get(from).is_none_or(|view| view.differs);
        let is_known = |peer: Peer| self.config.members().id(peer).is_some();
        let is_ours =
            is_known(record.issuer) && is_known(record.by) && record.primary.is_none_or(is_known);
        let (told, known) = (record.held(true), self.upkeep.agreed().held(true));
        if differs || !is_ours || told <= known {
            return;
        }
        if !self.last_record.admits(record.number.into()) {
            self.last_record.strained(self.now, self.config.timing.down_after);
            return;
        }
        let ends = left.map(|left| self.now + left);
        if agreed {
            self.adopt(*record, ends);
        } else {
            let proposed = self.upkeep.records().and_then(|known| known.proposed);
            if proposed.is_none_or(|other| other.held(true) < told) {
                self.consider(*record, ends);
            }
        }
    }

    /// Takes what a peer's heartbeat says that it holds.
    #[inline]
    pub(crate) fn peer_holds(&mut self, peer: Peer) {
        if self.upkeep.records().is_some() {
            self.compare_holding(peer);
        }
    }

    #[cold]
    fn compare_holding(&mut self, peer: Peer) {
        let is_behind = self.is_behind(peer);
        if let Some(known) = self.upkeep.records_mut().filter(|_| is_behind) {
            known.behind |= bit(peer);
        }
        self.decide();
    }

    /// What this node can send: its own proposal, or what is agreed. (If others passed a proposal
    /// on, it would outlive its proposer's patience.)
    fn sendable(&self) -> Option<Sendable<'_>> {
        let Records { agreed, ends, proposed, proposed_ends, .. } = self.upkeep.records()?;
        Some(match proposed.as_ref().filter(|proposed| proposed.issuer == self.me) {
            Some(proposed) => Sendable { record: proposed, ends: *proposed_ends, agreed: false },
            None => Sendable { record: agreed, ends: *ends, agreed: true },
        })
    }

    fn is_behind(&self, peer: Peer) -> bool {
        self.sendable().zip(self.peers.get(peer)).is_some_and(|(sendable, view)| {
            let Sendable { record, agreed, .. } = sendable;
            let takes = view.is_extended() && !view.differs && view.is_heard(self.now);
            takes && view.holds < record.held(agreed && can_record(view))
        })
    }

    fn find_who_is_behind(&mut self) {
        let behind = members_of(self.boot.others()).filter(|peer| self.is_behind(*peer));
        let behind = behind.fold(0, |all, peer| all | bit(peer));
        if let Some(known) = self.upkeep.records_mut() {
            known.behind = behind;
        }
    }

    /// A heartbeat tells all what this node holds. Whoever is behind also gets the record.
    #[inline]
    pub(crate) fn remind_who_is_behind(&mut self) {
        if self.upkeep.records().is_some_and(|known| known.behind != 0) {
            self.find_who_is_behind();
            if let Some(known) = self.upkeep.records_mut() {
                known.owed = known.behind;
            }
        }
    }

    /// The record for the next peer that is to get it.
    #[inline]
    pub(crate) fn send_maintenance(&mut self) -> Option<Action> {
        if self.upkeep.owes() { self.send_record() } else { None }
    }

    #[cold]
    fn send_record(&mut self) -> Option<Action> {
        let known = self.upkeep.records_mut()?;
        let to = members_of(known.owed).next()?;
        known.owed &= !bit(to);
        let Sendable { record, ends, agreed } = self.sendable()?;
        let left = ends.map(|ends| ends.since(self.now));
        let (record, epoch) = (*record, self.voter.promised);
        let stamp = Some(self.stamps.next(self.now));
        let message = Message::Maintenance { epoch, record, left, agreed, stamp };
        Some(Action::Send { to: Audience::One(to), message })
    }
}

/// Whether a member records what is agreed: it votes, or will when it has started.
fn can_record(view: &View) -> bool {
    let is_able = !matches!(view.availability, Availability::Ineligible | Availability::Waiting);
    view.is_extended() && !view.differs && is_able
}

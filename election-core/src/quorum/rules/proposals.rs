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
        message::{Action, Audience, Availability, Message},
        places::Peer,
        state::{
            failover::Sendable,
            peers::{View, bit, members_of},
            timers::Timer,
        },
    },
};
use core::time::Duration;

impl Quorum {
    /// Proposes the next record, if a majority of voters is there to take it; otherwise says how
    /// many are.
    pub(crate) fn propose(
        &mut self,
        record: Maintenance,
        ends: Option<Timestamp>,
        ordered: bool,
    ) -> Result<(), usize> {
        let takes = |view: &View| can_record(view) && view.hears_me && !view.has_ended();
        let votes = |peer: Peer| self.config.members().is_voter(peer);
        let fresh = self.peers.fresh(self.now);
        let heard = 1 + fresh.filter(|(peer, view)| votes(*peer) && takes(view)).count();
        let number = self.failover.next_number().filter(|_| heard >= self.majority);
        let number = number.filter(|_| self.voteless().is_none()).ok_or(heard)?;
        self.consider(Maintenance { number, issuer: self.me, ..record }, ends);
        if ordered {
            self.failover.is_ordered();
        }
        self.decide();
        Ok(())
    }

    /// Holds a proposal for a while.
    fn consider(&mut self, record: Maintenance, ends: Option<Timestamp>) {
        self.withdraw_proposal();
        self.failover.propose(record, ends);
        self.timers.set(Timer::Proposal, self.now.after(self.config.timing.election_timeout));
        self.timers.set(Timer::Heartbeat, self.now);
    }

    /// A proposal has not been agreed in time, or a newer one takes its place.
    pub(crate) fn withdraw_proposal(&mut self) {
        self.timers.stop(Timer::Proposal);
        if let Some(ordered) = self.failover.withdraw() {
            let holders = self.holders(&ordered);
            self.alerts.maintenance_refused(holders, self.majority);
        }
    }

    /// How many voters hold a record, this node included.
    fn holders(&self, record: &Maintenance) -> usize {
        let fresh = self.peers.fresh(self.now);
        let votes = |peer: Peer| self.config.members().is_voter(peer);
        let holds = |view: &View| can_record(view) && view.holds.is(record);
        1 + fresh.filter(|(peer, view)| votes(*peer) && holds(view)).count()
    }

    /// Declares this node's own proposal agreed once a majority has it.
    pub(crate) fn decide(&mut self) {
        let own = self.failover.own_proposal(self.me);
        if let Some((own, ends)) = own.filter(|(own, _)| self.holders(own) >= self.majority) {
            self.adopt(own, ends);
        }
    }

    /// Keeps to an agreed record.
    fn adopt(&mut self, record: Maintenance, ends: Option<Timestamp>) {
        if self.failover.adopt(record, ends) {
            self.withdraw_proposal();
        }
        self.timers.set(Timer::Heartbeat, self.now);
        self.plan_the_end();
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
        let (told, known) = (record.held(true), self.failover.agreed().held(true));
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
        } else if self.failover.proposed().is_none_or(|other| other.held(true) < told) {
            self.consider(*record, ends);
        }
    }

    fn is_behind(&self, peer: Peer) -> bool {
        let Sendable { record, agreed, .. } = self.failover.sendable(self.me);
        self.peers.get(peer).is_some_and(|view| {
            let takes = view.is_extended() && !view.differs && view.is_heard(self.now);
            takes && view.holds < record.held(agreed && can_record(view))
        })
    }

    /// A heartbeat tells all what this node holds. Whoever is behind also gets the record.
    pub(crate) fn remind_who_is_behind(&mut self) {
        let behind = members_of(self.boot.others()).filter(|peer| self.is_behind(*peer));
        self.failover.owe(behind.fold(0, |all, peer| all | bit(peer)));
    }

    /// The record for the next peer that is to get it.
    pub(crate) fn send_maintenance(&mut self) -> Option<Action> {
        let to = self.failover.take_owed()?;
        let Sendable { record, ends, agreed } = self.failover.sendable(self.me);
        let left = ends.map(|ends| ends.since(self.now));
        let (epoch, stamp) = (self.voter.promised, Some(self.stamps.next(self.now)));
        let message = Message::Maintenance { epoch, record, left, agreed, stamp };
        Some(Action::Send { to: Audience::One(to), message })
    }
}

/// Whether a member records what is agreed: it votes, or will when it has started.
fn can_record(view: &View) -> bool {
    let is_able = !matches!(view.availability, Availability::Ineligible | Availability::Waiting);
    view.is_extended() && !view.differs && is_able
}

//! Automatic failover, paused and resumed for the whole cluster.
//!
//! While it is paused, nobody is elected because a primary has fallen silent. The primary in office
//! goes on, under the same rules of trust as ever; if its process restarts, it may be elected again;
//! and it may hand over, which makes its successor the primary that may be elected again. So work on
//! hosts and networks does not move the leadership about.
//!
//! # The record
//!
//! What holds is one [`Maintenance`] record, numbered. A greater number replaces a smaller one; of
//! two with one number, the one of the higher member does. Every heartbeat says which record its
//! sender has, and whoever has a newer one sends it. So a node that was away learns it.
//!
//! # The end of a pause
//!
//! A pause may be ordered for a while. Wall clocks of hosts may differ by anything, so a node counts
//! the rest of the pause by its own steady clock, from when it hears of it: a frame says how much is
//! left. Only what passes while a node is down is read off its wall clock, by the ballot, and a
//! restart never makes a pause longer than what was left when the ballot was written.
//!
//! How a record is agreed stands in `proposals`. [`Quorum::maintenance`] says how many members have
//! recorded it.

use crate::{
    Timestamp,
    quorum::{machine::Quorum, maintenance::Maintenance, places::Peer},
};
use core::time::Duration;

impl Quorum {
    /// Takes an order to pause automatic failover, for a while or until further notice.
    pub(crate) fn pause(&mut self, lasts: Option<Duration>) {
        let ends = lasts.map(|span| self.now + span);
        let last = self.failover.agreed().primary.filter(|_| self.failover.is_paused());
        let primary = self.primary().or(last);
        self.order(Maintenance { paused: true, primary, ..Maintenance::default() }, ends);
    }

    /// Takes an order to resume automatic failover.
    pub(crate) fn resume(&mut self) {
        self.order(Maintenance::default(), None);
    }

    /// Takes an operator's order.
    fn order(&mut self, record: Maintenance, ends: Option<Timestamp>) {
        let since = self.failover.wall_clock(self.now);
        if let Err(heard) = self.propose(Maintenance { by: self.me, since, ..record }, ends, true) {
            self.alerts.maintenance_refused(heard, self.majority);
        }
    }

    /// The member that leads, as far as this node knows.
    fn primary(&self) -> Option<Peer> {
        match self.leadership.lead() {
            Some(_) => Some(self.me),
            None => self.following.as_ref().map(|known| known.primary),
        }
    }

    /// Looks after the record: makes this node's leadership part of it, and has it recorded.
    pub(crate) fn tend_maintenance(&mut self) {
        let agreed = *self.failover.agreed();
        let leads = self.leadership.lead().is_some();
        if self.failover.is_paused() && self.failover.proposed().is_none() && leads {
            let primary = Some(self.me);
            if agreed.primary != primary {
                // If too few are heard, the next step tries again.
                let record = Maintenance { primary, ..agreed };
                let _ = self.propose(record, self.failover.ends(), false);
            }
        }
        let under_way = self.voter.is_saving() && self.failover.is_in_save();
        if !self.failover.is_recorded() && !under_way && self.boot.permits_support() {
            self.voter.renew();
        }
    }
}

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
    quorum::{machine::Quorum, maintenance::Maintenance, members::Peer, state::upkeep::Records},
};
use core::time::Duration;

impl Quorum {
    /// Takes an order to pause automatic failover, for a while or until further notice.
    pub(crate) fn pause(&mut self, lasts: Option<Duration>) {
        let since = self.upkeep.wall_clock(self.now);
        let ends = lasts.map(|span| self.now + span);
        let primary = self.upkeep.agreed().primary.filter(|_| self.upkeep.is_paused());
        let record = Maintenance {
            paused: true,
            by: self.me,
            since,
            primary: self.primary().or(primary),
            ..Maintenance::default()
        };
        self.order(record, ends);
    }

    /// Takes an order to resume automatic failover.
    pub(crate) fn resume(&mut self) {
        let since = self.upkeep.wall_clock(self.now);
        self.order(Maintenance { by: self.me, since, ..Maintenance::default() }, None);
    }

    /// The member that leads, as far as this node knows.
    fn primary(&self) -> Option<Peer> {
        match self.leadership.lead() {
            Some(_) => Some(self.me),
            None => self.following.as_ref().map(|known| known.primary),
        }
    }

    /// Looks after the record: makes this node's leadership part of it, and has it recorded.
    #[inline]
    pub(crate) fn tend_maintenance(&mut self) {
        if let Some(Records { agreed, proposed, .. }) = self.upkeep.records() {
            let proposes = proposed.is_some();
            self.tend_record(*agreed, proposes);
        }
    }

    #[cold]
    fn tend_record(&mut self, agreed: Maintenance, proposes: bool) {
        let leads = self.leadership.lead().is_some();
        if self.upkeep.is_paused() && !proposes && leads {
            let primary = Some(self.me);
            if agreed.primary != primary {
                // If too few are heard, the next step tries again.
                let ends = self.upkeep.records().and_then(|known| known.ends);
                let _ = self.propose(Maintenance { primary, ..agreed }, ends, false);
            }
        }
        let newest = agreed.held(true);
        let Some(Records { recorded, saving, .. }) = self.upkeep.records() else { return };
        let under_way = self.voter.is_saving() && *saving == newest;
        if *recorded != newest && !under_way && self.boot.permits_support() {
            self.voter.renew();
        }
    }

    /// Takes an operator's order.
    fn order(&mut self, record: Maintenance, ends: Option<Timestamp>) {
        match self.propose(record, ends, true) {
            Ok(()) => {}
            Err(heard) => self.alerts.maintenance_refused(heard, self.majority),
        }
    }
}

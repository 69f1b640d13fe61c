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

use super::{
    machine::Quorum,
    maintenance::{Held, Maintenance, Remainder, UnixMillis},
    members::Peer,
    peers::Mask,
    timers::Timer,
};
use crate::{Change, Timestamp};
use alloc::boxed::Box;
use core::time::Duration;

/// What a node knows of the maintenance of its cluster; see [`Quorum::maintenance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaintenanceStatus {
    /// The agreed record.
    pub record: Maintenance,
    /// Whether automatic failover is paused: the record says so, and its time is not over.
    pub is_paused: bool,
    /// How many members are known to have recorded it, this node included. Once they are a majority,
    /// it holds whatever fails.
    pub recorded: usize,
    /// When the pause ends by itself; `None` if it has not been told to.
    pub ends: Option<Timestamp>,
    /// A newer record that is not agreed yet.
    pub proposed: Option<Maintenance>,
}

/// The maintenance of the cluster, as this node knows it.
///
/// Hardly any cluster is ever paused, and every step asks: so then there is nothing but an empty
/// pointer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Upkeep {
    records: Option<Box<Records>>,
    /// The wall clock, at an instant of this node's own.
    wall: Option<(Timestamp, UnixMillis)>,
}

/// What a node keeps from the first order on that it hears of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Records {
    /// The record that holds.
    pub(super) agreed: Maintenance,
    /// The record in the ballot on the disk, and in the ballot that is being saved.
    pub(super) recorded: Held,
    pub(super) saving: Held,
    /// A newer record, until it is agreed or forgotten.
    pub(super) proposed: Option<Maintenance>,
    /// The proposal is an operator's order to this node, which is answered, whatever becomes of it.
    pub(super) ordered: bool,
    /// When the proposed pause would end by itself.
    pub(super) proposed_ends: Option<Timestamp>,
    /// When to forget the proposal.
    pub(super) proposed_until: Timestamp,
    /// When the agreed pause ends by itself.
    pub(super) ends: Option<Timestamp>,
    /// What was left of it by the ballot of an earlier life.
    pub(super) restored: Option<Remainder>,
    /// The end, if nothing of that has passed while the node was down.
    latest: Option<Timestamp>,
    /// The pause has ended by itself.
    elapsed: bool,
    /// When to look whether it has.
    paused_until: Timestamp,
    /// The peers that hold an older record than this node can send.
    pub(super) behind: Mask,
    /// The peers that are still to get it, since the last heartbeat.
    pub(super) owed: Mask,
}

impl Records {
    fn new(agreed: Maintenance, restored: Option<Remainder>) -> Self {
        let recorded = agreed.held(true);
        Self {
            agreed,
            recorded,
            saving: recorded,
            proposed: None,
            ordered: false,
            proposed_ends: None,
            proposed_until: Timestamp::MAX,
            ends: None,
            restored: restored.filter(|_| agreed.paused),
            latest: None,
            elapsed: false,
            paused_until: Timestamp::MAX,
            behind: 0,
            owed: 0,
        }
    }

    fn is_paused(&self) -> bool {
        self.agreed.paused && !self.elapsed
    }

    #[cold]
    fn holds(&self) -> Held {
        match &self.proposed {
            Some(proposed) => proposed.held(false),
            None => {
                let agreed = self.agreed.held(true);
                if agreed == self.recorded { agreed } else { self.agreed.held(false) }
            }
        }
    }

    #[cold]
    fn is_still(&self) -> bool {
        self.proposed.is_none() && self.behind == 0 && self.recorded == self.agreed.held(true)
    }
}

impl Upkeep {
    pub(super) fn new((agreed, restored): (Maintenance, Option<Remainder>)) -> Self {
        let is_known = agreed != Maintenance::default();
        Self { records: is_known.then(|| Box::new(Records::new(agreed, restored))), wall: None }
    }

    /// The records; `None` if nobody has ever paused automatic failover.
    #[inline]
    pub(super) fn records(&self) -> Option<&Records> {
        self.records.as_deref()
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn records_mut(&mut self) -> Option<&mut Records> {
        self.records.as_deref_mut()
    }

    /// The same, from the first order on.
    pub(super) fn begun(&mut self) -> &mut Records {
        self.records.get_or_insert_with(|| Box::new(Records::new(Maintenance::default(), None)))
    }

    /// Nothing is left of an order that was withdrawn, if it was the first.
    pub(super) fn end_unagreed(&mut self) {
        self.records.take_if(|known| known.agreed.number == 0);
    }

    /// The record that holds.
    pub(super) fn agreed(&self) -> Maintenance {
        self.records().map_or_else(Maintenance::default, |known| known.agreed)
    }

    #[inline]
    pub(super) fn is_paused(&self) -> bool {
        self.records().is_some_and(Records::is_paused)
    }

    /// What this node's heartbeats say.
    #[inline]
    pub(super) fn holds(&self) -> Held {
        self.records().map_or_else(Held::default, Records::holds)
    }

    /// The ballot is being saved. Returns the record that belongs into it, and what is left of the
    /// pause.
    #[inline]
    pub(super) fn save(&mut self, now: Timestamp) -> (Maintenance, Option<Remainder>) {
        let at = self.wall_clock(now);
        let Some(known) = self.records_mut() else { return Default::default() };
        known.saving = known.agreed.held(true);
        // What an earlier life has recorded stays, in case this one's wall clock is wrong so far.
        let left = || known.ends.map(|ends| Remainder { left: ends.since(now), at });
        (known.agreed, known.restored.or_else(left))
    }

    pub(super) fn wall_clock(&self, now: Timestamp) -> Option<UnixMillis> {
        let (at, then) = self.wall?;
        let since = now.as_nanos().saturating_sub(at.as_nanos()) / 1_000_000;
        Some(UnixMillis(then.0.saturating_add(since)))
    }

    /// The ballot has been saved. Returns whether that is news to the others.
    #[inline]
    pub(super) fn saved(&mut self) -> bool {
        let Some(known) = self.records_mut() else { return false };
        let is_news = known.recorded != known.saving;
        known.recorded = known.saving;
        is_news
    }

    /// Whether nothing is to be told, decided or recorded.
    #[inline]
    pub(super) fn is_still(&self) -> bool {
        self.records().is_none_or(Records::is_still)
    }

    #[inline]
    pub(super) fn owes(&self) -> bool {
        self.records().is_some_and(|known| known.owed != 0)
    }

    /// Moves the instants of a model checker's state.
    #[cfg(feature = "model-checking")]
    pub(super) fn rebase(&mut self, due: impl Fn(&mut Timestamp)) {
        self.wall = None;
        if let Some(known) = self.records_mut() {
            due(&mut known.proposed_until);
            due(&mut known.paused_until);
            let bounds = [&mut known.ends, &mut known.proposed_ends, &mut known.latest];
            bounds.into_iter().flatten().for_each(due);
        }
    }
}

impl Quorum {
    /// The maintenance of the cluster; `None` if nobody has ever paused automatic failover, as far
    /// as this node knows.
    #[must_use]
    pub fn maintenance(&self) -> Option<MaintenanceStatus> {
        let known = self.upkeep.records()?;
        let newest = known.agreed.held(true);
        let others = self.peers.0.iter().filter(|view| view.holds == newest).count();
        Some(MaintenanceStatus {
            record: known.agreed,
            is_paused: known.is_paused(),
            recorded: usize::from(known.recorded == newest) + others,
            ends: known.ends.filter(|_| known.agreed.paused),
            proposed: known.proposed,
        })
    }

    /// Whether a pause permits this node to be elected.
    #[inline]
    pub(super) fn may_be_elected(&self, node: Peer) -> bool {
        !self.upkeep.is_paused() || self.is_exempt(node)
    }

    /// Whether a node may be elected in spite of a pause: it leads, it was the last that did, or the
    /// one that did has made room.
    #[cold]
    fn is_exempt(&self, node: Peer) -> bool {
        let in_office = self.support.as_ref().is_some_and(|support| support.node == node)
            && self.following.as_ref().is_some_and(|known| known.primary == node);
        in_office || self.upkeep.agreed().primary == Some(node) || self.succession.is_ordered()
    }

    /// Takes an order to pause automatic failover, for a while or until further notice.
    pub(super) fn pause(&mut self, lasts: Option<Duration>) {
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
    pub(super) fn resume(&mut self) {
        let since = self.upkeep.wall_clock(self.now);
        self.order(Maintenance { by: self.me, since, ..Maintenance::default() }, None);
    }

    /// Takes a reading of the wall clock.
    pub(super) fn wall_clock_reads(&mut self, time: UnixMillis) {
        self.upkeep.wall = Some((self.now, time));
        self.plan_the_end();
    }

    /// The member that leads, as far as this node knows.
    fn primary(&self) -> Option<Peer> {
        match self.leadership.lead() {
            Some(_) => Some(self.me),
            None => self.following.as_ref().map(|known| known.primary),
        }
    }
}

impl Quorum {
    /// Looks after the record: makes this node's leadership part of it, and has it recorded.
    #[inline]
    pub(super) fn tend_maintenance(&mut self) {
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

    /// Sets the timer to the next deadline that an order has set.
    pub(super) fn plan_errands(&mut self) {
        let ordered =
            self.upkeep.records().map(|known| known.proposed_until.min(known.paused_until));
        let next = ordered.unwrap_or(Timestamp::MAX).min(self.fail_back.look_at);
        self.timers.set(Timer::Errand, next);
    }

    /// Does what an order has set a time for.
    #[cold]
    pub(super) fn run_errands(&mut self) -> Option<Change> {
        let now = self.now;
        if self.upkeep.records().is_some_and(|known| known.proposed_until <= now) {
            self.withdraw_proposal();
            self.upkeep.end_unagreed();
        }
        if self.upkeep.records().is_some_and(|known| known.paused_until <= now) {
            self.plan_the_end();
        }
        let looks = self.fail_back.look_at <= self.now;
        let change = if looks { self.fail_back() } else { None };
        self.plan_errands();
        change
    }

    /// Takes an operator's order.
    fn order(&mut self, record: Maintenance, ends: Option<Timestamp>) {
        match self.propose(record, ends, true) {
            Ok(()) => {}
            Err(heard) => self.alerts.maintenance_refused(heard, self.majority),
        }
    }

    /// Sets the time when the pause ends by itself.
    pub(super) fn plan_the_end(&mut self) {
        let (now, wall) = (self.now, self.upkeep.wall_clock(self.now));
        let Some(known) = self.upkeep.records_mut() else { return };
        if let Some(Remainder { left, at }) = known.restored {
            let latest = *known.latest.get_or_insert(now + left);
            let away = at.zip(wall).map(|(at, wall)| wall.0.saturating_sub(at.0));
            let left = left.saturating_sub(Duration::from_millis(away.unwrap_or(0)));
            known.ends = Some(latest.min(now + left));
        }
        let ends = known.ends.filter(|_| known.agreed.paused);
        known.elapsed = ends.is_some_and(|ends| ends <= now);
        known.paused_until = ends.filter(|ends| *ends > now).unwrap_or(Timestamp::MAX);
        let left = ends.map(|ends| ends.since(now));
        // How much is left is not known before the wall clock says how long the node was down.
        let is_known = wall.is_some() || known.restored.is_none_or(|rest| rest.at.is_none());
        if is_known {
            let pause = known.is_paused().then_some((known.agreed, left));
            self.alerts.paused(pause);
        }
        self.plan_errands();
    }
}

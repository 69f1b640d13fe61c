//! Whether automatic failover is paused: the record that holds, and one that is proposed.

use crate::{
    Timestamp,
    quorum::{
        maintenance::{Held, Maintenance, Remainder, UnixMillis},
        places::Peer,
        state::peers::{Mask, bit, members_of},
    },
};
use core::time::Duration;

/// What this node knows of the pauses of its cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Failover {
    /// The record that holds.
    agreed: Maintenance,
    /// When its pause ends by itself.
    ends: Option<Timestamp>,
    /// What was left of it by the ballot of an earlier life.
    restored: Option<Remainder>,
    /// The end, if nothing of that has passed while the node was down.
    latest: Option<Timestamp>,
    /// The pause has ended by itself.
    elapsed: bool,
    /// The record in the ballot on the disk, and in the ballot that is being saved.
    recorded: Held,
    saving: Held,
    /// A newer record, until it is agreed or forgotten.
    proposal: Option<Proposal>,
    /// The peers that are still to get it, since the last heartbeat.
    owed: Mask,
    /// The wall clock, at an instant of this node's own.
    wall: Option<(Timestamp, UnixMillis)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Proposal {
    record: Maintenance,
    ends: Option<Timestamp>,
    /// It is an operator's order to this node, which is answered, whatever becomes of it.
    ordered: bool,
}

/// What a node can send of the records that it holds.
pub(crate) struct Sendable {
    pub(crate) record: Maintenance,
    pub(crate) ends: Option<Timestamp>,
    pub(crate) agreed: bool,
}

/// A pause that holds, and how much is left of it if it ends by itself.
pub(crate) type Pause = (Maintenance, Option<Duration>);

impl Failover {
    pub(crate) fn new((agreed, restored): (Maintenance, Option<Remainder>)) -> Self {
        let recorded = agreed.held(true);
        Self {
            agreed,
            ends: None,
            restored,
            latest: None,
            elapsed: false,
            recorded,
            saving: recorded,
            proposal: None,
            owed: 0,
            wall: None,
        }
    }

    /// The record that holds.
    pub(crate) fn agreed(&self) -> &Maintenance {
        &self.agreed
    }

    pub(crate) fn proposed(&self) -> Option<&Maintenance> {
        self.proposal.as_ref().map(|proposal| &proposal.record)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.agreed.paused && !self.elapsed
    }

    /// When the pause ends by itself.
    pub(crate) fn ends(&self) -> Option<Timestamp> {
        self.ends.filter(|_| self.agreed.paused)
    }

    /// Whether what is agreed would survive a crash.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorded == self.agreed.held(true)
    }

    /// Whether a save that is under way records what is agreed.
    pub(crate) fn is_in_save(&self) -> bool {
        self.saving == self.agreed.held(true)
    }

    /// What this node's heartbeats say.
    pub(crate) fn holds(&self) -> Held {
        match self.proposed() {
            Some(proposed) => proposed.held(false),
            None => self.agreed.held(self.is_recorded()),
        }
    }

    /// What this node can send: its own proposal, or what is agreed. (If others passed a proposal
    /// on, it would outlive its proposer's patience.)
    pub(crate) fn sendable(&self, me: Peer) -> Sendable {
        match self.own_proposal(me) {
            Some((record, ends)) => Sendable { record, ends, agreed: false },
            None => Sendable { record: self.agreed, ends: self.ends, agreed: true },
        }
    }

    /// This node's own proposal, and when its pause would end by itself.
    pub(crate) fn own_proposal(&self, me: Peer) -> Option<(Maintenance, Option<Timestamp>)> {
        let own = self.proposal.as_ref().filter(|proposal| proposal.record.issuer == me)?;
        Some((own.record, own.ends))
    }

    /// The number of the next record; none if the numbers are used up.
    pub(crate) fn next_number(&self) -> Option<u32> {
        let proposed = self.proposed().map_or(0, |record| record.number);
        self.agreed.number.max(proposed).checked_add(1)
    }

    /// Holds a proposal, in place of any other.
    pub(crate) fn propose(&mut self, record: Maintenance, ends: Option<Timestamp>) {
        self.proposal = Some(Proposal { record, ends, ordered: false });
    }

    /// The proposal is an operator's order to this node.
    pub(crate) fn is_ordered(&mut self) {
        if let Some(proposal) = &mut self.proposal {
            proposal.ordered = true;
        }
    }

    /// Forgets the proposal. Returns it if it was an order to this node.
    pub(crate) fn withdraw(&mut self) -> Option<Maintenance> {
        let proposal = self.proposal.take()?;
        proposal.ordered.then_some(proposal.record)
    }

    /// Keeps to an agreed record. Returns whether the proposal is no longer newer.
    pub(crate) fn adopt(&mut self, record: Maintenance, ends: Option<Timestamp>) -> bool {
        (self.agreed, self.ends, self.restored) = (record, ends, None);
        let newest = record.held(true);
        let Some(proposal) = &mut self.proposal else { return false };
        proposal.ordered &= proposal.record.held(true) != newest;
        proposal.record.held(true) <= newest
    }

    /// These peers hold an older record, and are to get this one.
    pub(crate) fn owe(&mut self, behind: Mask) {
        self.owed = behind;
    }

    pub(crate) fn owes(&self) -> bool {
        self.owed != 0
    }

    /// The next peer that is to get the record.
    pub(crate) fn take_owed(&mut self) -> Option<Peer> {
        let to = members_of(self.owed).next()?;
        self.owed &= !bit(to);
        Some(to)
    }

    /// The ballot is being saved. Returns the record that belongs into it, and what is left of the
    /// pause.
    pub(crate) fn save(&mut self, now: Timestamp) -> (Maintenance, Option<Remainder>) {
        let at = self.wall_clock(now);
        self.saving = self.agreed.held(true);
        // What an earlier life has recorded stays, in case this one's wall clock is wrong so far.
        let left = || self.ends.map(|ends| Remainder { left: ends.since(now), at });
        (self.agreed, self.restored.or_else(left))
    }

    /// The ballot has been saved. Returns whether that is news to the others.
    pub(crate) fn saved(&mut self) -> bool {
        let is_news = self.recorded != self.saving;
        self.recorded = self.saving;
        is_news
    }

    /// Takes a reading of the wall clock.
    pub(crate) fn wall_clock_reads(&mut self, now: Timestamp, time: UnixMillis) {
        self.wall = Some((now, time));
    }

    pub(crate) fn wall_clock(&self, now: Timestamp) -> Option<UnixMillis> {
        let (at, then) = self.wall?;
        let since = now.as_nanos().saturating_sub(at.as_nanos()) / 1_000_000;
        Some(UnixMillis(then.0.saturating_add(since)))
    }

    /// Judges whether the pause has ended by itself. Returns when to look again.
    pub(crate) fn elapse(&mut self, now: Timestamp) -> Timestamp {
        if let Some(Remainder { left, at }) = self.restored {
            let latest = *self.latest.get_or_insert(now + left);
            // From when the wall clock was read: between two of its milliseconds the end would move.
            let by_wall = at.zip(self.wall).map(|(at, (read, wall))| {
                let ends = Duration::from_millis(at.0) + left;
                read + ends.saturating_sub(Duration::from_millis(wall.0))
            });
            self.ends = Some(by_wall.map_or(latest, |ends| ends.min(latest)));
        }
        let ends = self.ends();
        self.elapsed = ends.is_some_and(|ends| ends <= now);
        ends.filter(|ends| *ends > now).unwrap_or(Timestamp::MAX)
    }

    /// The pause that holds, if any; none while nobody knows how much is left of it: the wall clock
    /// has to say how long the node was down.
    pub(crate) fn pause(&self, now: Timestamp) -> Option<Option<Pause>> {
        let is_known = self.wall.is_some() || self.restored.is_none_or(|rest| rest.at.is_none());
        let left = self.ends().map(|ends| ends.since(now));
        is_known.then(|| self.is_paused().then_some((self.agreed, left)))
    }

    /// Moves the instants of a model checker's state.
    #[cfg(feature = "model-checking")]
    pub(crate) fn rebase(&mut self, due: impl Fn(&mut Timestamp)) {
        self.wall = None;
        let proposed = self.proposal.as_mut().and_then(|proposal| proposal.ends.as_mut());
        [self.ends.as_mut(), proposed, self.latest.as_mut()].into_iter().flatten().for_each(due);
    }
}

//! What a node keeps of the maintenance of its cluster.

use crate::{
    Timestamp,
    quorum::{
        maintenance::{Held, Maintenance, Remainder, UnixMillis},
        state::peers::Mask,
    },
};
use alloc::boxed::Box;

/// The maintenance of the cluster, as this node knows it.
///
/// Hardly any cluster is ever paused, and every step asks: so then there is nothing but an empty
/// pointer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Upkeep {
    records: Option<Box<Records>>,
    /// The wall clock, at an instant of this node's own.
    pub(crate) wall: Option<(Timestamp, UnixMillis)>,
}

/// What a node keeps from the first order on that it hears of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Records {
    /// The record that holds.
    pub(crate) agreed: Maintenance,
    /// The record in the ballot on the disk, and in the ballot that is being saved.
    pub(crate) recorded: Held,
    pub(crate) saving: Held,
    /// A newer record, until it is agreed or forgotten.
    pub(crate) proposed: Option<Maintenance>,
    /// The proposal is an operator's order to this node, which is answered, whatever becomes of it.
    pub(crate) ordered: bool,
    /// When the proposed pause would end by itself.
    pub(crate) proposed_ends: Option<Timestamp>,
    /// When to forget the proposal.
    pub(crate) proposed_until: Timestamp,
    /// When the agreed pause ends by itself.
    pub(crate) ends: Option<Timestamp>,
    /// What was left of it by the ballot of an earlier life.
    pub(crate) restored: Option<Remainder>,
    /// The end, if nothing of that has passed while the node was down.
    pub(crate) latest: Option<Timestamp>,
    /// The pause has ended by itself.
    pub(crate) elapsed: bool,
    /// When to look whether it has.
    pub(crate) paused_until: Timestamp,
    /// The peers that hold an older record than this node can send.
    pub(crate) behind: Mask,
    /// The peers that are still to get it, since the last heartbeat.
    pub(crate) owed: Mask,
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

    pub(crate) fn is_paused(&self) -> bool {
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
    pub(crate) fn new((agreed, restored): (Maintenance, Option<Remainder>)) -> Self {
        let is_known = agreed != Maintenance::default();
        Self { records: is_known.then(|| Box::new(Records::new(agreed, restored))), wall: None }
    }

    /// The records; `None` if nobody has ever paused automatic failover.
    #[inline]
    pub(crate) fn records(&self) -> Option<&Records> {
        self.records.as_deref()
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn records_mut(&mut self) -> Option<&mut Records> {
        self.records.as_deref_mut()
    }

    /// The same, from the first order on.
    pub(crate) fn begun(&mut self) -> &mut Records {
        self.records.get_or_insert_with(|| Box::new(Records::new(Maintenance::default(), None)))
    }

    /// Nothing is left of an order that was withdrawn, if it was the first.
    pub(crate) fn end_unagreed(&mut self) {
        self.records.take_if(|known| known.agreed.number == 0);
    }

    /// The record that holds.
    pub(crate) fn agreed(&self) -> Maintenance {
        self.records().map_or_else(Maintenance::default, |known| known.agreed)
    }

    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        self.records().is_some_and(Records::is_paused)
    }

    /// What this node's heartbeats say.
    #[inline]
    pub(crate) fn holds(&self) -> Held {
        self.records().map_or_else(Held::default, Records::holds)
    }

    /// The ballot is being saved. Returns the record that belongs into it, and what is left of the
    /// pause.
    #[inline]
    pub(crate) fn save(&mut self, now: Timestamp) -> (Maintenance, Option<Remainder>) {
        let at = self.wall_clock(now);
        let Some(known) = self.records_mut() else { return Default::default() };
        known.saving = known.agreed.held(true);
        // What an earlier life has recorded stays, in case this one's wall clock is wrong so far.
        let left = || known.ends.map(|ends| Remainder { left: ends.since(now), at });
        (known.agreed, known.restored.or_else(left))
    }

    pub(crate) fn wall_clock(&self, now: Timestamp) -> Option<UnixMillis> {
        let (at, then) = self.wall?;
        let since = now.as_nanos().saturating_sub(at.as_nanos()) / 1_000_000;
        Some(UnixMillis(then.0.saturating_add(since)))
    }

    /// The ballot has been saved. Returns whether that is news to the others.
    #[inline]
    pub(crate) fn saved(&mut self) -> bool {
        let Some(known) = self.records_mut() else { return false };
        let is_news = known.recorded != known.saving;
        known.recorded = known.saving;
        is_news
    }

    /// Whether nothing is to be told, decided or recorded.
    #[inline]
    pub(crate) fn is_still(&self) -> bool {
        self.records().is_none_or(Records::is_still)
    }

    #[inline]
    pub(crate) fn owes(&self) -> bool {
        self.records().is_some_and(|known| known.owed != 0)
    }

    /// Moves the instants of a model checker's state.
    #[cfg(feature = "model-checking")]
    pub(crate) fn rebase(&mut self, due: impl Fn(&mut Timestamp)) {
        self.wall = None;
        if let Some(known) = self.records_mut() {
            due(&mut known.proposed_until);
            due(&mut known.paused_until);
            let bounds = [&mut known.ends, &mut known.proposed_ends, &mut known.latest];
            bounds.into_iter().flatten().for_each(due);
        }
    }
}

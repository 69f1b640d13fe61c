//! This process's own leadership: believed, or ended while work is still to stop.

use super::config::Config;
use crate::{Epoch, Timestamp};
use core::time::Duration;

/// The state of this process's own term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Leadership {
    /// It holds no term.
    None,
    /// It leads.
    Leading(Lead),
    /// It no longer leads, but leader work may still run.
    Draining {
        epoch: Epoch,
        /// Release the term once work has stopped, and when its lease ends without that. `None`: it
        /// was replaced.
        release: Option<Timestamp>,
    },
}

/// A term that is believed and renewed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lead {
    pub(super) epoch: Epoch,
    /// When it began. It is only told to others.
    pub(super) since: Timestamp,
    /// The hard stop; belief ends `grace` earlier.
    pub(super) trust_until: Timestamp,
    /// The newest renewal issued; the next one carries one more.
    pub(super) ordinal: u64,
    /// Renewals that failed in a row.
    pub(super) failures: u32,
}

impl Leadership {
    pub(super) fn lead(&self) -> Option<&Lead> {
        if let Self::Leading(lead) = self { Some(lead) } else { None }
    }

    pub(super) fn lead_mut(&mut self) -> Option<&mut Lead> {
        if let Self::Leading(lead) = self { Some(lead) } else { None }
    }

    /// The term that is led or drained.
    pub(super) fn epoch(&self) -> Option<Epoch> {
        match self {
            Self::None => None,
            Self::Leading(lead) => Some(lead.epoch),
            Self::Draining { epoch, .. } => Some(*epoch),
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        matches!(self, Self::Draining { .. })
    }
}

/// A term that this process has led, whose lease must last for a while.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kept {
    pub(super) epoch: Epoch,
    /// When the answer came that gave it: the database granted it earlier.
    pub(super) since: Timestamp,
    /// The newest renewal issued, as of the end of belief.
    pub(super) ordinal: u64,
    /// Its lease has been cut down to what is left of the least length.
    pub(super) is_cut: bool,
}

impl Kept {
    /// What is left of the least length of the lease, or a little more: less time may have passed
    /// for the database than for this process.
    pub(super) fn rest(&self, config: &Config, now: Timestamp) -> Duration {
        let passed = now.since(self.since);
        config.at_least_for.saturating_sub(passed.saturating_sub(config.drift.over(passed)))
    }
}

/// A term of this process that is to be released.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Release {
    pub(super) epoch: Epoch,
    /// When its lease ends by itself, on this process's clock: until then it is worth a try.
    pub(super) until: Timestamp,
    /// How long to wait after the next failure at least.
    pub(super) pause: Duration,
}

/// Whether this process keeps out of the race after a resignation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum StayOut {
    /// It does not.
    No,
    /// Until the resigned term is known to have ended, and then one interval more.
    UntilConfirmed,
    /// Until another leader is seen, or an epoch of one; until nobody else is on the list; or until
    /// this time has come.
    Until { end: Timestamp, others: Others },
}

/// Whether other candidates are on the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Others {
    /// Ask once a look at this time or later has found the vacancy. By then every follower that is
    /// awake has had its chance, and every new candidate is on the list.
    AskAfter(Timestamp),
    /// Ask as soon as the timer for it is due.
    Ask,
    /// Already asked. One answer is enough: the question only shortens a wait.
    Asked,
}

impl StayOut {
    pub(super) fn is_over(self, now: Timestamp) -> bool {
        match self {
            Self::No => true,
            Self::UntilConfirmed => false,
            Self::Until { end, .. } => end <= now,
        }
    }

    /// When a look at the row would tell something new.
    pub(super) fn next_look(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Until { others: Others::AskAfter(look), end } => Some(look.min(end).max(now)),
            Self::Until { end, .. } if end > now => Some(end),
            _ => None,
        }
    }

    pub(super) fn asks_for_others(self) -> bool {
        matches!(self, Self::Until { others: Others::Ask, .. })
    }

    /// A look that was asked for at `asked` has found the row vacant.
    pub(super) fn found_vacant(&mut self, asked: Timestamp) {
        if let Self::Until { others, .. } = self {
            if matches!(*others, Others::AskAfter(look) if look <= asked) {
                *others = Others::Ask;
            }
        }
    }

    pub(super) fn has_asked(&mut self) {
        if let Self::Until { others, .. } = self {
            *others = Others::Asked;
        }
    }

    /// There was no answer.
    pub(super) fn asks_again(&mut self) {
        if let Self::Until { others, .. } = self {
            *others = Others::Ask;
        }
    }
}

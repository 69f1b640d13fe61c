//! What this process remembers of an election's register: since when it has seen the leader's value
//! unchanged, and what was acknowledged to itself.

use super::leader::Leader;
use crate::{Candidate, Drift, Epoch, Timestamp};
use core::time::Duration;

/// Leases are counted in whole milliseconds.
const TICK: Duration = Duration::from_millis(1);

/// What one process remembers of one election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Memory {
    drift: Drift,
    seen: Option<Seen>,
    granted: Option<Granted>,
}

/// What only the holder changes, and since when it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Seen {
    held: Held,
    since: Timestamp,
}

/// The epoch, its holder, and the number of renewals.
type Held = (Epoch, Option<Candidate>, u64);

fn held(leader: &Leader) -> Held {
    let holder = leader.holder.as_ref().map(|holder| holder.candidate.clone());
    (leader.epoch, holder, leader.renewals)
}

/// A lease that was acknowledged to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Granted {
    epoch: Epoch,
    asked: Timestamp,
    ttl: Duration,
}

impl Memory {
    pub(super) const fn new(drift: Drift) -> Self {
        Self { drift, seen: None, granted: None }
    }

    /// Takes in the leader's value that was read at `now`.
    pub(super) fn observe(&mut self, leader: &Leader, now: Timestamp) {
        if self.seen_since(leader).is_none() {
            self.seen = Some(Seen { held: held(leader), since: now });
        }
    }

    /// Since when nobody has changed this value, as far as it counts.
    fn seen_since(&self, leader: &Leader) -> Option<Timestamp> {
        self.seen.as_ref().filter(|seen| seen.held == held(leader)).map(|seen| seen.since)
    }

    /// A question of this process, asked at `asked`, was answered: it has a lease of this length.
    pub(super) fn granted(&mut self, epoch: Epoch, asked: Timestamp, ttl: Duration) {
        self.granted = Some(Granted { epoch, asked, ttl });
    }

    /// Until when nobody else can take over from this process, whatever the clocks do.
    pub(super) fn holds_until(&self) -> Option<Timestamp> {
        self.granted.map(|held| (held.asked + held.ttl) - (self.drift.over(held.ttl) + TICK))
    }

    /// How long this process may not take over from the holder of this value, at `now`: as long as the
    /// holder may lead, or has to keep it.
    pub(super) fn remaining(&self, leader: &Leader, me: &Candidate, now: Timestamp) -> Duration {
        if leader.holder.is_none() {
            return Duration::ZERO;
        }
        let (since, ttl) = if leader.is_held_by(me) {
            match self.granted.filter(|granted| granted.epoch == leader.epoch) {
                // The value may already have the length of a renewal whose outcome is unknown.
                Some(granted) => (granted.asked, granted.ttl),
                None => return Duration::ZERO,
            }
        } else {
            (self.seen_since(leader).unwrap_or(now), leader.ttl)
        };
        (since + ttl + (self.drift.over(ttl) + TICK)).since(now)
    }
}

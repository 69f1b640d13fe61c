//! Who leads, under which epoch, and how long this process may believe it.

use crate::{NodeId, Timestamp};
use core::fmt;

/// The number of one election. It grows strictly from one leadership to the next and is therefore
/// **the fencing token**: if a resource remembers the highest epoch it has served and refuses lower
/// ones, a leader that does not know that its term is over cannot harm it.
///
/// Zero means "none yet"; no leadership ever carries it. On the lease side an epoch is at least the
/// database clock's milliseconds, so that a lost row cannot bring back an old number.
#[doc(alias("token", "fencing", "generation"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch before any election.
    pub const NONE: Self = Self(0);

    /// The epoch with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The highest least epoch that can be set: half of what a JSON number holds exactly; in
    /// milliseconds, more than 140,000 years. A mistyped value must not use up the numbers.
    pub(crate) const MAX_MIN: Self = Self(1 << 52);

    /// The epoch before this one; [`Epoch::NONE`] has none before it.
    pub(crate) const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The epoch after this one.
    pub(crate) const fn after(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The number itself, for a `WHERE` clause or a header.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One leadership: it names one tenure and no other, even if the same node leads again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The election that this leadership came from.
    pub epoch: Epoch,
    /// The node that leads.
    #[doc(alias = "leader_id")]
    pub leader: NodeId,
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (epoch {})", self.leader, self.epoch)
    }
}

/// This process's own leadership, and how long it may believe in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tenure {
    /// The leadership.
    pub term: Term,
    /// Since when this process has led, by its own clock: the step that made it the leader. The
    /// database, or a majority, decided that a little earlier.
    #[doc(alias("elected_at", "elected_ms"))]
    pub since: Timestamp,
    /// The first instant at which this process no longer believes that it leads. Every renewal
    /// moves it forward; nothing moves it back.
    pub until: Timestamp,
    /// The instant by which leader work must have ended: `until` plus the grace period. Nobody else
    /// can lead before it.
    pub stop_by: Timestamp,
}

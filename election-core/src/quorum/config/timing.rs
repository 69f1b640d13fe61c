//! All durations, in the unit that the steps count in.

use crate::Drift;

/// The durations of a configuration in nanoseconds. Converting to seconds and back would cost more
/// than the rest of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Timing {
    pub(crate) hb_interval: u64,
    pub(crate) down_after: u64,
    pub(crate) grace: u64,
    pub(crate) election_timeout: u64,
    pub(crate) stagger: u64,
    pub(crate) margin: u64,
    /// How long a primary trusts an echo: shorter than the voter's `down_after`, however their
    /// clocks drift.
    pub(crate) window: u64,
    /// How long a node that has just started does not vote: longer than any `down_after` that an
    /// earlier life may have promised.
    pub(crate) boot: u64,
    /// When a member has counted this long by its own clock, the election that it counted votes for
    /// is over by every clock.
    pub(crate) election: u64,
}

/// How long a primary trusts an echo. The voters keep their word for `down_after`, by clocks that
/// drift.
pub(crate) fn trusted(down_after: u64, drift: Drift, margin: u64) -> u64 {
    let (slow, fast) = rates(drift);
    let window = u128::from(down_after) * slow / fast;
    u64::try_from(window).unwrap_or(u64::MAX).saturating_sub(margin)
}

/// A span that is longer than `span` by any other clock.
pub(crate) fn outlasting(span: u64, drift: Drift) -> u64 {
    let (slow, fast) = rates(drift);
    let longest = (u128::from(span) * fast).div_ceil(slow);
    u64::try_from(longest).unwrap_or(u64::MAX)
}

/// How far the slowest and the fastest clock run in a million units of true time.
fn rates(drift: Drift) -> (u128, u128) {
    let (whole, drift) = (1_000_000, u128::from(drift.ppm()));
    (whole - drift, whole + drift)
}

//! How long everything lasts, as the steps count it.

use super::config::Config;
use crate::time::nanos;

/// The spans of a configuration in nanoseconds: dividing into seconds and back would cost more than
/// the rest of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Spans {
    pub(super) hb_interval: u64,
    pub(super) down_after: u64,
    pub(super) grace: u64,
    pub(super) election_timeout: u64,
    pub(super) stagger: u64,
    pub(super) margin: u64,
    /// How long a primary trusts what was echoed: shorter than the voter's `down_after`, however
    /// their clocks drift.
    pub(super) window: u64,
    /// How long a node that has just started does not vote: longer than any `down_after` it may
    /// have promised in an earlier life.
    pub(super) boot: u64,
    /// After so long by its own clock, whatever a member counted votes for is over by everybody's.
    pub(super) election: u64,
}

impl Spans {
    pub(super) fn of(config: &Config) -> Self {
        let down_after = nanos(config.down_after());
        let (whole, drift) = (1_000_000, u128::from(config.drift().ppm()));
        let (slow, fast) = (whole - drift, whole + drift);
        let window = u128::from(down_after) * slow / fast;
        let outlasted = |span: u64| {
            let longest = (u128::from(span) * fast).div_ceil(slow);
            u64::try_from(longest).unwrap_or(u64::MAX)
        };
        let margin = nanos(config.margin());
        Self {
            hb_interval: nanos(config.hb_interval()),
            down_after,
            grace: nanos(config.grace()),
            election_timeout: nanos(config.election_timeout()),
            stagger: nanos(config.stagger()),
            margin,
            window: u64::try_from(window).unwrap_or(u64::MAX).saturating_sub(margin),
            boot: outlasted(down_after),
            election: outlasted(nanos(config.election_timeout())),
        }
    }
}

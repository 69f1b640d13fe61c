//! What every schedule has, whether its nodes elect by lease or by quorum.

use super::probabilities::{ANY_TIME, FORTH, MOST_OFFSET, OBSERVER, SAME_NAME};
use crate::{
    draw::Dice,
    schedule::{Member, Software},
    text::node_name,
};
use std::time::Duration;

/// One node, with a clock of its own.
pub(super) fn member(dice: &mut Dice, n: usize, count: usize, drift: u32) -> Member {
    let drift = i32::try_from(drift).unwrap_or(0);
    let ppm = match dice.between(0, 3) {
        0 => 0,
        1 => drift,
        2 => -drift,
        _ => {
            i32::try_from(dice.between(0, 2 * u64::from(drift.unsigned_abs()))).unwrap_or(0) - drift
        }
    };
    let cloned = n > 0 && dice.happens(SAME_NAME);
    Member {
        name: if cloned { node_name(0) } else { node_name(n) },
        offset: Duration::from_nanos(dice.between(1, MOST_OFFSET)),
        ppm,
        ttl: None,
        witness: false,
        spare: false,
        observer: n + 1 == count && count > 2 && dice.happens(OBSERVER),
        data: (0, 0),
        software: Software::Own,
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// Draws which node a fault hits, and when.
pub(super) struct Sampler {
    pub(super) dice: Dice,
    pub(super) count: usize,
    pub(super) horizon: Duration,
}

impl Sampler {
    /// One of the nodes.
    pub(super) fn node(&mut self) -> usize {
        let last = u64::try_from(self.count - 1).unwrap_or(0);
        usize::try_from(self.dice.between(0, last)).unwrap_or(0)
    }

    /// Some time in the run, more often in its first third: faults that meet do more.
    pub(super) fn time(&mut self) -> Duration {
        let end = if self.dice.happens(ANY_TIME) { self.horizon } else { self.horizon / 3 };
        Duration::from_micros(self.dice.between(0, micros(end)))
    }

    /// A span up to `most`, and more than nothing.
    pub(super) fn upto(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.dice.between(1, micros(most)))
    }

    /// The same, forward or back, in nanoseconds.
    pub(super) fn signed(&mut self, most: Duration) -> i64 {
        let span = i64::try_from(self.dice.between(1, micros(most))).unwrap_or(0) * 1_000;
        if self.dice.happens(FORTH) { span } else { -span }
    }
}

//! One node's clock: what it reads at a true time, and the true time of a reading.
//!
//! The clock is piecewise linear. Its rate is a binary fraction, so that reading costs one
//! multiplication and no division. The rounding is far below the millisecond that every margin
//! reserves.

use election_core::Timestamp;

/// A clock that runs at its own rate, and can stop or jump.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    true_anchor: u64,
    local_anchor: u64,
    /// Local nanoseconds per true nanosecond, in units of 2⁻³².
    rate: u64,
}

const ONE: u64 = 1 << 32;

impl Clock {
    /// A clock that reads `offset` at true time zero and gains `ppm` parts per million.
    pub(crate) fn new(offset: u64, ppm: i32) -> Self {
        Self { true_anchor: 0, local_anchor: offset, rate: rate_of(ppm) }
    }

    /// The reading at the true time `now`, which must not lie before the last change of the clock.
    pub(crate) fn read(&self, now: u64) -> Timestamp {
        Timestamp::from_nanos(self.nanos(now))
    }

    /// The first true time at which the clock reads at least `local`; `u64::MAX` if never.
    pub(crate) fn when(&self, local: Timestamp) -> u64 {
        let local = local.as_nanos();
        if local <= self.local_anchor {
            return self.true_anchor;
        }
        if self.rate == 0 {
            return u64::MAX;
        }
        if self.rate == ONE {
            return self.true_anchor.saturating_add(local - self.local_anchor);
        }
        let span = u128::from(local - self.local_anchor) << 32;
        let Ok(span) = u64::try_from(span.div_ceil(u128::from(self.rate))) else {
            return u64::MAX;
        };
        self.true_anchor.saturating_add(span)
    }

    /// From `now` on the clock gains `ppm`; minus one million stops it.
    pub(crate) fn set_rate(&mut self, now: u64, ppm: i32) {
        self.anchor(now);
        self.rate = rate_of(ppm);
    }

    /// At `now` the clock jumps by `by` nanoseconds.
    pub(crate) fn jump(&mut self, now: u64, by: i64) {
        self.anchor(now);
        self.local_anchor = self.local_anchor.saturating_add_signed(by);
    }

    /// At `now` the clock is set to the reading of another.
    pub(crate) fn set(&mut self, now: u64, reading: Timestamp) {
        self.anchor(now);
        self.local_anchor = reading.as_nanos();
    }

    fn nanos(&self, now: u64) -> u64 {
        let span = u128::from(now.saturating_sub(self.true_anchor)) * u128::from(self.rate);
        self.local_anchor.saturating_add(u64::try_from(span >> 32).unwrap_or(u64::MAX))
    }

    fn anchor(&mut self, now: u64) {
        self.local_anchor = self.nanos(now);
        self.true_anchor = now;
    }
}

fn rate_of(ppm: i32) -> u64 {
    let gained = i128::from(ONE) * i128::from(ppm) / 1_000_000;
    u64::try_from(i128::from(ONE) + gained).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_is_the_first_instant_at_which_it_reads_that_much() {
        for ppm in [-10_000, -7, 0, 3, 10_000, 400_000] {
            let clock = Clock::new(12_345, ppm);
            for local in [12_346, 1_000_000_007, 86_400_000_000_123] {
                let at = clock.when(Timestamp::from_nanos(local));
                assert!(clock.nanos(at) >= local, "{ppm} {local}");
                assert!(clock.nanos(at - 1) < local, "{ppm} {local}");
            }
        }
    }

    #[test]
    fn it_stops_jumps_and_goes_on() {
        let mut clock = Clock::new(0, 0);
        clock.set_rate(1_000, -1_000_000);
        assert_eq!(clock.nanos(9_000), 1_000);
        assert_eq!(clock.when(Timestamp::from_nanos(1_001)), u64::MAX);
        clock.set_rate(9_000, 0);
        assert_eq!(clock.nanos(9_500), 1_500);
        clock.jump(9_500, -700);
        assert_eq!(clock.nanos(9_500), 800);
        assert_eq!(clock.when(Timestamp::from_nanos(10)), 9_500);
    }
}

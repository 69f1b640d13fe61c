//! Time as the core sees it: numbers that the caller passes in.
//!
//! The core never reads a clock, so that the same run can be repeated exactly. All arithmetic
//! saturates: a clock at either end of its range, or one that jumps, must not panic.

use core::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

/// A reading of the caller's own monotonic clock, in nanoseconds since any fixed origin.
///
/// Never compare readings of different processes. The clock should keep running while the machine
/// is suspended (`CLOCK_BOOTTIME` on Linux): a clock that stops would let a resumed machine trust a
/// lease that ended long ago. [`embedding`](crate::embedding#1-the-clock) names the clock of each
/// system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin of the caller's clock.
    pub const ZERO: Self = Self(0);
    /// Later than any instant at which something can still happen.
    pub const MAX: Self = Self(u64::MAX);

    /// The reading of `nanos` nanoseconds since the clock's origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This instant and `nanos` nanoseconds; saturates at [`Timestamp::MAX`].
    pub(crate) const fn after(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// This instant less `nanos` nanoseconds; saturates at [`Timestamp::ZERO`].
    pub(crate) const fn before(self, nanos: u64) -> Self {
        Self(self.0.saturating_sub(nanos))
    }

    /// The time from `earlier` to `self`; zero if `earlier` is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at [`Timestamp::MAX`].
impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(nanos(rhs)))
    }
}

/// Saturates at [`Timestamp::ZERO`].
impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(rhs)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The whole nanoseconds of a duration, saturating after 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The milliseconds of a duration, rounded up, and at least one.
pub(crate) fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX).max(1)
}

/// A duration for a message: whole milliseconds, unless it is shorter than one.
pub(crate) struct Shown {
    exact: Duration,
    cut: Duration,
}

/// To the nearest millisecond.
pub(crate) fn rounded(exact: &Duration) -> Shown {
    Shown { exact: *exact, cut: exact.saturating_add(Duration::from_micros(500)) }
}

/// A lower limit, rounded up.
pub(crate) fn at_least(exact: &Duration) -> Shown {
    Shown { exact: *exact, cut: exact.saturating_add(Duration::from_nanos(999_999)) }
}

/// An upper limit, rounded down.
pub(crate) fn at_most(exact: &Duration) -> Shown {
    Shown { exact: *exact, cut: *exact }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.exact.is_zero() {
            f.write_str("0s")
        } else if self.exact < Duration::from_millis(1) {
            write!(f, "{:?}", self.exact)
        } else {
            let millis = u64::try_from(self.cut.as_millis()).unwrap_or(u64::MAX);
            write!(f, "{:?}", Duration::from_millis(millis))
        }
    }
}

/// The whole milliseconds of a duration, rounded down, as the databases count them.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A bound on how far two clocks' rates may differ, in parts per million of elapsed time.
///
/// On the lease side it bounds the local clock against the database's clock. On the quorum side it
/// bounds one node's clock against another's. Crystal oscillators stay within 200 ppm, badly
/// calibrated virtual machines within one per cent. A slewed clock may leave both far behind (by
/// 8.3333 % with chrony's defaults): the default of either side covers that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Drift(u32);

/// How much chrony, by its default `maxslewrate`, may add to a clock's rate or take from it, in
/// parts per million. Others slew at 500.
pub(crate) const FASTEST_SLEW: u32 = 83_334;

impl Drift {
    /// Nine per cent: for a clock that chrony slews as fast as its defaults allow.
    pub(crate) const NINE_PERCENT: Self = Self(90_000);
    /// The largest bound that leaves a lease any meaning: ten per cent.
    pub const MAX: Self = Self(100_000);

    /// A bound of `ppm` parts per million; `None` above [`Drift::MAX`].
    #[must_use]
    pub const fn from_ppm(ppm: u32) -> Option<Self> {
        if ppm <= Self::MAX.0 { Some(Self(ppm)) } else { None }
    }

    /// The bound in parts per million.
    #[must_use]
    pub const fn ppm(self) -> u32 {
        self.0
    }

    /// How far the clocks can drift apart during `elapsed`, rounded up.
    #[must_use]
    pub fn over(self, elapsed: Duration) -> Duration {
        let product = elapsed.as_nanos() * u128::from(self.0);
        let part = product.div_ceil(1_000_000);
        Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let second = Duration::from_secs(1);
        assert_eq!(Timestamp::MAX + second, Timestamp::MAX);
        assert_eq!(Timestamp::ZERO - second, Timestamp::ZERO);
        assert_eq!(Timestamp::ZERO.since(Timestamp::MAX), Duration::ZERO);
        assert_eq!(Timestamp::ZERO + Duration::MAX, Timestamp::MAX);
    }

    #[test]
    fn a_database_counts_the_milliseconds_that_are_whole() {
        assert_eq!(millis(Duration::from_nanos(1_999_999)), 1);
        assert_eq!(millis(Duration::from_secs(2)), 2_000);
        assert_eq!(millis(Duration::MAX), i64::MAX);
    }

    #[test]
    fn drift_rounds_up_and_is_bounded() {
        assert_eq!(Drift(10_000).over(Duration::from_secs(15)), Duration::from_millis(150));
        assert_eq!(Drift::from_ppm(1).unwrap().over(Duration::from_nanos(1)).as_nanos(), 1);
        assert_eq!(Drift::MAX.over(Duration::MAX), Duration::from_nanos(u64::MAX));
        assert_eq!(Drift::from_ppm(100_001), None);
    }
}

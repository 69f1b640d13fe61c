//! The clock that measures trust.
//!
//! On Linux `std::time::Instant` is `CLOCK_MONOTONIC`, which stands still while the machine is
//! suspended. A resumed laptop or virtual machine would go on trusting a lease that has long passed
//! to another process (rust-lang/rust#79462). `CLOCK_BOOTTIME` goes on.
//!
//! Both are slewed: a daemon that corrects the time of day also slows them down, chrony by up to
//! 8.3333 %, and a process that measures a lease on a slow clock trusts it for too long.
//! `CLOCK_MONOTONIC_RAW` is never slewed, but nobody corrects it either, and it stands still while
//! the machine is suspended. Trust is therefore measured by whichever of the two says that more
//! time has passed: a slew shortens trust, and never ends it out of turn.

mod pace;

use election_core::Timestamp;
use pace::{Clocks, PACE, Pace, System};
use std::{fmt, num::ParseIntError, str::FromStr};

/// The time since boot, suspended time included, on a clock that is never slower than the
/// hardware's and never slower than the corrected one.
///
/// A reading means nothing to another process: pass a [`Deadline`] instead.
///
/// On macOS this is `CLOCK_MONOTONIC_RAW`, which goes on while the machine is asleep and is never slewed.
///
/// On other platforms this is the time since this process first asked, by the standard library's
/// clock. On Windows that goes on while the machine is asleep; on FreeBSD it may stop. If it stops, a
/// resumed process may believe that it leads for the rest of its trust window. Nor does this clock
/// notice there that it is slewed. Fence your writes.
#[must_use]
pub fn now() -> Timestamp {
    PACE.now(&System)
}

/// A deadline that another process on this machine can check, on Linux and macOS.
///
/// It is written as two numbers, one for each clock that measures trust; the first clock to reach
/// its number decides. Time that passes on the way, or while the other process stands still,
/// counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    boot: u64,
    raw: u64,
}

impl Deadline {
    /// The instant that [`now`] will reach in this process.
    #[must_use]
    pub fn at(instant: Timestamp) -> Self {
        Self::of(instant, &PACE, &System)
    }

    fn of(instant: Timestamp, pace: &Pace, clocks: &impl Clocks) -> Self {
        // Read the clocks first: time that passes before the reading of `now` shortens the
        // deadline.
        let (boot, raw) = (clocks.boot(), clocks.raw());
        let now = pace.now(clocks).as_nanos();
        let left = |clock: u64| match instant.as_nanos().checked_sub(now) {
            Some(left) => clock.saturating_add(left),
            None => clock.saturating_sub(now - instant.as_nanos()),
        };
        Self { boot: left(boot), raw: left(raw) }
    }

    /// For memory that both processes share.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.boot.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.raw.to_ne_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let number = |from: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[from..from + 8]);
            u64::from_ne_bytes(number)
        };
        Self { boot: number(0), raw: number(8) }
    }

    /// The reading of this process's own [`now`] at which the deadline is reached.
    #[must_use]
    pub fn here(self) -> Timestamp {
        self.on(&PACE, &System)
    }

    fn on(self, pace: &Pace, clocks: &impl Clocks) -> Timestamp {
        let now = pace.now(clocks).as_nanos();
        let (boot, raw) = (clocks.boot(), clocks.raw());
        let left = i128::min(
            i128::from(self.boot) - i128::from(boot),
            i128::from(self.raw) - i128::from(raw),
        );
        let at = (i128::from(now) + left).clamp(0, i128::from(u64::MAX));
        Timestamp::from_nanos(u64::try_from(at).unwrap_or(u64::MAX))
    }
}

/// For the other process's command line or pipe.
impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.boot, self.raw)
    }
}

impl FromStr for Deadline {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (boot, raw) = text.split_once(':').unwrap_or((text, ""));
        Ok(Self { boot: boot.parse()?, raw: raw.parse()? })
    }
}

#[cfg(test)]
mod tests;

//! Two clocks combined into one that runs as fast as the faster, at every moment.

use election_core::Timestamp;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// A reading, in nanoseconds.
pub(super) trait Clocks {
    /// Goes on while the machine is suspended; is slewed.
    fn boot(&self) -> u64;
    /// Stands still while the machine is suspended; is not slewed.
    fn raw(&self) -> u64;
}

/// How long to rely on one clock alone. The fastest slew hides 0.2 ms in this time.
const APART: u64 = 2_000_000;
/// Two readings this close together need not be repeated.
const CLOSE: u64 = 1_000;

pub(super) static PACE: Pace = Pace::new();

/// The faster of two clocks, at every moment.
///
/// It is the slewed clock plus all that the other has ever gained on it. Most readings look at the
/// slewed clock alone.
pub(super) struct Pace {
    /// When to compare the two again, by the slewed clock.
    due: AtomicU64,
    /// What the other has gained so far, losses not counted.
    ahead: AtomicU64,
    /// The offset of the other clock against the slewed one at the last comparison.
    stood: Mutex<Option<i128>>,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { due: AtomicU64::new(0), ahead: AtomicU64::new(0), stood: Mutex::new(None) }
    }

    pub(super) fn now(&self, clocks: &impl Clocks) -> Timestamp {
        let mut boot = clocks.boot();
        if boot >= self.due.load(Ordering::Acquire) {
            self.compare(clocks);
            boot = clocks.boot();
        }
        Timestamp::from_nanos(boot.saturating_add(self.ahead.load(Ordering::Acquire)))
    }

    /// Two clocks cannot be read at one instant, so their offset is known within bounds only. A
    /// difference that the reading itself may have caused does not count: such errors would add up.
    fn compare(&self, clocks: &impl Clocks) {
        let mut stood = self.stood.lock().unwrap_or_else(PoisonError::into_inner);
        let Reading { before, raw, after } = Reading::take(clocks);
        let (least, most) =
            (i128::from(raw) - i128::from(after), i128::from(raw) - i128::from(before));
        let last = stood.get_or_insert(least);
        if least > *last {
            let gained = u64::try_from(least - *last).unwrap_or(u64::MAX);
            self.ahead.fetch_add(gained, Ordering::AcqRel);
        }
        *last = (*last).clamp(least, most);
        self.due.store(after.saturating_add(APART), Ordering::Release);
    }
}

/// Both clocks, and how far apart they were read.
struct Reading {
    before: u64,
    raw: u64,
    after: u64,
}

impl Reading {
    /// The closest pair of a few, since a process may be preempted in the middle of one.
    fn take(clocks: &impl Clocks) -> Self {
        let once = || {
            let before = clocks.boot();
            let raw = clocks.raw();
            Self { before, raw, after: clocks.boot() }
        };
        let mut best = once();
        for _ in 0..3 {
            if best.width() <= CLOSE {
                break;
            }
            let next = once();
            if next.width() < best.width() {
                best = next;
            }
        }
        best
    }

    fn width(&self) -> u64 {
        self.after.saturating_sub(self.before)
    }
}

/// The machine's own clocks.
pub(super) struct System;

#[cfg(target_os = "linux")]
impl Clocks for System {
    fn boot(&self) -> u64 {
        read(rustix::time::ClockId::Boottime)
    }

    fn raw(&self) -> u64 {
        read(rustix::time::ClockId::MonotonicRaw)
    }
}

/// On macOS there is one that goes on while the machine is asleep and is not slewed (Apple's
/// `clock_gettime(3)`: `CLOCK_MONOTONIC_RAW`, which is `mach_continuous_time`). `CLOCK_MONOTONIC` goes on,
/// too, but is the time of day less that of the boot, so that setting the clock can be seen in it.
#[cfg(target_vendor = "apple")]
impl Clocks for System {
    fn boot(&self) -> u64 {
        use nix::{libc::CLOCK_MONOTONIC_RAW, time::ClockId};
        let time = ClockId::from_raw(CLOCK_MONOTONIC_RAW).now().map(std::time::Duration::from);
        // Without a clock, all trust is over.
        time.map_or(u64::MAX, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    fn raw(&self) -> u64 {
        self.boot()
    }
}

#[cfg(target_os = "linux")]
fn read(clock: rustix::time::ClockId) -> u64 {
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// Other platforms have one clock only.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
impl Clocks for System {
    fn boot(&self) -> u64 {
        use std::{sync::OnceLock, time::Instant};
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        u64::try_from(ORIGIN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn raw(&self) -> u64 {
        self.boot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A process that is preempted in a reading learns less than in another.
    #[test]
    fn of_several_readings_the_closest_counts() {
        struct Preempted(Cell<usize>);
        impl Clocks for Preempted {
            fn boot(&self) -> u64 {
                let nth = self.0.get();
                self.0.set(nth + 1);
                [0, 500, 1_000, 1_300, 2_000, 2_400, 3_000, 3_450][nth] * 1_000
            }
            fn raw(&self) -> u64 {
                7
            }
        }
        let Reading { before, after, .. } = Reading::take(&Preempted(Cell::new(0)));
        assert_eq!((before, after), (1_000_000, 1_300_000));
    }
}

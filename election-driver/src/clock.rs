//! The clock that trust is measured on.
//!
//! `std::time::Instant` is `CLOCK_MONOTONIC` on Linux, which stands still while the machine is
//! suspended: a laptop or virtual machine that was resumed would go on trusting a lease that has
//! long passed to somebody else (rust-lang/rust#79462). `CLOCK_BOOTTIME` goes on.

use election_core::Timestamp;

/// The time since boot, suspended time included.
///
/// Its origin is the same for all processes on one machine, so a reading may be handed to a
/// child process; it means nothing on another machine.
#[cfg(target_os = "linux")]
#[must_use]
pub fn now() -> Timestamp {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Timestamp::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// The time since this process first asked.
///
/// On this platform the standard library's clock is used. On macOS and Windows it goes on while
/// the machine is suspended in some versions and stops in others; where it stops, a resumed
/// process may believe for the rest of its trust window that it leads. Fence your writes.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn now() -> Timestamp {
    use std::{sync::OnceLock, time::Instant};
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    Timestamp::ZERO + ORIGIN.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_clock_goes_forward() {
        let earlier = super::now();
        assert!(earlier.as_nanos() > 0 || cfg!(not(target_os = "linux")));
        assert!(super::now() >= earlier);
    }
}

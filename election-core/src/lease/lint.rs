//! Why a configuration is refused, and what it is warned about.

use crate::{
    Drift, Epoch,
    time::{FASTEST_SLEW, at_least, at_most, rounded},
};
use core::{fmt, time::Duration};
use thiserror::Error;

pub(super) const MIN_TTL: Duration = Duration::from_millis(100);
pub(super) const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);
pub(super) const MAX_CLOCK_STEP: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The settings that do not add up, for the error message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named after the settings they hold
pub struct Parts {
    pub interval: Duration,
    pub jitter: Duration,
    pub attempt_timeout: Duration,
    pub grace: Duration,
    pub margin: Duration,
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "interval {} + jitter {} + 2 × attempt_timeout {} + grace {} + margin {}",
            rounded(&self.interval),
            rounded(&self.jitter),
            rounded(&self.attempt_timeout),
            rounded(&self.grace),
            rounded(&self.margin)
        )
    }
}

/// What to change of a timing that does not add up.
struct Remedy {
    /// What a grace may take with everything else as it is.
    room: Duration,
}

fn remedy(sum: &Duration, parts: &Parts, ttl: &Duration) -> Remedy {
    let others = sum.saturating_sub(parts.grace);
    Remedy { room: ttl.saturating_sub(others).saturating_sub(Duration::from_nanos(1)) }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.room.as_millis() {
            0 => f.write_str("raise ttl, or lower one of the others"),
            _ => write!(f, "set grace to at most {}, or raise ttl", at_most(&self.room)),
        }
    }
}

/// A timing that cannot keep its promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Zero, or less than [`Config::MIN_TTL`](super::Config::MIN_TTL).
    #[error("ttl {} is too short: use at least {min:?}", rounded(.0), min = MIN_TTL)]
    TtlTooShort(Duration),
    /// More than [`Config::MAX_TTL`](super::Config::MAX_TTL).
    #[error("ttl {0:?} is too long: use at most 24 hours ({max:?})", max = MAX_TTL)]
    TtlTooLong(Duration),
    /// A lease that is to last at least longer than [`Config::MAX_TTL`](super::Config::MAX_TTL).
    #[error("at_least_for {0:?} is too long: use at most 24 hours ({max:?})", max = MAX_TTL)]
    AtLeastTooLong(Duration),
    /// More than [`Config::MAX_CLOCK_STEP`](super::Config::MAX_CLOCK_STEP).
    #[error("clock_step {0:?} is too long: use at most a year ({max:?})", max = MAX_CLOCK_STEP)]
    ClockStepTooLong(Duration),
    /// A span that must not be zero.
    #[error("{0} is too short: use at least 1ms")]
    Zero(&'static str),
    /// A contender that is woken would come later than one that is not.
    #[error(
        "wake_jitter {wake_jitter:?} is longer than the interval: use at most {}", at_most(.interval)
    )]
    WakeJitterTooLong {
        /// The wake jitter that was set.
        wake_jitter: Duration,
        /// The time between two polls.
        interval: Duration,
    },
    /// The margin does not cover the clock drift and the database's tick.
    #[error(
        "margin {margin:?} does not cover the clock drift over one ttl: use at least {}",
        at_least(.needed)
    )]
    MarginTooSmall {
        /// The margin that was set.
        margin: Duration,
        /// The least that covers drift × ttl + 1 ms.
        needed: Duration,
    },
    /// The epochs above it would not fit into every database and into JSON.
    #[error(
        "min_epoch {0} is too high: use at most {max}, so that later epochs still fit into every \
         database and into JSON", max = Epoch::MAX_MIN
    )]
    MinEpochTooHigh(Epoch),
    /// One hung statement would cost the lease.
    #[error(
        "ttl {ttl:?} is too short for {parts} ({} in all, with a retry): one hung statement would \
         cost the lease; {}", rounded(.sum), remedy(.sum, .parts, .ttl)
    )]
    DoesNotAddUp {
        /// The sum of the parts and of the retry jitter.
        sum: Duration,
        /// The parts.
        parts: Parts,
        /// The lease they must fit into.
        ttl: Duration,
    },
}

/// Something that works, but perhaps not as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// A pause of a few hundred milliseconds costs the lease.
    ShortTtl(Duration),
    /// A crashed leader is replaced only after this long.
    LongTtl(Duration),
    /// Leader work is cancelled by force the moment belief ends.
    NoGrace,
    /// All contenders poll in step.
    NoJitter,
    /// A statement that waits for a disk flush may time out.
    ShortAttempt(Duration),
    /// A clock that chrony slews drifts from others faster than this.
    SmallDrift(Drift),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShortTtl(ttl) => {
                write!(f, "ttl {ttl:?}: a pause of a few hundred milliseconds costs the lease")
            }
            Self::LongTtl(ttl) => {
                write!(f, "ttl {ttl:?}: a crashed leader is replaced only after that long")
            }
            Self::NoGrace => {
                f.write_str("grace 0: leader work is stopped by force, without warning")
            }
            Self::NoJitter => f.write_str("jitter 0: all contenders poll in lockstep"),
            Self::ShortAttempt(timeout) => {
                write!(f, "attempt_timeout {timeout:?}: a slow disk flush counts as a failure")
            }
            Self::SmallDrift(drift) => write!(
                f,
                "drift {} ppm: chrony may slew the database's clock by {FASTEST_SLEW} ppm and end \
                 the lease early; bound its `maxslewrate` on the database's host",
                drift.ppm()
            ),
        }
    }
}

//! The timing of a lease, checked before anything runs.
//!
//! A configuration that cannot keep its promises cannot be built. One that works, but perhaps not
//! as its author expects, carries [`Warning`]s as data.

use super::lint::{ConfigError, MAX_CLOCK_STEP, MAX_TTL, MIN_TTL, Parts, Warning};
use crate::{
    Drift, Epoch,
    time::{FASTEST_SLEW, nanos},
};
use core::time::Duration;

/// Whether this process may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Role {
    /// It campaigns.
    #[default]
    Candidate,
    /// It follows and never leads; it writes nothing.
    Observer,
}

/// The timing of one lease; made by [`Config::builder`].
///
/// All durations are spans of the local monotonic clock except `ttl`, which the database's clock
/// measures.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    pub(crate) ttl: Duration,
    pub(crate) interval: Duration,
    pub(crate) jitter: Duration,
    pub(crate) wake_jitter: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) grace: Duration,
    pub(crate) margin: Duration,
    pub(crate) drift: Drift,
    pub(crate) role: Role,
    pub(crate) min_epoch: Epoch,
    pub(crate) at_least_for: Duration,
    pub(crate) clock_step: Duration,
}

impl Config {
    /// The shortest lease. Below it, database round trips and scheduling eat the trust window.
    pub const MIN_TTL: Duration = MIN_TTL;
    /// The longest lease: a crashed leader is not replaced before it ends.
    pub const MAX_TTL: Duration = MAX_TTL;
    /// The default lease, as in River: with one renewal every five seconds.
    pub const DEFAULT_TTL: Duration = Duration::from_secs(15);
    /// Nine per cent. At chrony's default `maxslewrate` a database's clock runs up to 8.3333 % too
    /// fast, and so ends a lease after 92.3 % of its length. The rest of the bound is for the
    /// oscillators. A local clock that never runs slower than its hardware leaves the whole bound
    /// to the database.
    pub const DEFAULT_DRIFT: Drift = Drift::NINE_PERCENT;
    /// The highest value for `min_epoch`: half of what a JSON number holds exactly; in
    /// milliseconds, more than 140,000 years. A mistyped value must not use up the numbers.
    pub const MAX_MIN_EPOCH: Epoch = Epoch::MAX_MIN;
    /// The longest step of the database's clock that can be allowed for: a year.
    pub const MAX_CLOCK_STEP: Duration = MAX_CLOCK_STEP;

    /// Begins a configuration. Every duration that is left out is derived from the ttl.
    #[must_use]
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }

    /// How long a lease lasts by the database's clock unless renewed.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// The time between two polls or renewals, counted from when the earlier question was asked.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The upper bound of the random addition to every interval.
    #[must_use]
    pub fn jitter(&self) -> Duration {
        self.jitter
    }

    /// The span over which contenders spread when a lease ends or a wake-up reaches them all.
    #[must_use]
    pub fn wake_jitter(&self) -> Duration {
        self.wake_jitter
    }

    /// How long one statement may take before its outcome counts as unknown.
    #[must_use]
    pub fn attempt_timeout(&self) -> Duration {
        self.attempt_timeout
    }

    /// How long leader work may run on between the order to stop and the hard stop.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// How long before the earliest end of the lease in the database all leader work has stopped.
    #[must_use]
    pub fn margin(&self) -> Duration {
        self.margin
    }

    /// The bound on the local clock's rate relative to the database's.
    #[must_use]
    pub fn drift(&self) -> Drift {
        self.drift
    }

    /// Whether this process may lead.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// No epoch that this process wins is below this.
    #[must_use]
    pub fn min_epoch(&self) -> Epoch {
        self.min_epoch
    }

    /// How long the row is kept from everybody, counted from an election, even if the term ends
    /// sooner; zero unless set.
    #[must_use]
    pub fn at_least_for(&self) -> Duration {
        self.at_least_for
    }

    /// How far the database's clock may step forward in the course of a lease without another leader
    /// beside this one; zero unless set.
    #[must_use]
    pub fn clock_step(&self) -> Duration {
        self.clock_step
    }

    /// How long a timer may sleep at most before it looks at the clock again. A machine that was
    /// suspended meanwhile still stops leader work before the margin is used up.
    #[must_use]
    pub fn timer_slice(&self) -> Duration {
        self.margin
            .saturating_sub(self.drift.over(self.ttl) + DATABASE_TICK)
            .max(Duration::from_millis(1))
    }

    /// The longest wait before a statement with unknown outcome is repeated.
    pub(crate) fn retry_jitter(&self) -> Duration {
        retry_jitter(self.ttl)
    }

    /// The longest wait between two tries of a process that leaves, but for the jitter.
    pub(crate) fn farewell_pause(&self) -> Duration {
        self.retry_jitter() * 5
    }

    /// The longest wait before a statement that met a lock is repeated.
    pub(crate) fn lock_jitter(&self) -> Duration {
        self.wake_jitter.max(self.retry_jitter())
    }

    /// Settings that work, but perhaps not as their author expects.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> + use<> {
        [
            (self.ttl < Duration::from_secs(1)).then_some(Warning::ShortTtl(self.ttl)),
            (self.ttl > Duration::from_secs(300)).then_some(Warning::LongTtl(self.ttl)),
            self.grace.is_zero().then_some(Warning::NoGrace),
            self.jitter.is_zero().then_some(Warning::NoJitter),
            (self.attempt_timeout < Duration::from_millis(50))
                .then_some(Warning::ShortAttempt(self.attempt_timeout)),
            (self.drift.ppm() < FASTEST_SLEW).then_some(Warning::SmallDrift(self.drift)),
        ]
        .into_iter()
        .flatten()
    }
}

/// The database's clock is read in whole milliseconds.
pub(super) const DATABASE_TICK: Duration = Duration::from_millis(1);
const MOST_WAKE_JITTER: Duration = Duration::from_millis(10);
const MOST_RETRY_JITTER: Duration = Duration::from_millis(50);

fn whole_millis_up(span: Duration) -> Duration {
    Duration::from_millis(nanos(span).div_ceil(1_000_000))
}

fn retry_jitter(ttl: Duration) -> Duration {
    (ttl / 300).min(MOST_RETRY_JITTER)
}

/// Collects the settings of a [`Config`].
#[derive(Clone, Debug)]
pub struct ConfigBuilder {
    ttl: Duration,
    interval: Option<Duration>,
    jitter: Option<Duration>,
    wake_jitter: Option<Duration>,
    attempt_timeout: Option<Duration>,
    grace: Option<Duration>,
    margin: Option<Duration>,
    drift: Drift,
    role: Role,
    min_epoch: Epoch,
    at_least_for: Duration,
    clock_step: Duration,
}

impl Default for ConfigBuilder {
    fn default() -> Self {
        Self {
            ttl: Config::DEFAULT_TTL,
            interval: None,
            jitter: None,
            wake_jitter: None,
            attempt_timeout: None,
            grace: None,
            margin: None,
            drift: Config::DEFAULT_DRIFT,
            role: Role::Candidate,
            min_epoch: Epoch::NONE,
            at_least_for: Duration::ZERO,
            clock_step: Duration::ZERO,
        }
    }
}

impl ConfigBuilder {
    /// The length of the lease; 15 s unless set. Rounded down to whole milliseconds.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Time between two polls or renewals; a third of the ttl unless set.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = Some(interval);
        self
    }

    /// Random addition to every interval; a fifth of the interval unless set.
    #[must_use]
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.jitter = Some(jitter);
        self
    }

    /// The span over which contenders spread when a lease ends or a wake-up reaches them all; a
    /// sixtieth of the ttl but at most 10 ms and an interval, unless set.
    ///
    /// On average, a handover takes half of this span and the database's own time. Zero gives the
    /// fastest handover and is right for a few contenders. A thousand processes that contend for one
    /// election need more: a statement's time for each.
    #[must_use]
    pub fn wake_jitter(mut self, jitter: Duration) -> Self {
        self.wake_jitter = Some(jitter);
        self
    }

    /// Bound on one statement; two fifteenths of the ttl unless set.
    #[must_use]
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = Some(timeout);
        self
    }

    /// The time that leader work has to stop by itself; a sixth of the ttl unless set. Zero gives
    /// exactly River's trust window.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// The distance kept from the end of the lease. The drift bound needs at least ρ·ttl and one
    /// millisecond; unless set, the margin is a thirtieth of the ttl more, for timers that are
    /// late.
    #[must_use]
    pub fn margin(mut self, margin: Duration) -> Self {
        self.margin = Some(margin);
        self
    }

    /// Bound on the local clock's rate relative to the database's; 9 % unless set.
    ///
    /// Where no clock is slewed faster than 500 ppm (no chrony, or a small `maxslewrate`), 1 % is
    /// ample, and the leader can then trust the last tenth of its lease, too.
    #[must_use]
    pub fn drift(mut self, drift: Drift) -> Self {
        self.drift = drift;
        self
    }

    /// Whether this process may lead; it may unless set.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// A lower bound on every epoch that this process wins; none unless set. For an operator who
    /// knows of epochs that the database has lost: set it in every process that may win.
    #[must_use]
    pub fn min_epoch(mut self, epoch: Epoch) -> Self {
        self.min_epoch = epoch;
        self
    }

    /// How long the lease lasts at least, by the database's clock and counted from the election;
    /// not at all unless set. Rounded up to whole milliseconds.
    ///
    /// For work that a timer starts on many machines and that must run on one of them only, also if
    /// their clocks differ and the work ends at once: whoever comes later within this span finds the
    /// lease taken. No crash and no resignation ends it sooner, not even one that an operator asks for;
    /// until then the row names its holder, and so do those who read it. Who leaves in time cuts the
    /// lease down to this span. After a crash it can last until the ttl is over, too. Trust is not
    /// longer than without it: a leader that does not reach the database stops when its ttl is over.
    ///
    /// `ShedLock` calls this `lockAtLeastFor`.
    #[must_use]
    pub fn at_least_for(mut self, span: Duration) -> Self {
        self.at_least_for = span;
        self
    }

    /// How far the database's clock may step forward while a lease runs; not at all unless set.
    /// Rounded up to whole milliseconds.
    ///
    /// The database then keeps every lease of this process for so much longer than its ttl, and
    /// other candidates do not wait for that: each takes over once it has seen, on its own clock, that
    /// the row has not changed for longer than the ttl. So two processes do not lead at once when an
    /// operator sets the clock, when a virtual machine resumes, or when servers whose clocks differ
    /// by less than this answer one after the other.
    ///
    /// It costs time after a crash only: a candidate has to look at the row for a whole ttl, instead
    /// of reading in it when the lease ends. One that comes after the crash counts from its first
    /// look. Whoever has no memory of earlier looks waits for ttl and step: an election
    /// [call by call](super::Candidacy), a reader. A resignation is not slower.
    ///
    /// It is the holder's setting that counts. Processes with different ones, and without, can take
    /// turns.
    #[must_use]
    pub fn clock_step(mut self, step: Duration) -> Self {
        self.clock_step = step;
        self
    }

    /// Checks that the settings add up.
    ///
    /// # Errors
    /// If the ttl is outside its range, the lease is to last longer than
    /// [`Config::MAX_TTL`], the clock's step exceeds [`Config::MAX_CLOCK_STEP`], an interval or
    /// timeout is zero, the wake jitter exceeds the interval, the margin does not cover the drift,
    /// the least epoch is above [`Config::MAX_MIN_EPOCH`], or one hung renewal would cost the lease:
    /// `interval + jitter + 2 × attempt + retry jitter + grace + margin` must be less than the ttl.
    /// (The margin covers the drift of the clocks.)
    pub fn build(self) -> Result<Config, ConfigError> {
        let ttl = Duration::from_millis(u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX));
        if ttl < Config::MIN_TTL {
            return Err(ConfigError::TtlTooShort(self.ttl));
        }
        if ttl > Config::MAX_TTL {
            return Err(ConfigError::TtlTooLong(self.ttl));
        }
        let needed = self.drift.over(ttl) + DATABASE_TICK;
        let interval = self.interval.unwrap_or(ttl / 3);
        // Of an interval that was set: a short one would drown in a fraction of the ttl.
        let jitter = self.interval.map_or(ttl / 15, |interval| interval / 5);
        let spread = (ttl / 60).min(MOST_WAKE_JITTER).min(interval);
        let config = Config {
            ttl,
            interval,
            jitter: self.jitter.unwrap_or(jitter),
            wake_jitter: self.wake_jitter.unwrap_or(spread),
            attempt_timeout: self.attempt_timeout.unwrap_or(ttl * 2 / 15),
            grace: self.grace.unwrap_or(ttl / 6),
            margin: self.margin.unwrap_or(needed + ttl / 30),
            drift: self.drift,
            role: self.role,
            min_epoch: self.min_epoch,
            at_least_for: whole_millis_up(self.at_least_for),
            clock_step: whole_millis_up(self.clock_step),
        };
        if self.clock_step > Config::MAX_CLOCK_STEP {
            return Err(ConfigError::ClockStepTooLong(self.clock_step));
        }
        if config.at_least_for > Config::MAX_TTL {
            return Err(ConfigError::AtLeastTooLong(self.at_least_for));
        }
        if config.min_epoch > Config::MAX_MIN_EPOCH {
            return Err(ConfigError::MinEpochTooHigh(config.min_epoch));
        }
        if config.interval.is_zero() {
            return Err(ConfigError::Zero("interval"));
        }
        if config.wake_jitter > config.interval {
            return Err(ConfigError::WakeJitterTooLong {
                wake_jitter: config.wake_jitter,
                interval: config.interval,
            });
        }
        if config.attempt_timeout < DATABASE_TICK {
            return Err(ConfigError::Zero("attempt_timeout"));
        }
        if config.margin < needed {
            return Err(ConfigError::MarginTooSmall { margin: config.margin, needed });
        }
        config.adds_up()
    }
}

impl Config {
    fn adds_up(self) -> Result<Self, ConfigError> {
        let parts = [
            self.interval,
            self.jitter,
            self.attempt_timeout,
            self.attempt_timeout,
            self.retry_jitter(),
            self.grace,
            self.margin,
        ];
        let sum = parts.iter().map(|part| nanos(*part)).fold(0, u64::saturating_add);
        if sum < nanos(self.ttl) {
            return Ok(self);
        }
        Err(ConfigError::DoesNotAddUp {
            sum: Duration::from_nanos(sum),
            parts: Parts {
                interval: self.interval,
                jitter: self.jitter,
                attempt_timeout: self.attempt_timeout,
                grace: self.grace,
                margin: self.margin,
            },
            ttl: self.ttl,
        })
    }
}

//! The timing of a lease.

use super::error::ScheduleError;
use election_core::{
    Drift,
    lease::{Config, ConfigBuilder, Role},
    quorum,
};
use std::time::Duration;

/// The settings of [`Config`]. Every setting that is `None` is derived from the ttl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// See [`Config::ttl`].
    pub ttl: Duration,
    /// See [`Config::interval`].
    pub interval: Option<Duration>,
    /// See [`Config::jitter`].
    pub jitter: Option<Duration>,
    /// See [`Config::wake_jitter`].
    pub wake_jitter: Option<Duration>,
    /// See [`Config::attempt_timeout`].
    pub attempt_timeout: Option<Duration>,
    /// See [`Config::grace`].
    pub grace: Option<Duration>,
    /// See [`Config::margin`].
    pub margin: Option<Duration>,
    /// See [`Config::at_least_for`].
    pub at_least_for: Option<Duration>,
    /// See [`Config::clock_step`].
    pub clock_step: Option<Duration>,
    /// See [`Config::drift`], in parts per million.
    pub drift_ppm: u32,
}

impl Timing {
    /// All settings derived from this ttl.
    #[must_use]
    pub const fn of(ttl: Duration) -> Self {
        Self {
            ttl,
            interval: None,
            jitter: None,
            wake_jitter: None,
            attempt_timeout: None,
            grace: None,
            margin: None,
            at_least_for: None,
            clock_step: None,
            drift_ppm: Config::DEFAULT_DRIFT.ppm(),
        }
    }

    /// What a quorum needs of it: a length to measure the run in, and a drift bound of its own.
    #[must_use]
    pub fn of_quorum(down_after: Duration) -> Self {
        let ttl = down_after.saturating_mul(3);
        Self { drift_ppm: quorum::Config::DEFAULT_DRIFT.ppm(), ..Self::of(ttl) }
    }

    /// The configuration of a node in this role.
    ///
    /// # Errors
    /// If the settings contradict each other, with the core's own reason.
    pub fn config(&self, role: Role) -> Result<Config, ScheduleError> {
        Ok(self.builder(role)?.build()?)
    }

    /// The same, before it is checked.
    pub(crate) fn builder(&self, role: Role) -> Result<ConfigBuilder, ScheduleError> {
        let drift = Drift::from_ppm(self.drift_ppm).ok_or(ScheduleError::Drift(self.drift_ppm))?;
        let mut builder = Config::builder().ttl(self.ttl).drift(drift).role(role);
        if let Some(interval) = self.interval {
            builder = builder.interval(interval);
        }
        if let Some(jitter) = self.jitter {
            builder = builder.jitter(jitter);
        }
        if let Some(jitter) = self.wake_jitter {
            builder = builder.wake_jitter(jitter);
        }
        if let Some(timeout) = self.attempt_timeout {
            builder = builder.attempt_timeout(timeout);
        }
        if let Some(grace) = self.grace {
            builder = builder.grace(grace);
        }
        if let Some(margin) = self.margin {
            builder = builder.margin(margin);
        }
        if let Some(span) = self.at_least_for {
            builder = builder.at_least_for(span);
        }
        if let Some(step) = self.clock_step {
            builder = builder.clock_step(step);
        }
        Ok(builder)
    }
}

//! What a quorum has in place of a database, as data.

use super::{error::ScheduleError, member::Member};
use crate::span::DurationRange;
use election_core::{
    Drift, Label, NodeId,
    quorum::{Config, ConfigBuilder, ConfigError},
};
use std::time::Duration;

/// How the nodes of a quorum elect, save and replicate. The core derives every setting that is
/// `None` from `down_after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// See [`Config::down_after`].
    pub down_after: Duration,
    /// See [`Config::hb_interval`].
    pub heartbeat: Option<Duration>,
    /// See [`Config::grace`].
    pub grace: Option<Duration>,
    /// See [`Config::election_timeout`].
    pub election_timeout: Option<Duration>,
    /// See [`Config::election_backoff`].
    pub backoff: Option<DurationRange>,
    /// See [`Config::stagger`].
    pub stagger: Option<Duration>,
    /// See [`Config::margin`].
    pub margin: Option<Duration>,
    /// The node that operators want to lead.
    pub preferred: Option<usize>,
    /// See [`Config::fail_back`].
    pub fail_back: Option<Duration>,
    /// How long a ballot takes to become durable.
    pub save: DurationRange,
    /// How long the application of a process that has started reads its data before it knows how
    /// far they have come. Zero: it knows at once.
    pub load: DurationRange,
    /// How often the leader writes and ships its data.
    pub growth: Duration,
    /// Data tells forks apart by its history. Without a history only offsets are compared, as in
    /// kevy-elect's protocol.
    pub history: bool,
    /// How many frames a sender can write into a stalled connection. Later frames wait at the
    /// sender; of the waiting heartbeats only the newest is kept.
    pub buffer: usize,
}

impl Cluster {
    /// All settings derived from this `down_after`; disks that take a few milliseconds.
    #[must_use]
    pub fn of(down_after: Duration) -> Self {
        Self {
            down_after,
            heartbeat: None,
            grace: None,
            election_timeout: None,
            backoff: None,
            stagger: None,
            margin: None,
            preferred: None,
            fail_back: None,
            save: DurationRange::millis(1, 5),
            load: DurationRange::millis(0, 0),
            growth: down_after / 10,
            history: true,
            buffer: 32,
        }
    }

    /// The configuration of a node, with all members that are not spare, and the node itself.
    ///
    /// # Errors
    /// If the settings contradict each other, with the core's own reason.
    pub fn config(
        &self,
        members: &[Member],
        node: usize,
        drift_ppm: u32,
    ) -> Result<Config, ScheduleError> {
        Ok(self.builder(members, node, drift_ppm)?.build()?)
    }

    /// The same, before it is checked.
    pub(crate) fn builder(
        &self,
        members: &[Member],
        node: usize,
        drift_ppm: u32,
    ) -> Result<ConfigBuilder, ScheduleError> {
        let drift = Drift::from_ppm(drift_ppm).ok_or(ScheduleError::Drift(drift_ppm))?;
        let name = &members[node].name;
        let listed = || members.iter().filter(|member| !member.spare || member.name == *name);
        let mut ids = Vec::with_capacity(members.len());
        for member in listed() {
            let id = id(&member.name)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let mut witnesses = Vec::new();
        let me = id(name)?;
        let address = Label::new(&announced(&me))
            .map_err(|why| ScheduleError::Name { name: me.to_string(), why })?;
        let mut builder = Config::builder(me, ids, address)
            .down_after(self.down_after)
            .drift(drift)
            .loopback(true);
        if let Some(span) = self.heartbeat {
            builder = builder.hb_interval(span);
        }
        if let Some(span) = self.grace {
            builder = builder.grace(span);
        }
        if let Some(span) = self.election_timeout {
            builder = builder.election_timeout(span);
        }
        if let Some(between) = self.backoff {
            builder = builder.election_backoff(between.low, between.high);
        }
        if let Some(span) = self.stagger {
            builder = builder.stagger(span);
        }
        if let Some(span) = self.margin {
            builder = builder.margin(span);
        }
        let named = |preferred| members.get(preferred).ok_or(ScheduleError::NoSuchNode(preferred));
        let preferred = self.preferred.map(named).transpose()?;
        // Whoever is not listed yet, or no longer, is not preferred meanwhile.
        let is_away = preferred.is_some_and(|it| !listed().any(|member| member.name == it.name));
        if let Some(member) = preferred.filter(|_| !is_away) {
            builder = builder.preferred_primary(id(&member.name)?);
        }
        if let Some(span) = self.fail_back.filter(|_| !is_away) {
            builder = builder.fail_back(span);
        }
        for member in listed().filter(|member| member.witness) {
            witnesses.push(id(&member.name)?);
        }
        Ok(builder.witnesses(witnesses))
    }
}

/// The address that a member announces.
pub(crate) fn announced(member: &NodeId) -> String {
    format!("{member}:6004")
}

impl From<ConfigError> for ScheduleError {
    fn from(why: ConfigError) -> Self {
        Self::Cluster(why)
    }
}

fn id(name: &str) -> Result<NodeId, ScheduleError> {
    NodeId::new(name).map_err(|why| ScheduleError::Name { name: name.to_owned(), why })
}

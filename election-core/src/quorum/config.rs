//! The members and the timing of a quorum, checked before anything runs.
//!
//! A configuration that cannot elect, or that could elect two primaries, cannot be built. One that
//! works, but perhaps not as its author expects, carries [`Warning`]s as data.

use super::{
    lint::{ConfigError, MAX_DOWN_AFTER, MAX_ID, Warning},
    members::{Members, Peer},
    timing::{self, Timing},
};
use crate::{
    Drift, Label, NodeId,
    time::{FASTEST_SLEW, nanos},
};
use alloc::vec::Vec;
use core::time::Duration;

/// The members and the timing of one node; made by [`Config::builder`].
///
/// All durations are spans of the node's own monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    pub(super) members: Members,
    pub(super) address: Label,
    pub(super) declared: Option<Peer>,
    pub(super) new_peers: bool,
    loopback: bool,
    authenticated: bool,
    pub(super) backoff: (Duration, Duration),
    drift: Drift,
    pub(super) timing: Timing,
}

impl Config {
    /// The longest id of a member, in bytes.
    pub const MAX_ID: usize = MAX_ID;
    /// When a silent peer counts as down; kevy-elect's default.
    pub const DEFAULT_DOWN_AFTER: Duration = Duration::from_secs(5);
    /// Nine per cent. At chrony's default `maxslewrate`, a voter's clock runs up to 8.3333 % too
    /// fast, and so ends its support after 92.3 % of `down_after`; a primary's clock may run as
    /// much too slow. The rest of the bound is for the oscillators. It shortens the trust window,
    /// not the time until a dead primary is replaced.
    ///
    /// A node cannot notice that a voter's clock is slewed. For its own clock, a driver should read
    /// one that is never slower than the hardware's: on Linux, whichever of `CLOCK_BOOTTIME` and
    /// `CLOCK_MONOTONIC_RAW` says that more time has passed. A slew then never makes a primary trust
    /// for longer, and the whole bound is left to the voters. A voter whose clock runs fast gives
    /// less than it promised, by no more than the bound.
    pub const DEFAULT_DRIFT: Drift = Drift::NINE_PERCENT;
    /// The longest `down_after`: a crashed primary is not replaced before it ends.
    pub const MAX_DOWN_AFTER: Duration = MAX_DOWN_AFTER;

    /// Begins the configuration of the node `me`, one of `members` (in any order, the same list on
    /// all nodes). Other nodes reach its data at `address`. Every duration that is not set is
    /// derived from `down_after`.
    #[must_use]
    pub fn builder(
        me: NodeId,
        members: impl IntoIterator<Item = NodeId>,
        address: Label,
    ) -> ConfigBuilder {
        ConfigBuilder::new(me, members.into_iter().collect(), address)
    }

    /// The members, and which of them this node is.
    #[must_use]
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// The address of this node's data; announced when the node is elected.
    #[must_use]
    pub fn address(&self) -> &Label {
        &self.address
    }

    /// The member that should lead. It only gets a head start.
    #[must_use]
    pub fn declared_primary(&self) -> Option<Peer> {
        self.declared
    }

    /// Whether this start accepts a ballot that was written under another list of members.
    #[must_use]
    pub fn new_peers(&self) -> bool {
        self.new_peers
    }

    /// The time between two heartbeats.
    #[must_use]
    pub fn hb_interval(&self) -> Duration {
        Duration::from_nanos(self.timing.hb_interval)
    }

    /// How long support lasts, and how long a silent peer counts as alive.
    #[must_use]
    pub fn down_after(&self) -> Duration {
        Duration::from_nanos(self.timing.down_after)
    }

    /// How long before the end of trust belief ends.
    #[must_use]
    pub fn grace(&self) -> Duration {
        Duration::from_nanos(self.timing.grace)
    }

    /// How long a candidate waits for votes.
    #[must_use]
    pub fn election_timeout(&self) -> Duration {
        Duration::from_nanos(self.timing.election_timeout)
    }

    /// The bounds of the random time that a candidate waits after it failed.
    #[must_use]
    pub fn election_backoff(&self) -> (Duration, Duration) {
        self.backoff
    }

    /// How long a candidate waits for each peer that would be better.
    #[must_use]
    pub fn stagger(&self) -> Duration {
        Duration::from_nanos(self.timing.stagger)
    }

    /// The part of trust that is given up on top of what clock drift needs.
    #[must_use]
    pub fn margin(&self) -> Duration {
        Duration::from_nanos(self.timing.margin)
    }

    /// The bound on how far any node's clock rate is from the true rate.
    #[must_use]
    pub fn drift(&self) -> Drift {
        self.drift
    }

    /// How long a primary trusts an echo: `D·(1−ρ)/(1+ρ) − margin`, counted from sending.
    #[must_use]
    pub fn trust_window(&self) -> Duration {
        Duration::from_nanos(self.timing.window)
    }

    /// How long a node that has just started does not vote: `D·(1+ρ)/(1−ρ)`.
    #[must_use]
    pub fn boot_grace(&self) -> Duration {
        Duration::from_nanos(self.timing.boot)
    }

    /// How long a timer may sleep at most before it looks at the clock again. A machine that was
    /// suspended meanwhile still stops leader work before the margin is used up.
    #[must_use]
    pub fn timer_slice(&self) -> Duration {
        self.margin().saturating_sub(MIN_SPAN).max(MIN_SPAN)
    }

    /// Settings that work, but perhaps not as their author expects.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> + use<> {
        let count = self.members.count();
        let exposed = !self.loopback && !self.authenticated && count > 1;
        [
            (count == 1).then_some(Warning::Alone),
            (count == 2).then_some(Warning::TwoMembers),
            (count > 2 && count % 2 == 0).then_some(Warning::EvenMembers(count)),
            (count > MANY).then_some(Warning::ManyMembers(count)),
            exposed.then_some(Warning::NoKey),
            (self.down_after() < self.hb_interval().saturating_mul(10)).then_some(
                Warning::FewBeats {
                    down_after: self.down_after(),
                    hb_interval: self.hb_interval(),
                },
            ),
            (self.down_after() < Duration::from_secs(1))
                .then_some(Warning::ShortDownAfter(self.down_after())),
            (self.down_after() > Duration::from_secs(60))
                .then_some(Warning::LongDownAfter(self.down_after())),
            self.grace().is_zero().then_some(Warning::NoGrace),
            (self.drift.ppm() < FASTEST_SLEW).then_some(Warning::SmallDrift(self.drift)),
            self.stagger().is_zero().then_some(Warning::NoStagger),
            (self.backoff.0 == self.backoff.1).then_some(Warning::FixedBackoff),
            self.new_peers.then_some(Warning::NewPeers),
        ]
        .into_iter()
        .flatten()
    }
}

/// Beyond this many members, a voter more costs more heartbeats than it gains.
const MANY: usize = 9;
const MIN_SPAN: Duration = Duration::from_millis(1);

/// Collects the settings of a [`Config`].
#[derive(Clone, Debug)]
pub struct ConfigBuilder {
    me: NodeId,
    members: Vec<NodeId>,
    address: Label,
    declared: Option<NodeId>,
    new_peers: bool,
    loopback: bool,
    authenticated: bool,
    hb_interval: Option<Duration>,
    down_after: Duration,
    grace: Option<Duration>,
    election_timeout: Option<Duration>,
    backoff: Option<(Duration, Duration)>,
    stagger: Option<Duration>,
    margin: Option<Duration>,
    drift: Drift,
}

impl ConfigBuilder {
    fn new(me: NodeId, members: Vec<NodeId>, address: Label) -> Self {
        Self {
            me,
            members,
            address,
            declared: None,
            new_peers: false,
            loopback: false,
            authenticated: false,
            hb_interval: None,
            down_after: Config::DEFAULT_DOWN_AFTER,
            grace: None,
            election_timeout: None,
            backoff: None,
            stagger: None,
            margin: None,
            drift: Config::DEFAULT_DRIFT,
        }
    }

    /// The member that should lead: while it is heard, all others wait one stagger longer. None
    /// unless set. It gives no claim to lead.
    #[must_use]
    pub fn declared_primary(mut self, node: NodeId) -> Self {
        self.declared = Some(node);
        self
    }

    /// Accepts a ballot that was written under another list of members. Stop all nodes first, then
    /// set it for one start: nodes with different lists can elect two primaries.
    #[must_use]
    pub fn new_peers(mut self, confirmed: bool) -> Self {
        self.new_peers = confirmed;
        self
    }

    /// Whether only this machine can reach the listener; no unless set. For the linter only.
    #[must_use]
    pub fn loopback(mut self, loopback: bool) -> Self {
        self.loopback = loopback;
        self
    }

    /// Whether peers prove that they know a key; no unless set. For the linter only.
    #[must_use]
    pub fn authenticated(mut self, authenticated: bool) -> Self {
        self.authenticated = authenticated;
        self
    }

    /// Time between two heartbeats; a 25th of `down_after` (200 ms) unless set.
    #[must_use]
    pub fn hb_interval(mut self, interval: Duration) -> Self {
        self.hb_interval = Some(interval);
        self
    }

    /// How long support lasts, and a silent peer counts as alive; 5 s unless set.
    #[must_use]
    pub fn down_after(mut self, span: Duration) -> Self {
        self.down_after = span;
        self
    }

    /// How long before the end of trust belief ends, and how long a primary that steps down keeps
    /// others out; a tenth of `down_after` (500 ms) unless set.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// How long a candidate waits for votes; three fifths of `down_after` (3 s) unless set.
    #[must_use]
    pub fn election_timeout(mut self, timeout: Duration) -> Self {
        self.election_timeout = Some(timeout);
        self
    }

    /// The bounds of the random back-off; a fifth to the whole of `down_after` (1–5 s) unless set.
    #[must_use]
    pub fn election_backoff(mut self, least: Duration, most: Duration) -> Self {
        self.backoff = Some((least, most));
        self
    }

    /// How long a candidate waits for each better one; three hundredths of `down_after` (150 ms)
    /// unless set.
    #[must_use]
    pub fn stagger(mut self, stagger: Duration) -> Self {
        self.stagger = Some(stagger);
        self
    }

    /// The part of trust given up beyond the drift; a fiftieth of `down_after` (100 ms) unless set.
    #[must_use]
    pub fn margin(mut self, margin: Duration) -> Self {
        self.margin = Some(margin);
        self
    }

    /// The bound on how far any node's clock rate is from the true rate; 9 % unless set.
    ///
    /// Where no member's clock is slewed faster than 500 ppm (no chrony, or a small `maxslewrate`),
    /// 1 % is ample. With the default `down_after`, a primary that hears nobody then believes in
    /// itself for 4.3 s in place of 3.6, and a restarted node votes after 5.1 s in place of 6.
    #[must_use]
    pub fn drift(mut self, drift: Drift) -> Self {
        self.drift = drift;
        self
    }

    /// Checks the list of members and that the timing adds up.
    ///
    /// # Errors
    /// If an id cannot stand in a frame, occurs twice or is not in the list, or if a span is zero
    /// or out of range. Also if `election_timeout` or two heartbeats do not fit into the trust
    /// window less `grace`: a winner would never believe in its election.
    pub fn build(self) -> Result<Config, ConfigError> {
        let members = self.checked_members()?;
        let declared = match &self.declared {
            None => None,
            Some(id) => {
                Some(members.find(id.as_str()).ok_or_else(|| ConfigError::NotAMember(id.clone()))?)
            }
        };
        let down_after = self.down_after;
        if down_after > Config::MAX_DOWN_AFTER {
            return Err(ConfigError::DownAfterTooLong(down_after));
        }
        Config {
            timing: self.timing(),
            members,
            address: self.address,
            declared,
            new_peers: self.new_peers,
            loopback: self.loopback,
            authenticated: self.authenticated,
            backoff: self.backoff.unwrap_or((down_after / 5, down_after)),
            drift: self.drift,
        }
        .adds_up()
    }

    fn timing(&self) -> Timing {
        let (down_after, drift) = (self.down_after, self.drift);
        let margin = nanos(self.margin.unwrap_or(down_after / 50));
        let election_timeout = nanos(self.election_timeout.unwrap_or(down_after * 3 / 5));
        Timing {
            hb_interval: nanos(self.hb_interval.unwrap_or(down_after / 25)),
            down_after: nanos(down_after),
            grace: nanos(self.grace.unwrap_or(down_after / 10)),
            election_timeout,
            stagger: nanos(self.stagger.unwrap_or(down_after * 3 / 100)),
            margin,
            window: timing::trusted(nanos(down_after), drift, margin),
            boot: timing::outlasting(nanos(down_after), drift),
            election: timing::outlasting(election_timeout, drift),
        }
    }

    fn checked_members(&self) -> Result<Members, ConfigError> {
        for id in &self.members {
            let sound = id.as_str().bytes().all(|byte| byte.is_ascii_graphic());
            if id.as_str().len() > Config::MAX_ID {
                return Err(ConfigError::IdTooLong(id.clone()));
            }
            if !sound {
                return Err(ConfigError::IdNotPrintable(id.clone()));
            }
            if self.members.iter().filter(|other| *other == id).count() > 1 {
                return Err(ConfigError::DuplicateId(id.clone()));
            }
        }
        if self.members.len() > Members::MOST {
            return Err(ConfigError::TooManyMembers(self.members.len()));
        }
        Members::new(self.members.clone(), &self.me)
            .ok_or_else(|| ConfigError::NotAMember(self.me.clone()))
    }
}

impl Config {
    fn adds_up(self) -> Result<Self, ConfigError> {
        let spans = [
            ("heartbeat interval", self.hb_interval()),
            ("time until a peer is down", self.down_after()),
            ("election timeout", self.election_timeout()),
            ("margin", self.margin()),
        ];
        if let Some((name, _)) = spans.iter().find(|(_, span)| *span < MIN_SPAN) {
            return Err(ConfigError::Zero(name));
        }
        let (least, most) = self.backoff;
        if least > most {
            return Err(ConfigError::BackoffReversed { least, most });
        }
        let room = self.trust_window().saturating_sub(self.grace());
        if self.election_timeout() >= room {
            return Err(ConfigError::TimeoutTooLong { timeout: self.election_timeout(), room });
        }
        if self.hb_interval().saturating_mul(2) >= room {
            return Err(ConfigError::IntervalTooLong { interval: self.hb_interval(), room });
        }
        Ok(self)
    }
}

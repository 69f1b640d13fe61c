//! The members and the timing of a quorum, checked before anything runs.
//!
//! A configuration that cannot elect, or that could elect two primaries, cannot be built. One that
//! works, but perhaps not as its author expects, carries [`Warning`]s as data.

mod builder;
mod lint;
mod timing;

use crate::{
    Drift, Epoch, Label, NodeId,
    quorum::{
        config::{
            lint::{MAX_DOWN_AFTER, MAX_ID},
            timing::Timing,
        },
        members::Members,
        membership::Membership,
        places::{MemberList, Peer},
        state::voter::Restored,
    },
    time::FASTEST_SLEW,
};
use core::time::Duration;

pub use builder::ConfigBuilder;
pub use lint::{ConfigError, Warning};

/// The members and the timing of one node; made by [`Config::builder`].
///
/// All durations are spans of the node's own monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    pub(super) members: Members,
    pub(super) address: Label,
    pub(super) preferred: Option<Peer>,
    pub(super) fail_back: Option<u64>,
    pub(super) new_peers: bool,
    generation: u64,
    pub(super) min_epoch: Epoch,
    accepts_loss: bool,
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

    /// The highest value for `min_epoch`: half of what a JSON number holds exactly. A mistyped value
    /// must not use up the numbers.
    pub const MAX_MIN_EPOCH: Epoch = Epoch::MAX_MIN;

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

    /// The member that is elected among candidates with equal data.
    #[must_use]
    pub fn preferred_primary(&self) -> Option<Peer> {
        self.preferred
    }

    /// After how long another primary hands over to the preferred one.
    #[must_use]
    pub fn fail_back(&self) -> Option<Duration> {
        self.fail_back.map(Duration::from_nanos)
    }

    /// Whether this start accepts a ballot that was written under another list of members.
    #[must_use]
    pub fn new_peers(&self) -> bool {
        self.new_peers
    }

    /// The lowest epoch that this node may win.
    #[must_use]
    pub fn min_epoch(&self) -> Epoch {
        self.min_epoch
    }

    /// Whether this start forgets the data that the ballot says the node must not elect without.
    #[must_use]
    pub fn accepts_loss(&self) -> bool {
        self.accepts_loss
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
        let data_nodes = self.members.data_nodes();
        let has_witness = data_nodes < count;
        [
            (has_witness && data_nodes == 1).then_some(Warning::OneDataNode),
            (has_witness && data_nodes == 2).then_some(Warning::TwoDataNodes),
            self.accepts_loss.then_some(Warning::AcceptsLoss),
            (count == 1).then_some(Warning::Alone),
            (count == 2).then_some(Warning::TwoMembers),
            (count != 2 && count % 2 == 0).then_some(Warning::EvenMembers(count)),
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

impl Config {
    /// The same settings with other members, or other places of them.
    pub(super) fn go_by(&mut self, members: Members) {
        let preferred = self.preferred.and_then(|peer| self.members.id(peer));
        self.preferred = preferred.and_then(|id| members.find(id.as_str()));
        self.members = members;
    }

    /// The configuration under the lists of a ballot, and these lists: the list in force is there. If
    /// the one that this node was given is of the same generation, it has to be among them: in force, the
    /// one before or the next. A ballot of others, or under other settings, counts for nothing here: the
    /// voter judges it.
    pub(super) fn restored(mut self, restored: &Restored) -> (Self, Membership) {
        let given = &self.members;
        if let Restored::Ballot(ballot) = restored {
            let Membership { ids, origin, .. } = &ballot.lists;
            let fits = |members: &Members| {
                let of = |list| members.clone().with_list(ids.clone(), *origin, list);
                let is_known = |list: &MemberList| of(*list).has_the_same(given);
                let is_other = self.generation != ballot.lists.established.generation;
                let is_known = is_other || ballot.lists.lists().any(is_known);
                members.fingerprint() == ballot.members && is_known
            };
            if let Some(members) = given.under(&ballot.lists).filter(fits) {
                self.go_by(members);
                return (self, ballot.lists.clone());
            }
        }
        let lists = given.first_lists();
        (self, lists)
    }

    fn adds_up(&self) -> Result<(), ConfigError> {
        let spans = [
            ("hb_interval", self.hb_interval()),
            ("down_after", self.down_after()),
            ("election_timeout", self.election_timeout()),
            ("margin", self.margin()),
        ];
        if let Some((name, _)) = spans.iter().find(|(_, span)| *span < MIN_SPAN) {
            return Err(ConfigError::Zero(name));
        }
        let (least, most) = self.backoff;
        if least > most {
            return Err(ConfigError::BackoffReversed { least, most });
        }
        let least = self.down_after().saturating_mul(2);
        if let Some(after) = self.fail_back().filter(|after| *after < least) {
            return Err(ConfigError::FailBackTooSoon { after, least });
        }
        if self.min_epoch > Self::MAX_MIN_EPOCH {
            return Err(ConfigError::MinEpochTooHigh(self.min_epoch));
        }
        if self.fail_back.is_some() && self.preferred.is_none() {
            return Err(ConfigError::NobodyPreferred);
        }
        let room = self.trust_window().saturating_sub(self.grace());
        if self.election_timeout() >= room {
            return Err(ConfigError::TimeoutTooLong { timeout: self.election_timeout(), room });
        }
        if self.hb_interval().saturating_mul(2) >= room {
            return Err(ConfigError::IntervalTooLong { interval: self.hb_interval(), room });
        }
        Ok(())
    }

    /// The longest grace with everything else as it is; none if nothing else fits either.
    fn longest_grace(&self) -> Option<Duration> {
        let must_fit = self.election_timeout().max(self.hb_interval().saturating_mul(2));
        let room = self.trust_window().checked_sub(must_fit)?;
        let most = u64::try_from(room.as_millis()).ok()?.checked_sub(1)?;
        Some(Duration::from_millis(most))
    }
}

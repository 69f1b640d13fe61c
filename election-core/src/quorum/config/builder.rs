//! How a configuration is put together.

use super::Config;
use crate::{
    Drift, Epoch, Label, Namespace, NodeId,
    quorum::{
        config::lint::ConfigError,
        config::timing::{Timing, outlasting, trusted},
        members::Members,
        places::Peer,
    },
    time::nanos,
};
use alloc::vec::Vec;
use core::time::Duration;

/// Collects the settings of a [`Config`].
#[derive(Clone, Debug)]
pub struct ConfigBuilder {
    me: NodeId,
    members: Vec<NodeId>,
    address: Label,
    preferred: Option<NodeId>,
    fail_back: Option<Duration>,
    witnesses: Vec<NodeId>,
    cluster: Option<Namespace>,
    new_peers: bool,
    generation: u64,
    min_epoch: Epoch,
    accepts_loss: bool,
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
    pub(super) fn new(me: NodeId, members: Vec<NodeId>, address: Label) -> Self {
        Self {
            me,
            members,
            address,
            preferred: None,
            fail_back: None,
            witnesses: Vec::new(),
            cluster: None,
            new_peers: false,
            generation: 0,
            min_epoch: Epoch::NONE,
            accepts_loss: false,
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

    /// The member that should lead; none unless set. The same on all nodes. Among candidates with
    /// equal data it is elected, whatever its id. It gets no other claim to lead; see
    /// [`fail_back`](Self::fail_back).
    #[must_use]
    pub fn preferred_primary(mut self, node: NodeId) -> Self {
        self.preferred = Some(node);
        self
    }

    /// After how long another primary hands over to the preferred one; never unless set.
    ///
    /// Until then the preferred member must have been connected, in one life, able to lead, and no
    /// more than a `down_after` behind with its data, all the time; the primary looks once in a
    /// `down_after`. A member that comes and goes is not handed over to. The change is a planned
    /// [`HandOver`](crate::quorum::Event::HandOver): nobody fails over, and the successor has all data. At
    /// least twice `down_after`; some minutes are usual.
    #[must_use]
    pub fn fail_back(mut self, after: Duration) -> Self {
        self.fail_back = Some(after);
        self
    }

    /// The members that vote, but have no data and never lead; none unless set. The same on all
    /// nodes.
    ///
    /// A witness is a third vote for a pair of data nodes, on a host that need not store anything.
    /// It records durably how far each primary has come that it supports, and votes for nobody who
    /// has come less far. So it protects what a data node acknowledged *alone*, once the witness has
    /// recorded it. With two data nodes `a` (primary) and `b`, and a witness:
    ///
    /// | a write was acknowledged when it was on | `a` is lost | `b` is lost |
    /// | --- | --- | --- |
    /// | `a` and `b` | `b` is elected and has it | `a` goes on |
    /// | `a`, and recorded by the witness | nobody is elected before a node that has it is back | `a` goes on |
    /// | `a` alone | `b` may be elected without it | `a` goes on |
    ///
    /// The second row means that a primary which reports a position before `b` has the data gives up
    /// availability for it. So report as position what clients have been told, not what is still on
    /// its way. [`Quorum::copies`](crate::quorum::Quorum::copies) tells how many nodes have a position. If
    /// the data are lost for good, see [`accept_loss`](Self::accept_loss).
    #[must_use]
    pub fn witnesses(mut self, witnesses: impl IntoIterator<Item = NodeId>) -> Self {
        self.witnesses = witnesses.into_iter().collect();
        self
    }

    /// The name of the cluster; none unless set. The same on all nodes: a node of another cluster counts
    /// as one with another list of members, even if the lists are the same. To change it, stop all
    /// nodes, and start each once with [`new_peers`](Self::new_peers).
    #[must_use]
    pub fn cluster(mut self, name: Namespace) -> Self {
        self.cluster = Some(name);
        self
    }

    /// Forgets, at this start, the data that the ballot says this node must not elect without: what
    /// a witness has recorded, or what a data node had before its disk was wiped. For one start, and
    /// only if no node that has these data can come back: acknowledged writes are lost.
    #[must_use]
    pub fn accept_loss(mut self, confirmed: bool) -> Self {
        self.accepts_loss = confirmed;
        self
    }

    /// The lowest epoch that this node may win; none unless set. The ballots keep the epochs, and where
    /// all of them are lost, epochs begin with 1 again. A resource that has seen a higher token then
    /// refuses every primary. Set it on all nodes, above the last epoch, and leave it there. It ends no
    /// leadership: the next election is the first that it applies to.
    #[must_use]
    pub fn min_epoch(mut self, epoch: Epoch) -> Self {
        self.min_epoch = epoch;
        self
    }

    /// Of which generation the list is that this node is given; 0, the cluster's first, unless set. The
    /// list in force is in the ballot, so a list of another generation than that is only compared: it is
    /// an older one, or one that somebody wants. A list of the same generation has to be the same.
    #[must_use]
    pub fn generation(mut self, generation: u64) -> Self {
        self.generation = generation;
        self
    }

    /// Accepts a ballot that was written under another `down_after` or another name of the cluster, or
    /// that knows nothing of this list of members. Stop all nodes first, then set it for one start: nodes with different lists
    /// can elect two primaries.
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

    /// How long support lasts, and a silent peer counts as alive; 5 s unless set. The same on all
    /// nodes: a node that was given another one counts as one with another list of members. To change
    /// it, stop all nodes, and start each once with [`new_peers`](Self::new_peers).
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

    /// How long a candidate waits for each better one, and a tenth of how long it waits for the
    /// nominee of a handover; three hundredths of `down_after` (150 ms) unless set.
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
    /// itself for 4.3 s in place of 3.6, and a restarted node that hears no primary votes after 5.1 s in
    /// place of 6.
    #[must_use]
    pub fn drift(mut self, drift: Drift) -> Self {
        self.drift = drift;
        self
    }

    /// Checks the list of members and that the timing adds up.
    ///
    /// # Errors
    /// If an id cannot stand in a frame, occurs twice or is not in the list, or if a span is zero
    /// or out of range, or the least epoch too high. Also if `election_timeout` or two heartbeats do
    /// not fit into the trust window less `grace`: a winner would never believe in its election.
    pub fn build(self) -> Result<Config, ConfigError> {
        let members = self.checked_members()?.with_down_after(nanos(self.down_after));
        let members = match &self.cluster {
            Some(name) => members.of_cluster(name),
            None => members,
        };
        let preferred = self.preferred.as_ref().map(|id| member(&members, id)).transpose()?;
        if preferred.is_some_and(|peer| members.is_witness(peer)) {
            return Err(ConfigError::WitnessPreferred(self.preferred.unwrap_or(self.me)));
        }
        let down_after = self.down_after;
        if down_after > Config::MAX_DOWN_AFTER {
            return Err(ConfigError::DownAfterTooLong(down_after));
        }
        let least = self.least_down_after();
        if down_after < least {
            return Err(ConfigError::DownAfterTooShort { down_after, least });
        }
        let grace = self.grace;
        let config = Config {
            timing: self.timing(),
            members,
            address: self.address,
            preferred,
            fail_back: self.fail_back.map(nanos),
            new_peers: self.new_peers,
            generation: self.generation,
            min_epoch: self.min_epoch,
            accepts_loss: self.accepts_loss,
            loopback: self.loopback,
            authenticated: self.authenticated,
            backoff: self.backoff.unwrap_or((down_after / 5, down_after)),
            drift: self.drift,
        };
        match (config.adds_up(), grace, config.longest_grace()) {
            (
                Err(ConfigError::TimeoutTooLong { .. } | ConfigError::IntervalTooLong { .. }),
                Some(grace),
                Some(most),
            ) => Err(ConfigError::GraceTooLong { grace, down_after, most }),
            (adds_up, ..) => adds_up.map(|()| config),
        }
    }

    /// With which none of the spans that follow from it is below one millisecond.
    fn least_down_after(&self) -> Duration {
        let follows = |set: Option<Duration>, least| match set {
            Some(_) => Duration::ZERO,
            None => Duration::from_micros(least),
        };
        Duration::from_millis(1)
            .max(follows(self.margin, 50_000))
            .max(follows(self.hb_interval, 25_000))
            .max(follows(self.election_timeout, 1_667))
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
            window: trusted(nanos(down_after), drift, margin),
            boot: outlasting(nanos(down_after), drift),
            election: outlasting(election_timeout, drift),
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
        let members = Members::new(self.members.clone(), &self.me)
            .ok_or_else(|| ConfigError::NotAMember(self.me.clone()))?;
        for id in &self.witnesses {
            member(&members, id)?;
        }
        members.with_witnesses(&self.witnesses).ok_or(ConfigError::NoDataNode)
    }
}

fn member(members: &Members, id: &NodeId) -> Result<Peer, ConfigError> {
    members.find(id.as_str()).ok_or_else(|| ConfigError::NotAMember(id.clone()))
}

//! The rules of kevy-elect 5.4.0, with time and sending taken out of its hands.
//!
//! It is written function by function after that crate's `Elector`, its faults included: a voter
//! that does not keep to a living primary, a primary that votes and stays primary, an epoch that
//! only an accepted offer, an announcement or a primary's heartbeat raises. `election-sim/kevy`
//! compares it with the original.

use election_core::{
    Timestamp,
    quorum::{Peer, Role},
};
use std::time::Duration;

/// The settings of kevy-elect's `ElectConfig`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tunables {
    pub(crate) hb_interval: Duration,
    pub(crate) down_after: Duration,
    pub(crate) election_timeout: Duration,
    pub(crate) backoff: Duration,
    /// What this node adds to every back-off: with `ElectJitter::System` it depends on nothing but
    /// the node's id.
    pub(crate) jitter: Duration,
}

/// What a member says of itself in a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) epoch: u64,
    pub(crate) role: Role,
    pub(crate) offset: u64,
}

/// What the elector does. A save comes before the frames that depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Save(u64, Option<Peer>),
    Heartbeat(Said),
    /// An offer of this epoch, with this offset.
    Offer(u64, u64),
    Accept(u64, Peer),
    Announce(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Elector {
    me: Peer,
    tunables: Tunables,
    role: Role,
    epoch: u64,
    primary: Option<Peer>,
    first_tick: Option<Timestamp>,
    pub(crate) offset: u64,
    beat: Option<Timestamp>,
    /// By member: when it was heard, and its offset.
    heard: Vec<Option<(Timestamp, u64)>>,
    votes: u64,
    offered: Option<Timestamp>,
    backoff_until: Option<Timestamp>,
    accepted: Option<u64>,
    pub(crate) deeds: Vec<Deed>,
}

impl Elector {
    /// A node that has just started, with the epoch and the vote of its disk. Members are numbered
    /// in the order of their ids.
    pub(crate) fn new(
        me: Peer,
        members: usize,
        tunables: Tunables,
        saved: Option<(u64, bool)>,
    ) -> Self {
        let (epoch, voted) = saved.filter(|(epoch, _)| *epoch > 0).unwrap_or_default();
        Self {
            me,
            tunables,
            role: Role::Replica,
            epoch: epoch.max(1),
            primary: None,
            first_tick: None,
            offset: 0,
            beat: None,
            heard: vec![None; members],
            votes: 0,
            offered: None,
            backoff_until: None,
            accepted: voted.then_some(epoch),
            deeds: Vec::new(),
        }
    }

    pub(crate) fn me(&self) -> Peer {
        self.me
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn primary(&self) -> Option<Peer> {
        self.primary
    }

    /// Whether it hears a majority: a primary that does not must fence its writes.
    pub(crate) fn has_quorum(&self, now: Timestamp) -> bool {
        let fresh = self.heard.iter().flatten().filter(|(at, _)| !self.is_old(*at, now));
        (fresh.count() + 1) * 2 > self.heard.len()
    }

    fn is_old(&self, at: Timestamp, now: Timestamp) -> bool {
        now.since(at) >= self.tunables.down_after
    }

    pub(crate) fn tick(&mut self, now: Timestamp) {
        self.first_tick.get_or_insert(now);
        if self.beat.is_none_or(|beat| now.since(beat) >= self.tunables.hb_interval) {
            self.beat = Some(now);
            let Self { epoch, role, offset, .. } = *self;
            self.deeds.push(Deed::Heartbeat(Said { epoch, role, offset }));
        }
        if self.may_stand(now) {
            self.stand(now);
        }
        self.finish_candidacy(now);
    }

    fn may_stand(&self, now: Timestamp) -> bool {
        let waits = self.backoff_until.is_some_and(|until| now < until);
        if self.role != Role::Replica || waits {
            return false;
        }
        let silent = match self.primary {
            Some(primary) => self.heard[primary.index()].is_none_or(|(at, _)| self.is_old(at, now)),
            None => self.first_tick.is_some_and(|first| self.is_old(first, now)),
        };
        silent && self.is_best(now)
    }

    fn is_best(&self, now: Timestamp) -> bool {
        self.heard.iter().enumerate().all(|(place, heard)| match heard {
            Some((at, offset)) if !self.is_old(*at, now) => {
                let own = place == self.me.index();
                let ties = *offset == self.offset && place < self.me.index();
                own || self.primary.is_some_and(|primary| primary.index() == place)
                    || !(*offset > self.offset || ties)
            }
            _ => true,
        })
    }

    fn stand(&mut self, now: Timestamp) {
        self.epoch = self.epoch.saturating_add(1);
        self.deeds.push(Deed::Save(self.epoch, Some(self.me)));
        self.role = Role::Candidate;
        self.votes = 1 << self.me.index();
        self.offered = Some(now);
        self.deeds.push(Deed::Offer(self.epoch, self.offset));
    }

    fn finish_candidacy(&mut self, now: Timestamp) {
        let Some(offered) = self.offered.filter(|_| self.role == Role::Candidate) else { return };
        if self.votes.count_ones() as usize > self.heard.len() / 2 {
            self.role = Role::Primary;
            self.primary = Some(self.me);
            self.offered = None;
            self.votes = 0;
            self.deeds.push(Deed::Announce(self.epoch));
        } else if now.since(offered) >= self.tunables.election_timeout {
            self.role = Role::Replica;
            self.offered = None;
            self.votes = 0;
            self.backoff_until = Some(now + self.tunables.backoff + self.tunables.jitter);
        }
    }

    pub(crate) fn heartbeat(&mut self, from: Peer, said: Said, now: Timestamp) {
        self.heard[from.index()] = Some((now, said.offset));
        let learns = self.primary.is_none() && self.role == Role::Replica;
        if said.role != Role::Primary
            || said.epoch < self.epoch
            || (said.epoch == self.epoch && !learns)
        {
            return;
        }
        if said.epoch > self.epoch {
            self.deeds.push(Deed::Save(said.epoch, None));
        }
        self.epoch = said.epoch;
        self.primary = Some(from);
        if self.role == Role::Candidate {
            self.offered = None;
            self.votes = 0;
        }
        self.role = Role::Replica;
    }

    pub(crate) fn offer(&mut self, from: Peer, epoch: u64, offset: u64) {
        let worse = self.offset > offset || (self.offset == offset && self.me < from);
        if epoch <= self.epoch || worse || self.accepted == Some(epoch) {
            return;
        }
        self.deeds.push(Deed::Save(epoch, Some(from)));
        self.accepted = Some(epoch);
        self.epoch = epoch;
        self.deeds.push(Deed::Accept(epoch, from));
    }

    pub(crate) fn accept(&mut self, from: Peer, epoch: u64) {
        if self.role == Role::Candidate && self.epoch == epoch {
            self.votes |= 1 << from.index();
        }
    }

    pub(crate) fn announcement(&mut self, from: Peer, epoch: u64) {
        let known = epoch <= self.epoch && self.primary == Some(from);
        if known || epoch < self.epoch {
            return;
        }
        self.deeds.push(Deed::Save(epoch, Some(from)));
        self.epoch = epoch;
        self.primary = Some(from);
        self.accepted = Some(epoch);
        self.votes = 0;
        self.offered = None;
        self.role = Role::Replica;
    }
}

/// `ElectJitter::System`: the same for every back-off of a node.
pub(crate) fn system_jitter(id: &str, most: Duration) -> Duration {
    let start = 1_469_598_103_934_665_603_u64;
    let hash =
        id.bytes().fold(start, |hash, byte| hash.wrapping_mul(1_099_511_628_211) ^ u64::from(byte));
    let span = u64::try_from(most.as_nanos().max(1)).unwrap_or(u64::MAX);
    Duration::from_nanos(hash % span)
}

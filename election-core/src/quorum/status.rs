//! What a node knows and does, for its operators.
//!
//! Everything is read from the state when somebody asks. No step pays for it.

use crate::{
    Epoch, Incarnation, Protocol, Tenure, Timestamp,
    quorum::{
        hindrance::{Hindrance, Refusal},
        machine::Quorum,
        maintenance::Maintenance,
        message::{Availability, Connection, Role},
        places::{Peer, PeerSet},
        position::Position,
        rules::survey::Survey,
        state::{
            peers::{Mask, View, bit},
            timers::Timer,
            voter::Eligibility,
        },
        wire::Dialect,
    },
};

/// What a node knows of itself; see [`Quorum::status`]. Instants are those of its own clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The role that it states.
    pub role: Role,
    /// What it says of its vote.
    pub availability: Availability,
    /// The epoch that binds it.
    pub promised: Epoch,
    /// Whom it has voted for in that epoch. Its own place may also mean that the vote is spent.
    pub voted_for: Option<Peer>,
    /// Whether both would survive a crash.
    pub is_durable: bool,
    /// Its leadership.
    pub tenure: Option<Tenure>,
    /// How many members vouch for that now, itself included; a majority must.
    pub supporters: usize,
    /// The number of votes that make a majority.
    pub majority: usize,
    /// The member that it supports, the epoch of that support, and when it ends unless the member is
    /// heard again.
    pub supports: Option<(Peer, Epoch, Timestamp)>,
    /// The end of the boot grace, if it is not over.
    pub boots_until: Option<Timestamp>,
    /// How far its data have come; of a witness, how far it has recorded that its primaries have.
    /// `None` if the application has not said.
    pub position: Option<Position>,
    /// When it next does something by itself.
    pub next_deadline: Option<Timestamp>,
    /// Why it does not ask for votes. `None` if it is about to.
    pub hindrance: Option<Hindrance>,
    /// The members with the odd list, as far as it can tell: itself, if its own ballot is of another
    /// one; otherwise those that it hears and that were given another one than itself.
    pub odd: PeerSet,
    /// Why it is not ready. `None` if it could vote now, were it free, and hears a majority that hears
    /// it and has the same list. Whoever restarts members one by one waits for that.
    pub unready: Option<Hindrance>,
}

/// What a node knows of the maintenance of its cluster; see [`Quorum::maintenance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaintenanceStatus {
    /// The agreed record.
    pub record: Maintenance,
    /// Whether automatic failover is paused: the record says so, and its time is not over.
    pub is_paused: bool,
    /// How many members are known to have recorded it, this node included. Once they are a majority,
    /// it holds whatever fails.
    pub recorded: usize,
    /// When the pause ends by itself; `None` if it has not been told to.
    pub ends: Option<Timestamp>,
    /// A newer record that is not agreed yet.
    pub proposed: Option<Maintenance>,
}

/// What a node knows of another member; see [`Quorum::peer_status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerStatus {
    /// The member.
    pub peer: Peer,
    /// Whether the member is a witness.
    pub is_witness: bool,
    /// What was last heard from it; `None` if it has never been heard.
    pub heard: Option<Heard>,
    /// Until when this node may trust in its support, if this node leads and the member has ever
    /// vouched for it.
    pub trusted_until: Option<Timestamp>,
    /// Why it would not vote for this node now. `None` if it would.
    pub refusal: Option<Refusal>,
}

/// What a node last heard from a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heard {
    /// When its last frame came in.
    pub at: Timestamp,
    /// Whether that is less than `down_after` ago, and one process runs under its id.
    pub is_fresh: bool,
    /// Whether its connection to this node is open, as far as the driver has reported. (The driver
    /// knows about the connection *to* it.)
    pub is_connected: bool,
    /// The protocol that it speaks.
    pub dialect: Dialect,
    /// Its life, if it says so.
    pub incarnation: Option<Incarnation>,
    /// The epoch that binds it.
    pub epoch: Epoch,
    /// Its role.
    pub role: Role,
    /// How far its data have come.
    pub position: Position,
    /// Whether it could vote; [`Availability::Free`] if it does not say.
    pub availability: Availability,
    /// Whether it hears this node; taken for granted if it does not say.
    pub hears_me: bool,
    /// Whether it has another list of members.
    pub differs: bool,
    /// The generation of its list; zero if it does not say.
    pub generation: u64,
    /// Whether it supports a node that this one does not hear: a primary, or a candidate that it has
    /// voted for. If that lasts, somebody leads and this node cannot know who. A peer that speaks
    /// only kevy-elect's protocol does not say.
    pub supports_unheard: bool,
}

impl Quorum {
    /// What this node knows of itself, at `now`. Costs nothing until it is called, and changes
    /// nothing; what has ended since the last step but was not judged by one counts as ended only
    /// where the fields say so by their instants.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> Status {
        let now = now.max(self.now);
        let (members, own) = (self.config.members(), PeerSet::default().with(self.me));
        let trusted = |peer: &Peer| self.trusted_until(*peer).is_some_and(|until| now < until);
        let support = self.support.as_ref();
        Status {
            role: self.role(),
            availability: self.readiness.availability,
            promised: self.voter.promised,
            voted_for: self.voter.voted_for,
            is_durable: self.voter.is_durable(),
            tenure: self.tenure(now),
            supporters: match self.leadership.lead() {
                Some(_) => {
                    let trusted = members.others().filter(trusted).fold(own, PeerSet::with);
                    trusted.intersection(members.list().voters).count()
                }
                None => 0,
            },
            majority: self.majority,
            supports: support
                .map(|support| (support.node, support.epoch, self.timers.at(Timer::Support))),
            boots_until: (!self.boot.is_over()).then(|| self.timers.at(Timer::Boot)),
            position: self.data.is_known().then(|| self.data.shown_to(true)),
            next_deadline: Some(self.plan()).filter(|next| *next < Timestamp::MAX),
            hindrance: self.hindrance(),
            odd: PeerSet::from_bits(self.odd(now)),
            unready: self.unready(),
        }
    }

    /// Why this node could not vote now, if it supported nobody, or is not among a majority that could.
    #[must_use]
    pub fn unready(&self) -> Option<Hindrance> {
        if self.withdrawn {
            return Some(Hindrance::Leaves);
        }
        if let Some(hindrance) = self.voteless() {
            return Some(hindrance);
        }
        if !self.data.is_known() {
            return Some(Hindrance::PositionUnknown);
        }
        if !self.voter.is_durable() {
            return Some(Hindrance::Saves);
        }
        let is_mutual = |view: &View| view.hears_me && !view.differs;
        let heard = self.peers.fresh(self.now).filter(|(_, view)| is_mutual(view)).count();
        let others = self.config.members().count() - 1;
        (1 + heard < self.majority).then_some(Hindrance::Apart { heard, others })
    }

    /// Why this node does not ask for votes now.
    pub(super) fn hindrance(&self) -> Option<Hindrance> {
        if let (true, Some(own)) = (self.leadership.is_none(), &self.candidacy) {
            return Some(Hindrance::Campaigns(own.epoch));
        }
        if let Some(hindrance) = self.barred() {
            return Some(hindrance);
        }
        let Survey { willing, electable, ahead } = self.survey();
        if electable {
            let until = self.timers.at(Timer::Campaign);
            return (self.now < until && until != Timestamp::MAX)
                .then_some(Hindrance::LetsOthersFirst { until });
        }
        Some(match ahead {
            Some(peer) => Hindrance::NewerData(peer),
            None => Hindrance::TooFewVotes { willing, needed: self.majority },
        })
    }

    /// The maintenance of the cluster; `None` if nobody has ever paused automatic failover, as far
    /// as this node knows.
    #[must_use]
    pub fn maintenance(&self) -> Option<MaintenanceStatus> {
        let (agreed, proposed) = (*self.failover.agreed(), self.failover.proposed().copied());
        if agreed.number == 0 && proposed.is_none() {
            return None;
        }
        let newest = agreed.held(true);
        let others = self.peers.0.iter().filter(|view| view.holds == newest).count();
        Some(MaintenanceStatus {
            record: agreed,
            is_paused: self.failover.is_paused(),
            recorded: usize::from(self.failover.is_recorded()) + others,
            ends: self.failover.ends(),
            proposed,
        })
    }

    fn odd(&self, now: Timestamp) -> Mask {
        if self.voter.eligibility == Eligibility::MembersChanged {
            return bit(self.me);
        }
        let members = self.config.members();
        let generation = members.list().generation;
        let is_odd = |(peer, view): &(Peer, &View)| {
            view.differs && view.lists.generation == generation && members.is_voter(*peer)
        };
        let differ = self.peers.fresh(now).filter(is_odd);
        differ.fold(0, |all, (peer, _)| all | bit(peer))
    }

    /// What this node knows of another member, at `now`. `None` for itself and for a place that the
    /// list does not have.
    #[must_use]
    pub fn peer_status(&self, peer: Peer, now: Timestamp) -> Option<PeerStatus> {
        let now = now.max(self.now);
        let view = self.peers.get(peer).filter(|_| peer != self.me)?;
        Some(PeerStatus {
            peer,
            is_witness: self.config.members().is_witness(peer),
            heard: view.was_heard().then(|| self.heard_from(view, now)),
            trusted_until: self.trusted_until(peer),
            refusal: self.refusal(peer, view),
        })
    }

    /// The open connection on which this node listens to a member. A driver that has to close one of
    /// several connections in a member's name closes another: see
    /// [`wire::driving`](super::wire::driving).
    #[must_use]
    pub fn listens_on(&self, peer: Peer) -> Option<Connection> {
        self.peers.get(peer)?.open_connection()
    }

    fn heard_from(&self, view: &View, now: Timestamp) -> Heard {
        Heard {
            at: view.fresh_until.before(self.config.timing.down_after),
            is_fresh: view.is_fresh(now),
            is_connected: !view.has_ended(),
            dialect: if view.is_extended() { Dialect::Extended } else { Dialect::Legacy },
            incarnation: view.incarnation,
            epoch: view.epoch,
            role: view.role,
            position: view.position,
            availability: view.availability,
            hears_me: view.hears_me,
            differs: view.differs,
            generation: view.lists.generation,
            supports_unheard: view.is_fresh(now) && self.is_unheard(view.echoes, now),
        }
    }

    /// Whether a life that is supported is neither this node's nor that of a peer that it hears.
    fn is_unheard(&self, echoed: Option<Incarnation>, now: Timestamp) -> bool {
        let is_heard = |life| self.peers.fresh(now).any(|(_, view)| view.incarnation == Some(life));
        echoed.is_some_and(|life| life != self.stamps.incarnation && !is_heard(life))
    }

    /// Until when this node may trust in a member's support.
    fn trusted_until(&self, peer: Peer) -> Option<Timestamp> {
        self.leadership.lead()?;
        let anchor = *self.trust.anchors.get(peer.index())?;
        let window = self.config.timing.window.saturating_sub(self.stamps.ahead);
        (anchor != Timestamp::ZERO).then(|| anchor.after(window))
    }
}

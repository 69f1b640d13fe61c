//! The state machine: the parts of its state, and what it says about itself.

use crate::{
    Alert, Epoch, Incarnation, Label, NodeId, Random, Tenure, Term, Timestamp,
    quorum::{
        config::Config,
        membership::Membership,
        message::Role,
        places::{Fingerprint, Peer},
        position::Position,
        state::{
            alerts::{Alerts, Published},
            asked::Asked,
            boot::Boot,
            ceiling::{self, Ceiling},
            data::Data,
            fail_back::FailBack,
            failover::Failover,
            leadership::{Candidacy, Lead, Leadership},
            lists::Lists,
            outbox::Outbox,
            peers::Peers,
            readiness::Readiness,
            stamps::Stamps,
            succession::Succession,
            support::{Following, Support},
            timers::{Timer, Timers},
            trust::Trust,
            voter::{Eligibility, Restored, Voter},
        },
    },
    random::hashed,
};

/// One node of a quorum election. See the [module](super) for the protocol.
///
/// A node that is its own majority shows the loop: perform the action, report its outcome, come back
/// at `wake_at`. ([`driving`](super::wire::driving) has three nodes, and their frames.)
///
/// ```
/// use election_core::{
///     Incarnation, Input, Label, NodeId, Protocol as _, Timestamp,
///     quorum::{Action, Config, Event, Position, Quorum, Restored},
/// };
///
/// let me = NodeId::new("n1")?;
/// let config = Config::builder(me.clone(), [me], Label::new("127.0.0.1:7401")?).build()?;
/// let life = Incarnation::from_random_bytes([7; 16]); // of the system's, at every start
/// let position = Some(Position::default()); // no data to compare
/// let mut node = Quorum::new(config, life, &Restored::Nothing, position, 0);
///
/// let (mut now, mut input) = (Timestamp::ZERO, Input::Tick);
/// while !node.is_leader(now) {
///     let step = node.step(now, input);
///     input = match step.action {
///         // Here: after the ballot has reached the disk.
///         Some(Action::Save(ballot)) => Input::Event(Event::Saved(ballot.promised)),
///         Some(Action::Send { .. }) | None => {
///             now = step.wake_at.unwrap_or(now); // the clock has come so far
///             Input::Tick
///         }
///     };
/// }
/// assert_eq!(node.tenure(now).map(|tenure| tenure.term.epoch.get()), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quorum {
    pub(crate) config: Config,
    pub(crate) me: Peer,
    pub(crate) majority: usize,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) random: Random,
    /// The latest time seen.
    pub(crate) now: Timestamp,
    pub(crate) started: bool,
    pub(crate) stamps: Stamps,
    pub(crate) timers: Timers,
    pub(crate) peers: Peers,
    pub(crate) voter: Voter,
    /// How far frames may lead its epochs, and the numbers of its records.
    pub(crate) ceiling: Ceiling,
    pub(crate) last_record: Ceiling,
    pub(crate) boot: Boot,
    pub(crate) support: Option<Support>,
    pub(crate) following: Option<Following>,
    pub(crate) candidacy: Option<Candidacy>,
    /// An offer that was refused, to be judged again.
    pub(crate) asked: Option<Asked>,
    /// How often in a row a primary that this node does not hear has deposed it.
    pub(crate) unseen: u32,
    /// Its trust ran out, and it has seen no primary since.
    pub(crate) forsaken: bool,
    pub(crate) leadership: Leadership,
    pub(crate) trust: Trust,
    pub(crate) lists: Lists,
    pub(crate) data: Data,
    pub(crate) healthy: bool,
    pub(crate) withdrawn: bool,
    /// The highest epoch heard of.
    pub(crate) seen: Epoch,
    /// A leadership that is over, whose work has not been reported stopped.
    pub(crate) unstopped: Option<Epoch>,
    /// Since when only its rank keeps this node from campaigning.
    pub(crate) eligible_since: Option<Timestamp>,
    pub(crate) succession: Succession,
    pub(crate) fail_back: FailBack,
    pub(crate) failover: Failover,
    pub(crate) outbox: Outbox,
    pub(crate) readiness: Readiness,
    pub(crate) published: Published,
    pub(crate) alerts: Alerts,
}

impl Quorum {
    /// A node that has just started, with what its ballot file held.
    ///
    /// `incarnation` must be new for every start. `seed` and the incarnation decide every back-off;
    /// outside tests, zero will do.
    /// The boot grace counts from the first step.
    ///
    /// `position` is how far the node's data have come. `None` says that the application does not
    /// know yet, for instance because it still reads its log. The node then neither votes nor
    /// campaigns until [`Event::Position`](super::Event::Position) says it, and tells the others so.
    /// Do not guess: a node that passes a position before its data's could elect older data, and
    /// acknowledged writes would be lost. An application without data passes
    /// `Some(Position::default())`. A witness has no data, and its `position` means nothing.
    #[must_use]
    pub fn new(
        config: Config,
        incarnation: Incarnation,
        restored: &Restored,
        position: Option<Position>,
        seed: u64,
    ) -> Self {
        let (high, low) = incarnation.get().as_u64_pair();
        let (config, lists) = config.restored(restored);
        let members = config.members();
        let mut voter = Voter::new(members, config.new_peers(), restored);
        let recorded = match restored {
            Restored::Ballot(ballot) => ballot.floor,
            Restored::Nothing | Restored::Unusable => Position::default(),
        };
        let accepts_loss = config.accepts_loss() && recorded != Position::default();
        let recorded = if accepts_loss { Position::default() } else { recorded };
        if accepts_loss {
            voter.renew();
        }
        let is_witness = members.is_witness(members.me());
        let floor = if is_witness { Position::default() } else { recorded };
        let data = if is_witness { Data::of_witness(recorded) } else { Data::new(position) };
        let ineligible = match voter.eligibility {
            Eligibility::Eligible => None,
            Eligibility::BallotUnusable => Some(Alert::BallotUnusable),
            Eligibility::MembersChanged => Some(Alert::MembersChanged),
        };
        let failover = Failover::new(match restored {
            // In another list, its places would mean other members.
            Restored::Ballot(ballot) if ballot.members == members.fingerprint() => {
                (ballot.maintenance, ballot.pause)
            }
            Restored::Ballot(_) | Restored::Nothing | Restored::Unusable => Default::default(),
        });
        // As if it had heard of the epoch before: it campaigns for a higher one.
        let seen = voter.promised.max(config.min_epoch.before());
        Self {
            me: members.me(),
            majority: members.quorum(),
            fingerprint: members.fingerprint(),
            random: Random::new(seed ^ hashed(high) ^ hashed(low).rotate_left(32)),
            now: Timestamp::ZERO,
            started: false,
            stamps: Stamps::new(incarnation),
            timers: Timers::new(),
            peers: Peers::new(members),
            boot: Boot::new(members, restored, floor),
            seen,
            ceiling: Ceiling::new(seen.get(), ceiling::EPOCHS),
            last_record: Ceiling::new(failover.agreed().number.into(), ceiling::RECORDS),
            voter,
            support: None,
            following: None,
            candidacy: None,
            asked: None,
            unseen: 0,
            forsaken: false,
            leadership: Leadership::None,
            trust: Trust::new(members),
            lists: Lists::new(lists),
            data,
            healthy: true,
            withdrawn: false,
            unstopped: None,
            eligible_since: None,
            succession: Succession::default(),
            fail_back: FailBack::default(),
            failover,
            outbox: Outbox::default(),
            readiness: Readiness::new(),
            published: Published::Nothing,
            alerts: Alerts::new(ineligible),
            config,
        }
    }

    /// The members and the timing.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The lists of members that this node has recorded. [`Config::members`] has the one in force.
    #[must_use]
    pub fn lists(&self) -> &Membership {
        self.lists.recorded()
    }

    /// This life of the node.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.stamps.incarnation
    }

    /// The epoch this node is bound to. It accepts no lower one.
    #[must_use]
    pub fn promised(&self) -> Epoch {
        self.voter.promised
    }

    /// The role that this node states in its heartbeats.
    #[must_use]
    pub fn role(&self) -> Role {
        match (&self.leadership, &self.candidacy) {
            (Leadership::Leading(_) | Leadership::Draining(_), _) => Role::Primary,
            (Leadership::None, Some(candidacy)) if candidacy.open => Role::Candidate,
            (Leadership::None, _) => Role::Replica,
        }
    }

    /// The member this node supports now, and for which epoch. It votes for nobody else.
    #[must_use]
    pub fn supported(&self) -> Option<(Peer, Epoch)> {
        self.support.as_ref().map(|support| (support.node, support.epoch))
    }

    /// The leadership that this node follows, with the announced address. `None` while this node
    /// leads or knows no primary.
    #[must_use]
    pub fn followed(&self) -> Option<(Term, Option<Label>)> {
        let followed = self.following.as_ref()?;
        Some((self.term(followed.token, followed.primary)?, followed.label.clone()))
    }

    /// The epoch whose leader work was told to stop but has not been reported stopped.
    #[must_use]
    pub fn draining(&self) -> Option<Epoch> {
        let drained =
            self.leadership.drain().filter(|drain| !drain.stopped).map(|drain| drain.token);
        drained.or(self.unstopped)
    }

    pub(crate) fn believed(&self, now: Timestamp) -> Option<&Lead> {
        let now = now.max(self.now);
        self.leadership.lead().filter(|_| now < self.timers.at(Timer::Belief))
    }

    pub(crate) fn tenure_of(&self, lead: &Lead) -> Option<Tenure> {
        Some(Tenure {
            term: self.term(lead.token, self.me)?,
            since: lead.since,
            until: self.timers.at(Timer::Belief),
            stop_by: lead.trusted_until,
        })
    }

    pub(crate) fn name(&self, peer: Peer) -> Option<NodeId> {
        self.config.members().id(peer).cloned()
    }

    pub(crate) fn term(&self, epoch: Epoch, leader: Peer) -> Option<Term> {
        Some(Term { epoch, leader: self.name(leader)? })
    }

    /// Whether this node leads, drains, or supports another.
    pub(crate) fn is_bound(&self) -> bool {
        !self.leadership.is_none() || self.support.is_some()
    }

    /// Whether this node looks for a primary, or wants to be one.
    #[inline]
    pub(crate) fn is_seeking(&self) -> bool {
        self.leadership.is_none() && self.support.is_none()
    }

    /// Whether this node still holds its ended leadership, but must neither keep the others out any
    /// longer nor let them in yet.
    pub(crate) fn is_silent(&self) -> bool {
        self.timers.has_passed(Timer::Silence, self.now)
    }
}

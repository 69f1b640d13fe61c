//! The state machine: its state, and what a step does in which order.

use super::{
    alerts::{Alerts, Published},
    boot::Boot,
    config::Config,
    leadership::{Candidacy, Lead, Leadership},
    members::{Fingerprint, Peer},
    message::{Action, Availability, Event, Role},
    peers::{Mask, Peers},
    position::Position,
    support::{Following, Nomination, Support},
    trust::Trust,
    voter::{Disclosure, Eligibility, Restored, Voter},
};
use crate::{
    Change, Epoch, Fault, Incarnation, Input, Label, Loss, Protocol, Random, Step, Tenure, Term,
    Timestamp, random::hashed,
};

/// One node of a quorum election. See the [module](super) for the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quorum {
    pub(super) config: Config,
    pub(super) me: Peer,
    pub(super) majority: usize,
    pub(super) fingerprint: Fingerprint,
    pub(super) incarnation: Incarnation,
    pub(super) random: Random,
    /// The latest time seen.
    pub(super) now: Timestamp,
    pub(super) started: bool,
    /// No deadline passes before this instant.
    pub(super) wake_at: Timestamp,
    /// The newest stamp given, and how far stamps have ever run ahead of the clock: two frames
    /// of one instant still need two stamps.
    pub(super) stamped: Timestamp,
    pub(super) ahead: u64,
    pub(super) peers: Peers,
    pub(super) voter: Voter,
    pub(super) boot: Boot,
    pub(super) support: Option<Support>,
    pub(super) following: Option<Following>,
    pub(super) candidacy: Option<Candidacy>,
    pub(super) leadership: Leadership,
    pub(super) trust: Trust,
    pub(super) position: Position,
    /// Whether the data is known to be a continuation of some primary's. Until then its length
    /// must not impress peers that know nothing of histories.
    pub(super) resynced: bool,
    pub(super) healthy: bool,
    pub(super) withdrawn: bool,
    /// The highest epoch heard of.
    pub(super) seen: Epoch,
    /// A leadership that is over whose work has not been reported stopped.
    pub(super) unstopped: Option<Epoch>,
    /// No campaign before this instant, after a candidacy that failed.
    pub(super) backoff_until: Timestamp,
    /// No campaign before this instant, after a resignation.
    pub(super) stay_out_until: Timestamp,
    /// Since when a campaign waits only for its rank.
    pub(super) eligible_since: Option<Timestamp>,
    /// Since when there has been no live primary.
    pub(super) vacant_since: Timestamp,
    /// Whom the last primary wants to be followed by.
    pub(super) nomination: Option<Nomination>,
    /// Whom this node, having led, wants to be followed by.
    pub(super) nominates: Option<Peer>,
    /// Whose offer is to be accepted.
    pub(super) accept: Option<Peer>,
    /// Who is owed a heartbeat: its offer is refused, or it is heard for the first time.
    pub(super) answer: Mask,
    /// When the next heartbeat to everybody is due.
    pub(super) heartbeat_at: Timestamp,
    /// The others have to hear that this node has stepped down before it may go.
    pub(super) farewell: bool,
    /// Whether it could give its vote when that was last looked at.
    pub(super) availability: Availability,
    pub(super) disclosure: Disclosure,
    pub(super) published: Published,
    pub(super) alerts: Alerts,
}

impl Quorum {
    /// A node that has just started, with what was found where its ballot is kept.
    ///
    /// `incarnation` must be new for every start. `seed` decides every back-off; the incarnation
    /// is mixed in. The grace of starting counts from the first step.
    #[must_use]
    pub fn new(config: Config, incarnation: Incarnation, restored: &Restored, seed: u64) -> Self {
        let (high, low) = incarnation.get().as_u64_pair();
        let members = config.members();
        let voter = Voter::new(members, config.new_peers(), restored);
        let ineligible = match voter.eligibility {
            Eligibility::Eligible => None,
            Eligibility::BallotUnusable => Some(Fault::BallotUnusable),
            Eligibility::MembersChanged => Some(Fault::MembersChanged),
        };
        Self {
            me: members.me(),
            majority: members.quorum(),
            fingerprint: members.fingerprint(),
            incarnation,
            random: Random::new(seed ^ hashed(high) ^ hashed(low).rotate_left(32)),
            now: Timestamp::ZERO,
            started: false,
            wake_at: Timestamp::ZERO,
            stamped: Timestamp::ZERO,
            ahead: 0,
            peers: Peers::new(members),
            boot: Boot::new(members, restored),
            seen: voter.promised,
            voter,
            support: None,
            following: None,
            candidacy: None,
            leadership: Leadership::None,
            trust: Trust::new(members.count(), members.quorum()),
            position: Position::default(),
            resynced: false,
            healthy: true,
            withdrawn: false,
            unstopped: None,
            backoff_until: Timestamp::ZERO,
            stay_out_until: Timestamp::ZERO,
            eligible_since: None,
            vacant_since: Timestamp::ZERO,
            nomination: None,
            nominates: None,
            accept: None,
            answer: 0,
            heartbeat_at: Timestamp::ZERO,
            farewell: false,
            availability: Availability::Waiting,
            disclosure: Disclosure::Told,
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

    /// This life of the node.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The epoch this node is bound to: it accepts nothing lower.
    #[must_use]
    pub fn promised(&self) -> Epoch {
        self.voter.promised
    }

    /// What this node says of itself in its heartbeats.
    #[must_use]
    pub fn role(&self) -> Role {
        match (&self.leadership, &self.candidacy) {
            (Leadership::Leading(_) | Leadership::Draining(_), _) => Role::Primary,
            (Leadership::None, Some(candidacy)) if candidacy.open => Role::Candidate,
            (Leadership::None, _) => Role::Replica,
        }
    }

    /// The member this node supports at the moment, and for which epoch: it votes for nobody else.
    #[must_use]
    pub fn supported(&self) -> Option<(Peer, Epoch)> {
        self.support.as_ref().map(|support| (support.node, support.epoch))
    }

    /// The leadership that this node follows, with the address that was announced. `None` while
    /// this node leads or nobody is known to.
    #[must_use]
    pub fn followed(&self) -> Option<(Term, Option<Label>)> {
        let followed = self.following.as_ref()?;
        Some((self.term(followed.term, followed.primary)?, followed.label.clone()))
    }

    /// The epoch whose leader work has been told to stop and not yet been reported stopped.
    #[must_use]
    pub fn draining(&self) -> Option<Epoch> {
        let drained =
            self.leadership.drain().filter(|drain| !drain.stopped).map(|drain| drain.token);
        drained.or(self.unstopped)
    }

    pub(super) fn tenure_of(&self, lead: &Lead) -> Option<Tenure> {
        Some(Tenure {
            term: self.term(lead.token, self.me)?,
            until: lead.until,
            stop_by: lead.trusted_until,
        })
    }

    fn believed(&self, now: Timestamp) -> Option<&Lead> {
        let now = now.max(self.now);
        self.leadership.lead().filter(|lead| now < lead.until)
    }

    /// Everything whose time is over, before anything new is looked at: what has ended must not
    /// be revived by a frame that came too late.
    fn expire(&mut self) -> Option<Change> {
        let now = self.now;
        if !self.started {
            self.started = true;
            self.boot.begin(now, self.config.timing.boot);
            self.heartbeat_at = now;
            self.vacant_since = now;
        }
        let change = match &self.leadership {
            Leadership::Leading(lead) if lead.until <= now => {
                self.end_belief(Loss::Expired, None, None)
            }
            _ => None,
        };
        if self.leadership.drain().is_some_and(|drain| drain.over_at <= now) {
            self.step_down();
        }
        if self.support.is_some_and(|support| support.until <= now) {
            self.lose_support();
        }
        self.following.take_if(|following| following.until <= now);
        let timeout = self.config.timing.election_timeout;
        let offered = self.candidacy.as_ref().and_then(|candidacy| candidacy.offered);
        if offered.is_some_and(|offered| offered.after(timeout) <= now) {
            self.end_candidacy();
        }
        change
    }

    /// Nobody is supported any more: the others are told at once that this node is free.
    pub(super) fn lose_support(&mut self) {
        self.support = None;
        self.vacant_since = self.now;
        if self.leadership.is_none() {
            self.heartbeat_at = self.now;
        }
    }

    fn handle(&mut self, input: &Input<Event>) -> Option<Change> {
        match input {
            Input::Tick => None,
            Input::Event(Event::Received { from, connection, message }) => {
                self.received(*from, *connection, message)
            }
            Input::Event(Event::Disconnected { from, connection }) => {
                if let Some(view) = self.peers.get_mut(*from) {
                    view.disconnected(*connection);
                }
                None
            }
            Input::Event(Event::Saved(epoch)) => self.saved(*epoch),
            Input::Event(Event::SaveFailed(epoch)) => {
                let again = self.now.after(self.config.timing.hb_interval);
                if self.voter.save_failed(*epoch, again) {
                    self.alerts.save_failed(*epoch);
                }
                None
            }
            Input::Event(Event::Position(position)) => {
                self.moved(*position);
                None
            }
            Input::Event(Event::Health(healthy)) => self.health(*healthy),
            Input::Event(Event::HandOver(to)) => {
                let other = *to != self.me && self.peers.get(*to).is_some();
                if other { self.end_belief(Loss::Resigned, Some(*to), None) } else { None }
            }
            Input::Resign => self.resign(),
            Input::Stopped(epoch) => {
                self.stopped(*epoch);
                None
            }
            Input::Withdraw => self.withdraw(),
        }
    }

    fn moved(&mut self, position: Position) {
        // A primary that steps down in this node's favour waits for exactly this.
        if position != self.position && self.is_nominated() {
            self.heartbeat_at = self.now;
        }
        self.position = position;
    }
}

impl Protocol for Quorum {
    type Event = Event;
    type Action = Action;

    #[inline] // for the callers that ask more often than there is something to do
    fn step(&mut self, now: Timestamp, input: Input<Event>) -> Step<Action> {
        self.now = self.now.max(now);
        let due = self.wake_at <= self.now;
        if !due && matches!(input, Input::Tick) {
            return Step { change: None, action: None, wake_at: self.next_wake() };
        }
        self.step_on(due, &input)
    }

    fn tenure(&self, now: Timestamp) -> Option<Tenure> {
        self.believed(now).and_then(|lead| self.tenure_of(lead))
    }

    fn is_leader(&self, now: Timestamp) -> bool {
        self.believed(now).is_some()
    }

    fn is_finished(&self) -> bool {
        self.withdrawn && self.leadership.is_none() && self.unstopped.is_none() && !self.farewell
    }
}

impl Quorum {
    fn step_on(&mut self, due: bool, input: &Input<Event>) -> Step<Action> {
        let change = self.take_in(due, input);
        let action = self.act();
        self.wake_at = self.plan();
        Step { change, action, wake_at: self.next_wake() }
    }

    /// Everything about a step but what it does next.
    fn take_in(&mut self, due: bool, input: &Input<Event>) -> Option<Change> {
        let expired = if due { self.expire() } else { None };
        let handled = self.handle(input);
        debug_assert!(expired.is_none() || handled.is_none(), "one change a step");
        self.settle();
        // A change is large and rare: it is moved only where there is one.
        if expired.is_some() {
            return expired;
        }
        if handled.is_some() {
            return handled;
        }
        self.owed_change()
    }

    fn next_wake(&self) -> Option<Timestamp> {
        (self.wake_at < Timestamp::MAX).then_some(self.wake_at)
    }
}

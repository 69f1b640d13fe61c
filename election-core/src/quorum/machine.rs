//! The state machine: its state, what ends by itself, and which part takes which input.

use super::{
    alerts::{Alerts, Published},
    boot::Boot,
    ceiling::{self, Ceiling},
    config::Config,
    data::Data,
    fail_back::FailBack,
    leadership::{Candidacy, Lead, Leadership},
    legacy::Asked,
    members::{Fingerprint, Peer},
    message::{Action, Event, Role},
    outbox::Outbox,
    peers::Peers,
    position::Position,
    readiness::Readiness,
    routine::Routine,
    stamps::Stamps,
    succession::Succession,
    support::{Following, Support},
    timers::{Timer, Timers},
    trust::Trust,
    upkeep::Upkeep,
    voter::{Eligibility, Restored, Voter},
};
use crate::{
    Alert, Change, Epoch, Incarnation, Input, Label, Loss, Protocol, Random, Step, Tenure, Term,
    Timestamp, random::hashed,
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
    pub(super) config: Config,
    pub(super) me: Peer,
    pub(super) majority: usize,
    pub(super) fingerprint: Fingerprint,
    pub(super) random: Random,
    /// The latest time seen.
    pub(super) now: Timestamp,
    pub(super) started: bool,
    /// No deadline passes before this instant.
    pub(super) wake_at: Timestamp,
    pub(super) routine: Routine,
    pub(super) stamps: Stamps,
    pub(super) timers: Timers,
    pub(super) peers: Peers,
    pub(super) voter: Voter,
    /// How far frames may lead its epochs, and the numbers of its records.
    pub(super) ceiling: Ceiling,
    pub(super) last_record: Ceiling,
    pub(super) boot: Boot,
    pub(super) support: Option<Support>,
    pub(super) following: Option<Following>,
    pub(super) candidacy: Option<Candidacy>,
    /// An offer that was refused, to be judged again.
    pub(super) asked: Option<Asked>,
    /// How often in a row a primary that this node does not hear has deposed it.
    pub(super) unseen: u32,
    /// Its trust ran out, and it has seen no primary since.
    pub(super) forsaken: bool,
    pub(super) leadership: Leadership,
    pub(super) trust: Trust,
    pub(super) data: Data,
    pub(super) healthy: bool,
    pub(super) withdrawn: bool,
    /// The highest epoch heard of.
    pub(super) seen: Epoch,
    /// A leadership that is over, whose work has not been reported stopped.
    pub(super) unstopped: Option<Epoch>,
    /// Since when only its rank keeps this node from campaigning.
    pub(super) eligible_since: Option<Timestamp>,
    pub(super) succession: Succession,
    pub(super) fail_back: FailBack,
    pub(super) upkeep: Upkeep,
    pub(super) outbox: Outbox,
    pub(super) readiness: Readiness,
    pub(super) published: Published,
    pub(super) alerts: Alerts,
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
    /// campaigns until [`Event::Position`] says it, and tells the others so. Do not guess: a node
    /// that passes a position before its data's could elect older data, and acknowledged writes
    /// would be lost. An application without data passes `Some(Position::default())`. A witness has
    /// no data, and its `position` means nothing.
    #[must_use]
    pub fn new(
        config: Config,
        incarnation: Incarnation,
        restored: &Restored,
        position: Option<Position>,
        seed: u64,
    ) -> Self {
        let (high, low) = incarnation.get().as_u64_pair();
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
        let upkeep = Upkeep::new(match restored {
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
            wake_at: Timestamp::ZERO,
            routine: Routine::None,
            stamps: Stamps::new(incarnation),
            timers: Timers::new(),
            peers: Peers::new(members),
            boot: Boot::new(members, restored, floor),
            seen,
            ceiling: Ceiling::new(seen.get(), ceiling::EPOCHS),
            last_record: Ceiling::new(upkeep.agreed().number.into(), ceiling::RECORDS),
            voter,
            support: None,
            following: None,
            candidacy: None,
            asked: None,
            unseen: 0,
            forsaken: false,
            leadership: Leadership::None,
            trust: Trust::new(members.count(), members.quorum()),
            data,
            healthy: true,
            withdrawn: false,
            unstopped: None,
            eligible_since: None,
            succession: Succession::default(),
            fail_back: FailBack::new(),
            upkeep,
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

    pub(super) fn tenure_of(&self, lead: &Lead) -> Option<Tenure> {
        Some(Tenure {
            term: self.term(lead.token, self.me)?,
            since: lead.since,
            until: self.timers.at(Timer::Belief),
            stop_by: lead.trusted_until,
        })
    }

    fn believed(&self, now: Timestamp) -> Option<&Lead> {
        let now = now.max(self.now);
        self.leadership.lead().filter(|_| now < self.timers.at(Timer::Belief))
    }

    /// Ends everything whose time is over, before the step looks at its input: a frame that came
    /// too late must not revive what has ended.
    pub(super) fn expire(&mut self) -> Option<Change> {
        if !self.started {
            self.start();
        }
        let mut change = None;
        Timer::each(|timer| {
            if self.timers.has_passed(timer, self.now) {
                self.passed(timer, &mut change);
            }
        });
        change
    }

    #[inline(always)]
    fn passed(&mut self, timer: Timer, change: &mut Option<Change>) {
        match timer {
            Timer::Belief => *change = self.end_belief(Loss::Expired, None, None),
            Timer::Drain => self.step_down(),
            Timer::Support => self.lose_support(),
            Timer::Primary => self.forget_primary(),
            Timer::Candidacy => self.end_candidacy(),
            Timer::Errand => {
                let news = self.run_errands();
                if news.is_some() {
                    *change = news;
                }
            }
            Timer::Asked => {
                self.asked = None;
                self.timers.stop(Timer::Asked);
            }
            // `settle` looks at these timers,
            Timer::Boot | Timer::Patience => {}
            Timer::Backoff | Timer::StayOut | Timer::Campaign => {}
            // and `act` at these.
            Timer::Save | Timer::Offer | Timer::Heartbeat => {}
            Timer::Silence | Timer::Announce => {}
        }
    }

    fn start(&mut self) {
        self.started = true;
        self.timers.set(Timer::Boot, self.now.after(self.config.timing.boot));
        self.timers.set(Timer::Heartbeat, self.now);
        self.be_patient();
        self.plan_the_end();
    }

    /// There is no live primary from now on. Gives an election its time.
    pub(super) fn be_patient(&mut self) {
        let since = if self.boot.is_over() { self.now } else { self.timers.at(Timer::Boot) };
        let patience = self.config.timing.election_timeout;
        self.timers.set(Timer::Patience, self.now.max(since).after(patience));
    }

    /// This node supports nobody any more. It tells the others at once that it is free.
    pub(super) fn lose_support(&mut self) {
        self.support = None;
        self.timers.stop(Timer::Support);
        self.be_patient();
        if self.leadership.is_none() {
            self.timers.set(Timer::Heartbeat, self.now);
        }
    }

    /// This node follows nobody any more.
    pub(super) fn forget_primary(&mut self) {
        self.following = None;
        self.timers.stop(Timer::Primary);
    }

    pub(super) fn handle(&mut self, input: &Input<Event>) -> Option<Change> {
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
                if self.voter.save_failed(*epoch) {
                    self.timers.set(Timer::Save, again);
                    self.alerts.save_failed(*epoch);
                }
                None
            }
            Input::Event(Event::Position(position)) => {
                self.moved(*position);
                None
            }
            Input::Event(Event::Health(healthy)) => self.health(*healthy),
            Input::Event(Event::HandOver(to)) => self.hand_over(*to),
            Input::Event(Event::Pause(lasts)) => {
                self.pause(*lasts);
                None
            }
            Input::Event(Event::Resume) => {
                self.resume();
                None
            }
            Input::Event(Event::WallClock(time)) => {
                self.wall_clock_reads(*time);
                None
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
        // A primary that steps down in this node's favour waits for this.
        if position != self.data.position() && self.succession.names(self.me) {
            self.timers.set(Timer::Heartbeat, self.now);
        }
        self.data.report(position);
    }
}

impl Protocol for Quorum {
    type Event = Event;
    type Action = Action;

    #[inline(always)] // a tick or frame is not moved, and its kind is known where it comes from
    fn step(&mut self, now: Timestamp, input: Input<Event>) -> Step<Action> {
        let step = match &input {
            Input::Tick => self.tick(now),
            Input::Event(Event::Received { from, connection, message }) => {
                self.hear(now, *from, *connection, message)
            }
            other => {
                let due = self.advance(now);
                return self.step_on(due, |node| node.handle(other));
            }
        };
        step.unwrap_or_else(|| self.nothing())
    }

    fn tenure(&self, now: Timestamp) -> Option<Tenure> {
        self.believed(now).and_then(|lead| self.tenure_of(lead))
    }

    fn is_leader(&self, now: Timestamp) -> bool {
        self.believed(now).is_some()
    }

    fn is_finished(&self) -> bool {
        self.withdrawn
            && self.leadership.is_none()
            && self.unstopped.is_none()
            && !self.outbox.farewell
    }
}

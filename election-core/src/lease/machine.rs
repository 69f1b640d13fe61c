//! The state machine: its state, and the order of things within a step.

use super::{
    config::{Config, Role},
    flight::{Flight, Kind},
    leadership::{Kept, Lead, Leadership, Release, StayOut},
    message::{Action, Event, Failure},
    polls::Polls,
    sweep::Sweep,
    timers::{Timer, Timers},
    view::{Published, View},
};
use crate::{
    Candidate, Change, Epoch, Input, Label, Loss, Protocol, Random, Step, Tenure, Term, Timestamp,
    random::hashed,
};
use core::time::Duration;

/// One process's side of a lease election. See the [module](super) for the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    pub(super) config: Config,
    pub(super) candidate: Candidate,
    pub(super) random: Random,
    /// The latest time seen.
    pub(super) now: Timestamp,
    pub(super) leadership: Leadership,
    pub(super) release: Option<Release>,
    /// The newest term that was led, if leases last for a least time.
    pub(super) kept: Option<Kept>,
    /// The highest epoch that any answer has named. Every attempt carries it, so that an epoch that
    /// this process wins is above it even if the database has lost it. Notifications do not count:
    /// anybody may send one.
    pub(super) seen: Epoch,
    /// This process never leads (again) under an epoch up to this one.
    pub(super) retired: Epoch,
    pub(super) view: Option<View>,
    pub(super) published: Published,
    pub(super) stay_out: StayOut,
    pub(super) healthy: bool,
    pub(super) withdrawn: bool,
    pub(super) flight: Option<Flight>,
    pub(super) polls: Polls,
    /// Whether this process may be on the list of candidates.
    pub(super) listed: bool,
    pub(super) sweep: Sweep,
    pub(super) timers: Timers,
    pub(super) tickets: u64,
}

impl Lease {
    /// A follower that will campaign at its first step (unless it is an observer).
    ///
    /// `seed` decides every jitter. The incarnation is mixed in, so that processes started from
    /// one configuration file do not poll in step: outside tests, zero will do.
    #[must_use]
    pub fn new(config: Config, candidate: Candidate, seed: u64) -> Self {
        let (high, low) = candidate.incarnation.get().as_u64_pair();
        Self {
            random: Random::new(seed ^ hashed(high) ^ hashed(low).rotate_left(32)),
            candidate,
            now: Timestamp::ZERO,
            leadership: Leadership::None,
            release: None,
            kept: None,
            seen: config.min_epoch.before(),
            retired: Epoch::NONE,
            view: None,
            published: Published::Nothing,
            stay_out: StayOut::No,
            healthy: true,
            withdrawn: false,
            flight: None,
            polls: Polls::default(),
            listed: false,
            sweep: Sweep::Due,
            timers: Timers::new(),
            tickets: 0,
            config,
        }
    }

    /// The timing.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// This process.
    #[must_use]
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// The leadership that this process follows and what the leader published about itself, as of
    /// the last answer. `None` while this process leads or knows no leader.
    #[must_use]
    pub fn followed(&self) -> Option<(Term, Option<Label>)> {
        let row = &self.view.as_ref()?.row;
        match self.published {
            Published::Followed(epoch) if epoch == row.epoch => {
                let label = row.live_holder().and_then(|holder| holder.label.clone());
                Some((row.live_term()?, label))
            }
            _ => None,
        }
    }

    /// When [the leadership that this process follows](Self::followed) began, in milliseconds since
    /// 1970 by the database's clock.
    #[must_use]
    pub fn followed_since(&self) -> Option<i64> {
        self.followed()?;
        self.view.as_ref()?.row.elected_ms
    }

    /// Behind a failover of the database: when every lease must have ended that an earlier history can
    /// have granted. Nobody is elected before. `None` if a leader is known, or if nothing of that kind
    /// is waited for any more.
    #[must_use]
    pub fn opens_at(&self) -> Option<Timestamp> {
        let vacant = |view: &&View| view.row.live_holder().is_none();
        let view = self.view.as_ref().filter(vacant)?;
        (self.now < view.opens_at).then_some(view.opens_at)
    }

    /// The epoch whose leader work was told to stop but has not been reported stopped.
    #[must_use]
    pub fn draining(&self) -> Option<Epoch> {
        self.leadership.epoch().filter(|_| self.leadership.is_draining())
    }

    /// The newest own epoch that may still be in the row: led, drained, or being released.
    #[must_use]
    pub fn unreleased(&self) -> Option<Epoch> {
        self.leadership.epoch().max(self.release.as_ref().map(|release| release.epoch))
    }

    /// The own term that is over, or is about to be, and whose lease has to last on; and for how
    /// long at least, as of the latest step. Always `None` without
    /// [`Config::at_least_for`].
    #[must_use]
    pub fn kept(&self) -> Option<(Epoch, Duration)> {
        let kept = self.kept.as_ref().filter(|_| self.leadership.lead().is_none())?;
        let rest = kept.rest(&self.config, self.now);
        (!rest.is_zero()).then_some((kept.epoch, rest))
    }

    /// Whether this process would lead a term that it takes now.
    pub(super) fn may_lead(&self) -> bool {
        self.config.role == Role::Candidate
            && self.healthy
            && !self.withdrawn
            && self.release.is_none()
            && self.leadership == Leadership::None
            && self.stay_out.is_over(self.now)
    }

    /// Ends belief. Work has until `stop_by`. Then the term is released, unless it was replaced.
    pub(super) fn end_belief(&mut self, reason: Loss, successor: Option<Term>) -> Option<Change> {
        let lead = self.leadership.lead()?;
        let (epoch, trust_until, ordinal) = (lead.epoch, lead.trust_until, lead.ordinal);
        if let Some(kept) = &mut self.kept {
            kept.ordinal = ordinal;
        }
        let gone = reason == Loss::Replaced;
        let stop_by = if gone { self.now } else { trust_until.min(self.now + self.config.grace) };
        self.retire(epoch);
        let release = (!gone).then_some(trust_until + self.config.margin);
        self.leadership = Leadership::Draining { epoch, release };
        self.timers.stop(Timer::Belief);
        self.timers.stop(Timer::Renew);
        self.published = match &successor {
            Some(term) => Published::Followed(term.epoch),
            None => Published::Vacant,
        };
        if matches!(reason, Loss::Resigned | Loss::ResignRequested) {
            self.stay_out = StayOut::UntilConfirmed;
        }
        // A renewal in flight is about a term that nobody believes in any more.
        if self.flight.as_ref().is_some_and(|flight| flight.kind == Kind::Renew) {
            self.take_flight();
        }
        // A leader looks at the row only when woken. Do not put off a look that is still to come.
        self.timers
            .advance(Timer::Poll, if gone { self.now } else { self.now + self.config.interval });
        let leader = self.candidate.id.clone();
        Some(Change::Lost { term: Term { epoch, leader }, reason, stop_by, successor })
    }

    /// Begins to lead a term that the database has granted, if there is enough time left.
    pub(super) fn begin_belief(
        &mut self,
        epoch: Epoch,
        asked: Timestamp,
        remaining: Duration,
        ordinal: u64,
    ) -> Option<Change> {
        let trust_until = (asked + remaining.min(self.config.ttl)) - self.config.margin;
        // A term that was found late has little time left: extend it first.
        let renew_at = if remaining < self.config.ttl { self.now } else { self.next_turn(asked) };
        let until = self.belief_until(trust_until);
        // An epoch below the known ones: the database has lost newer terms and gives out their
        // numbers again, or shows an old row.
        let known = self.seen.max(self.retired.after());
        if !self.may_lead() || epoch < known || self.now >= until {
            self.vacate(epoch);
            return None;
        }
        let lead = Lead { epoch, since: self.now, trust_until, ordinal, failures: 0 };
        let keeps = !self.config.at_least_for.is_zero();
        self.kept = keeps.then_some(Kept { epoch, since: self.now, ordinal, is_cut: false });
        self.timers.set(Timer::Belief, until);
        self.timers.set(Timer::Renew, renew_at);
        let tenure = self.tenure_of(&lead);
        self.leadership = Leadership::Leading(lead);
        self.stay_out = StayOut::No;
        self.published = Published::Own;
        self.view = None;
        self.polls.failures = 0;
        self.plan_no_poll(asked);
        Some(Change::Elected(tenure))
    }

    /// Retires a term of this process that nobody will lead any more, and gives it back. Its lease was
    /// granted before now, so it ends within a ttl.
    pub(super) fn vacate(&mut self, epoch: Epoch) {
        self.give_back(epoch, self.now + self.config.ttl);
    }

    /// Gives a term back whose lease ends by itself at `until`: at once, or as soon as its lease need
    /// not last any longer.
    fn give_back(&mut self, epoch: Epoch, until: Timestamp) {
        self.retire(epoch);
        if self.kept_of(epoch).is_some_and(|(kept, _)| kept.is_cut) {
            return;
        }
        if self.release.as_ref().is_none_or(|release| release.epoch < epoch) {
            self.release = Some(Release { epoch, until, pause: Duration::ZERO });
            self.timers.set(Timer::Resign, self.now);
        }
    }

    /// What is known of this term, and how long its lease has to last on, if it has to.
    pub(super) fn kept_of(&mut self, epoch: Epoch) -> Option<(&mut Kept, Duration)> {
        let kept = self.kept.as_mut().filter(|kept| kept.epoch == epoch)?;
        let rest = kept.rest(&self.config, self.now);
        (!rest.is_zero()).then_some((kept, rest))
    }

    pub(super) fn retire(&mut self, epoch: Epoch) {
        self.retired = self.retired.max(epoch);
        self.learn(epoch);
    }

    /// An answer has named this epoch.
    pub(super) fn learn(&mut self, epoch: Epoch) {
        self.seen = self.seen.max(epoch);
    }

    fn tenure_of(&self, lead: &Lead) -> Tenure {
        Tenure {
            term: Term { epoch: lead.epoch, leader: self.candidate.id.clone() },
            since: lead.since,
            until: self.timers.at(Timer::Belief),
            stop_by: lead.trust_until,
        }
    }

    /// The own leadership if it may be believed at `now`.
    fn believed(&self, now: Timestamp) -> Option<&Lead> {
        let now = now.max(self.now);
        self.leadership.lead().filter(|_| now < self.timers.at(Timer::Belief))
    }

    /// The first instant at which this process no longer believes that it leads.
    pub(super) fn belief_until(&self, trust_until: Timestamp) -> Timestamp {
        trust_until - self.config.grace
    }

    /// An answer that came too late must not revive belief that has ended.
    fn expire_belief(&mut self) -> Option<Change> {
        let over = self.timers.has_passed(Timer::Belief, self.now);
        if over { self.end_belief(Loss::Expired, None) } else { None }
    }

    /// Gives up on a question whose deadline has passed. Its outcome is unknown.
    fn expire_flight(&mut self) {
        if self.timers.has_passed(Timer::Answer, self.now) {
            if let Some(flight) = self.take_flight() {
                self.failed(&flight, Failure::Ambiguous);
            }
        }
    }

    pub(super) fn take_flight(&mut self) -> Option<Flight> {
        self.timers.stop(Timer::Answer);
        self.flight.take()
    }

    pub(super) fn take_release(&mut self) -> Option<Release> {
        self.timers.stop(Timer::Resign);
        self.release.take()
    }

    fn handle(&mut self, input: Input<Event>) -> Option<Change> {
        match input {
            Input::Tick => None,
            Input::Event(Event::Answer { ticket, result }) => self.answered(ticket, result),
            Input::Event(Event::Wake) => {
                self.polls.wake(&mut self.timers, self.now, &self.config, &mut self.random);
                None
            }
            Input::Event(Event::Resigned(epoch)) => {
                self.told_of_resignation(epoch);
                None
            }
            Input::Event(Event::Health(healthy)) => self.health(healthy),
            Input::Resign => self.resign(),
            Input::Stopped(epoch) => {
                self.stopped(epoch);
                None
            }
            Input::Withdraw => {
                self.withdrawn = true;
                // What was put off cannot wait any longer.
                if self.polls.read_back.is_some() {
                    self.timers.advance(Timer::Poll, self.now);
                }
                if let Some(release) = &mut self.release {
                    release.pause = Duration::ZERO;
                    self.timers.advance(Timer::Resign, self.now);
                }
                if self.flight.as_ref().is_some_and(|flight| flight.kind.gives_way()) {
                    self.take_flight();
                }
                self.end_belief(Loss::Withdrawn, None)
            }
        }
    }

    fn resign(&mut self) -> Option<Change> {
        if self.leadership.lead().is_some() {
            return self.end_belief(Loss::Resigned, None);
        }
        // A question in flight, a lost term or an unfinished release may still hold the row. Only
        // the row itself can tell that it does not.
        self.stay_out = StayOut::UntilConfirmed;
        None
    }

    /// A follower of that term tries at once; everybody else takes it as a wake-up.
    fn told_of_resignation(&mut self, epoch: Epoch) {
        let view = self.view.as_mut().filter(|_| self.leadership == Leadership::None);
        if view.is_some_and(|view| view.said_to_be_resigned(epoch)) {
            let spread = self.random.jitter(self.config.wake_jitter);
            self.polls.look(&mut self.timers, self.now + spread);
        } else {
            self.polls.wake(&mut self.timers, self.now, &self.config, &mut self.random);
        }
    }

    fn health(&mut self, healthy: bool) -> Option<Change> {
        let recovered = healthy && !self.healthy;
        self.healthy = healthy;
        if recovered && self.leadership == Leadership::None {
            let spread = self.random.jitter(self.config.wake_jitter);
            self.timers.advance(Timer::Poll, self.now + spread);
        }
        if healthy { None } else { self.end_belief(Loss::Unhealthy, None) }
    }

    fn stopped(&mut self, stopped: Epoch) {
        let Leadership::Draining { epoch, release } = self.leadership else { return };
        if epoch != stopped {
            return;
        }
        self.leadership = Leadership::None;
        match release {
            Some(until) => self.give_back(epoch, until),
            None => self.timers.advance(Timer::Poll, self.now),
        }
    }

    /// The change that is still to be published, if this step has published none yet.
    fn announce(&mut self) -> Option<Change> {
        let owed = self.owed()?;
        self.published = owed;
        Some(match self.followed() {
            Some((term, label)) => {
                let elected_ms = self.followed_since();
                Change::Followed { term, label, elected_ms }
            }
            None => Change::Vacant,
        })
    }

    fn owed(&self) -> Option<Published> {
        if self.leadership.lead().is_some() {
            return None;
        }
        let row = &self.view.as_ref()?.row;
        let other = row.live_holder().is_some_and(|holder| holder.candidate != self.candidate);
        let owed = if other { Published::Followed(row.epoch) } else { Published::Vacant };
        (owed != self.published).then_some(owed)
    }
}

impl Protocol for Lease {
    type Event = Event;
    type Action = Action;

    fn step(&mut self, now: Timestamp, input: Input<Event>) -> Step<Action> {
        self.now = self.now.max(now);
        let expired = self.expire_belief();
        let handled = self.handle(input);
        debug_assert!(expired.is_none() || handled.is_none(), "one change a step");
        self.expire_flight();
        let change = expired.or(handled).or_else(|| self.announce());
        let action = self.act();
        let wake_at = if self.owed().is_some() { Some(self.now) } else { self.wake_at() };
        Step { change, action, wake_at }
    }

    fn tenure(&self, now: Timestamp) -> Option<Tenure> {
        self.believed(now).map(|lead| self.tenure_of(lead))
    }

    fn is_leader(&self, now: Timestamp) -> bool {
        self.believed(now).is_some()
    }

    fn is_finished(&self) -> bool {
        self.withdrawn
            && self.leadership == Leadership::None
            && self.release.is_none()
            && self.flight.is_none()
            && !self.listed
            && self.polls.read_back.is_none()
    }
}

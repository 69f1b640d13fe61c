//! What to ask next, and when: the one place that looks at every deadline.

use super::{
    config::Role,
    flight::{Flight, Kind, Poll},
    leadership::Leadership,
    machine::Lease,
    message::{Action, Query, Ticket},
    polls::WAKE_SPACING,
    sweep::Sweep,
    timers::{Brings, Timer},
};
use crate::{Epoch, Timestamp, time::whole_millis};
use core::time::Duration;

/// The back-off doubles this many times before it starts over.
pub(super) const BACKOFF_CYCLE: u32 = 7;

impl Lease {
    /// Asks the most urgent question that is due, if there is room for it.
    pub(super) fn act(&mut self) -> Option<Action> {
        let mut due = None;
        Timer::each(|timer| {
            if due.is_none() && self.timers.has_passed(timer, self.now) {
                due = self.question(timer).filter(|kind| self.has_room_for(*kind));
            }
        });
        due.map(|kind| self.ask(kind))
    }

    /// When this process next has to act by itself.
    pub(super) fn wake_at(&self) -> Option<Timestamp> {
        let mut next = Timestamp::MAX;
        Timer::each(|timer| {
            let at = self.timers.at(timer);
            let counts = || match timer.brings() {
                Brings::End => true,
                Brings::Question => {
                    self.question(timer).is_some_and(|kind| self.has_room_for(kind))
                }
            };
            if at < next && counts() {
                next = at;
            }
        });
        (next < Timestamp::MAX).then_some(next)
    }

    /// The question to ask when a timer is due, in the current state.
    #[inline(always)]
    fn question(&self, timer: Timer) -> Option<Kind> {
        // First find a term that may have been won: a registration that hangs must not hold that
        // up.
        let reads_back = self.polls.read_back.is_some();
        let lists = self.config.role == Role::Candidate && !self.withdrawn && !reads_back;
        let free = self.leadership == Leadership::None;
        match timer {
            Timer::Belief | Timer::Answer => None,
            Timer::Resign => self.release.as_ref().filter(|_| free).map(|_| Kind::Resign),
            Timer::Renew => self.leadership.lead().map(|_| Kind::Renew),
            Timer::Poll if self.withdrawn && !reads_back => None,
            Timer::Poll => Some(Kind::Poll(self.poll())),
            Timer::Register => lists.then_some(Kind::Register),
            Timer::Others => (lists && self.stay_out.asks_for_others()).then_some(Kind::Others),
            Timer::Unregister => {
                let owes = reads_back || self.release.is_some() || !free;
                (self.withdrawn && self.listed && !owes).then_some(Kind::Unregister)
            }
        }
    }

    /// Whether a question of this kind may be asked beside the one in flight.
    fn has_room_for(&self, kind: Kind) -> bool {
        let gives_way = |flight: &Flight| kind.cannot_wait() && flight.kind.gives_way();
        self.flight.as_ref().is_none_or(gives_way)
    }

    /// How to look at the row: attempt only if a win can be expected and would be led.
    fn poll(&self) -> Poll {
        if !self.may_lead() || self.polls.read_back.is_some() {
            return Poll::Observe;
        }
        match &self.view {
            None => Poll::Attempt,
            Some(view) if view.invites(self.now) => Poll::Attempt,
            Some(view) if view.silent_at(&self.config) <= self.now => Poll::TakeOver,
            Some(_) => Poll::Observe,
        }
    }

    fn ask(&mut self, kind: Kind) -> Action {
        let (ttl, clock_step) = (self.config.ttl, self.config.clock_step);
        let lease = self.lease_length();
        let mut deadline = self.now + self.config.attempt_timeout;
        let mut epoch = Epoch::NONE;
        let query = match kind {
            Kind::Resign => {
                epoch = self.release.as_ref().map_or(Epoch::NONE, |release| release.epoch);
                self.release_query(epoch)
            }
            Kind::Renew => {
                let ordinal = self.leadership.lead_mut().map_or(0, |lead| {
                    lead.ordinal = lead.ordinal.saturating_add(1);
                    epoch = lead.epoch;
                    lead.ordinal
                });
                deadline = deadline.min(self.timers.at(Timer::Belief));
                Query::Renew { epoch, ordinal, ttl: lease, clock_step, leads: true }
            }
            Kind::Poll(poll) => self.poll_query(poll),
            Kind::Register => {
                self.listed = true;
                Query::Register { ttl, sweep: self.sweep == Sweep::Due }
            }
            Kind::Unregister => Query::Unregister,
            Kind::Others => {
                self.stay_out.has_asked();
                Query::Others
            }
        };
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.flight = Some(Flight { ticket, kind, epoch, asked: self.now });
        self.timers.set(Timer::Answer, deadline);
        Action::Query { ticket, query, deadline }
    }

    /// Vacates the row, or cuts the lease down to what is left of its least length.
    fn release_query(&mut self, epoch: Epoch) -> Query {
        match self.kept_of(epoch) {
            Some((kept, rest)) => {
                kept.ordinal = kept.ordinal.saturating_add(1);
                let ttl = Duration::from_millis(whole_millis(rest));
                // Nobody leads, or will by this answer: when the clock says that the time is over, it
                // is.
                let (clock_step, leads) = (Duration::ZERO, true);
                Query::Renew { epoch, ordinal: kept.ordinal, ttl, clock_step, leads }
            }
            None => Query::Resign { epoch },
        }
    }

    /// How long a renewal makes the lease, so that it does not end before the least time is over.
    fn lease_length(&self) -> Duration {
        let rest =
            self.kept.as_ref().map_or(Duration::ZERO, |kept| kept.rest(&self.config, self.now));
        self.config.ttl.max(Duration::from_millis(whole_millis(rest)))
    }

    fn poll_query(&self, poll: Poll) -> Query {
        let (seen, ttl) = (self.seen, self.config.ttl.max(self.config.at_least_for));
        let clock_step = self.config.clock_step;
        let row = self.view.as_ref().map(|view| &view.row);
        match (poll, row) {
            (Poll::Observe, _) => Query::Observe,
            (Poll::TakeOver, Some(row)) => Query::TakeOver {
                seen,
                ttl,
                clock_step,
                epoch: row.epoch,
                holder: row.holder.as_ref().map(|holder| holder.candidate.clone()),
                renewals: row.renewals,
                server: row.server,
            },
            (Poll::Attempt | Poll::TakeOver, _) => Query::Attempt { seen, ttl, clock_step },
        }
    }

    /// Plans the next look at the row after an answer to a question asked at `asked`.
    pub(super) fn plan_poll(&mut self, asked: Timestamp) {
        let turn = self.next_turn(asked);
        let turn = self.after_renewal().unwrap_or(turn);
        self.polls.plan(&mut self.timers, asked, turn);
        if let Some(at) = self.stay_out.next_look(self.now) {
            self.timers.advance(Timer::Poll, at);
        }
        if !self.may_lead() {
            return;
        }
        let Some(view) = &self.view else { return };
        let sooner = view.comes_free_at(self.now).min(view.silent_at(&self.config));
        let at = sooner.max(self.now) + self.random.jitter(self.config.wake_jitter);
        self.timers.advance(Timer::Poll, at);
    }

    /// Plans the next look at the row after one that is older than what this process knows, until that
    /// no longer counts.
    pub(super) fn plan_poll_after_outdated(&mut self, asked: Timestamp) {
        let mut turn = self.next_turn(asked);
        if let Some(view) = &self.view {
            turn = turn.min(view.counts_until(&self.config).max(self.now));
        }
        self.polls.plan(&mut self.timers, asked, turn);
    }

    /// When the holder will just have renewed a lease that allows for steps of the database's clock.
    /// Whoever takes it over counts from when it has seen the last renewal, so followers look when one
    /// is new. Nothing else depends on it.
    fn after_renewal(&mut self) -> Option<Timestamp> {
        let renewed_at = self.view.as_ref()?.renewed_at?;
        let next = renewed_at + self.config.interval + self.config.jitter;
        if next < self.now {
            return None; // overdue
        }
        let spread = self.random.jitter(self.config.wake_jitter);
        Some(next.max(self.now + WAKE_SPACING) + spread)
    }

    /// A leader looks at the row only when woken: its renewals tell it all it must know.
    pub(super) fn plan_no_poll(&mut self, asked: Timestamp) {
        self.polls.plan(&mut self.timers, asked, Timestamp::MAX);
    }

    /// One interval and its jitter after `asked`.
    pub(super) fn next_turn(&mut self, asked: Timestamp) -> Timestamp {
        asked + self.config.interval + self.random.jitter(self.config.jitter)
    }

    /// Plans the next look at the row after one that failed. A leaving process looks only for a term
    /// that an attempt with unknown outcome may have won, until the lease of that has run out.
    pub(super) fn plan_poll_after_failure(&mut self, asked: Timestamp, prompt: bool) {
        self.polls.failures = self.polls.failures.saturating_add(1);
        let wait = if prompt && self.polls.failures == 1 {
            self.random.jitter(self.config.lock_jitter())
        } else {
            let doubled = Duration::from_secs(1 << ((self.polls.failures - 1) % BACKOFF_CYCLE));
            let wait = doubled.min(self.config.interval) * 9 / 10;
            wait + self.random.jitter(wait / 9 * 2)
        };
        let at = self.now + wait.min(self.longest_pause());
        if self.withdrawn {
            self.polls.read_back.take_if(|attempted| at >= *attempted + self.config.ttl);
        }
        self.polls.plan(&mut self.timers, asked, at);
    }

    /// Whoever leaves may not be given much time.
    pub(super) fn longest_pause(&self) -> Duration {
        if self.withdrawn { self.config.farewell_pause() } else { self.config.interval }
    }
}

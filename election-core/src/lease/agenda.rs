//! What to ask next, and when: the one place that looks at every deadline.

use super::{
    config::{Config, Role},
    flight::{Flight, Kind, Poll},
    machine::Lease,
    message::{Action, Query, Ticket},
    reign::Reign,
};
use crate::{Epoch, Random, Timestamp};
use core::time::Duration;

/// Wake-ups take effect at most this often; those between count as one.
pub(super) const WAKE_SPACING: Duration = Duration::from_millis(100);
/// The back-off doubles this many times before it starts over.
pub(super) const BACKOFF_CYCLE: u32 = 7;
/// A process that leaves looks this often for what an unknown attempt may have won.
pub(super) const FAREWELL_TRIES: u32 = 3;

/// When each recurring question is due.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Agenda {
    /// When to look at the row next.
    pub(super) poll_at: Timestamp,
    /// When to renew the place on the list of candidates.
    pub(super) register_at: Timestamp,
    /// Whether this process may stand on the list.
    pub(super) listed: bool,
    /// An attempt may have won without this process knowing; the oldest such was asked then.
    pub(super) read_back: Option<Timestamp>,
    /// Polls that failed in a row.
    pub(super) failures: u32,
    /// When the last wake-up took effect, or will.
    pub(super) woken_at: Option<Timestamp>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self {
            poll_at: Timestamp::ZERO,
            register_at: Timestamp::ZERO,
            listed: false,
            read_back: None,
            failures: 0,
            woken_at: None,
        }
    }
}

impl Agenda {
    /// Looks at the row no later than `at`.
    pub(super) fn poll_by(&mut self, at: Timestamp) {
        self.poll_at = self.poll_at.min(at);
    }

    /// Takes a wake-up: spread, so that all who were woken do not come at once, and bounded in
    /// rate, so that a busy neighbour in the same database cannot make this process spin.
    pub(super) fn wake(&mut self, now: Timestamp, config: &Config, random: &mut Random) {
        if self.woken_at.is_some_and(|woken| woken > now) {
            return; // coalesced with one that is still to come
        }
        let earliest = self.woken_at.map_or(now, |woken| now.max(woken + WAKE_SPACING));
        self.look(earliest + random.jitter(config.wake_jitter));
    }

    /// Looks at the row at `at`, whatever comes back of a question asked earlier.
    pub(super) fn look(&mut self, at: Timestamp) {
        self.woken_at = Some(at);
        self.poll_by(at);
    }

    /// Sets the time of the next look at the row, after one that was asked for at `asked`. A
    /// wake-up that came after that is not lost: the row may have been read before it changed.
    fn poll_next(&mut self, asked: Timestamp, at: Timestamp) {
        self.poll_at = at;
        if let Some(woken) = self.woken_at.filter(|woken| *woken > asked) {
            self.poll_by(woken);
        }
    }

    pub(super) fn owes_anything(&self) -> bool {
        self.listed || self.read_back.is_some()
    }
}

impl Lease {
    /// Asks the most urgent question that is due, if there is room for it.
    pub(super) fn act(&mut self) -> Option<Action> {
        let (_, kind) = self.open_questions().into_iter().flatten().find(|(at, kind)| {
            *at <= self.now && self.flight.as_ref().is_none_or(|f| overtakes(*kind, f.kind))
        })?;
        Some(self.ask(kind))
    }

    /// When the next thing happens by itself.
    pub(super) fn wake_at(&self) -> Option<Timestamp> {
        let questions = self.open_questions();
        let questions = questions.iter().flatten().filter_map(|(at, kind)| {
            self.flight.as_ref().is_none_or(|f| overtakes(*kind, f.kind)).then_some(*at)
        });
        let belief = self.reign.lead().map(|lead| lead.belief_until(&self.config));
        let flight = self.flight.as_ref().map(|flight| flight.deadline);
        questions.chain(belief).chain(flight).min().filter(|at| *at < Timestamp::MAX)
    }

    /// Every question that will be asked some day, most urgent first.
    fn open_questions(&self) -> [Option<(Timestamp, Kind)>; 6] {
        let candidate = self.config.role == Role::Candidate;
        let release = self.release.as_ref().filter(|_| self.reign == Reign::None);
        let lead = self.reign.lead();
        let reads_back = self.agenda.read_back.is_some();
        let polls = !self.withdrawn || reads_back;
        // What may have been won is found first: a registration that hangs must not hold it up.
        let lists = candidate && !self.withdrawn && !reads_back;
        let others = lists && self.stay_out.asks_for_others();
        let leaves = self.withdrawn
            && self.agenda.listed
            && self.reign == Reign::None
            && self.release.is_none()
            && !reads_back;
        [
            release.map(|release| (release.at, Kind::Resign)),
            lead.map(|lead| (lead.renew_at, Kind::Renew)),
            others.then_some((Timestamp::ZERO, Kind::Others)),
            polls.then(|| (self.agenda.poll_at, Kind::Poll(self.poll()))),
            lists.then_some((self.agenda.register_at, Kind::Register)),
            leaves.then_some((Timestamp::ZERO, Kind::Unregister)),
        ]
    }

    /// How to look at the row: by attempt only where a win would be led and can be expected.
    fn poll(&self) -> Poll {
        if !self.may_lead() || self.agenda.read_back.is_some() {
            return Poll::Observe;
        }
        match &self.view {
            None => Poll::Attempt,
            Some(view) if view.expects_vacancy(self.now) => Poll::Attempt,
            Some(view) if view.silent_at(&self.config) <= self.now => Poll::TakeOver,
            Some(_) => Poll::Observe,
        }
    }

    fn ask(&mut self, kind: Kind) -> Action {
        let ttl = self.config.ttl;
        let mut deadline = self.now + self.config.attempt_timeout;
        let mut epoch = Epoch::NONE;
        let query = match kind {
            Kind::Resign => {
                epoch = self.release.as_ref().map_or(Epoch::NONE, |release| release.epoch);
                Query::Resign { epoch }
            }
            Kind::Renew => {
                let (ordinal, belief_until) = self.reign.lead_mut().map_or((0, self.now), |lead| {
                    lead.ordinal = lead.ordinal.saturating_add(1);
                    epoch = lead.epoch;
                    (lead.ordinal, lead.belief_until(&self.config))
                });
                deadline = deadline.min(belief_until);
                Query::Renew { epoch, ordinal, ttl }
            }
            Kind::Poll(poll) => self.poll_query(poll),
            Kind::Register => {
                let sweep = !core::mem::replace(&mut self.agenda.listed, true);
                Query::Register { ttl, sweep }
            }
            Kind::Unregister => Query::Unregister,
            Kind::Others => {
                self.stay_out.has_asked();
                Query::Others
            }
        };
        let ticket = Ticket(self.next_ticket());
        self.flight = Some(Flight { ticket, kind, epoch, asked: self.now, deadline });
        Action::Query { ticket, query, deadline }
    }

    fn poll_query(&self, poll: Poll) -> Query {
        let (seen, ttl) = (self.seen, self.config.ttl);
        let row = self.view.as_ref().map(|view| &view.row);
        match (poll, row.and_then(|row| row.holder.as_ref().map(|holder| (row, holder)))) {
            (Poll::Observe, _) => Query::Observe,
            (Poll::TakeOver, Some((row, holder))) => Query::TakeOver {
                seen,
                ttl,
                epoch: row.epoch,
                holder: holder.candidate.clone(),
                renewals: row.renewals,
            },
            (Poll::Attempt | Poll::TakeOver, _) => Query::Attempt { seen, ttl },
        }
    }

    /// Plans the next look at the row after an answer to a question asked at `asked`.
    pub(super) fn plan_poll(&mut self, asked: Timestamp) {
        let turn = self.next_turn(asked);
        self.agenda.poll_next(asked, turn);
        if let Some(at) = self.stay_out.next_look(self.now) {
            self.agenda.poll_by(at);
        }
        if !self.may_lead() {
            return;
        }
        let Some(view) = &self.view else { return };
        let comes_free = view.comes_free_at().unwrap_or(self.now);
        let sooner = comes_free.min(view.silent_at(&self.config));
        let at = sooner.max(self.now) + self.random.jitter(self.config.wake_jitter);
        self.agenda.poll_by(at);
    }

    /// A leader looks at the row only when woken: its renewals tell it what it must know.
    pub(super) fn plan_no_poll(&mut self, asked: Timestamp) {
        self.agenda.poll_next(asked, Timestamp::MAX);
    }

    /// One interval and its jitter after `asked`.
    pub(super) fn next_turn(&mut self, asked: Timestamp) -> Timestamp {
        asked + self.config.interval + self.random.jitter(self.config.jitter)
    }

    /// Plans the next look at the row after one that failed.
    pub(super) fn plan_poll_after_failure(&mut self, asked: Timestamp, prompt: bool) {
        self.agenda.failures = self.agenda.failures.saturating_add(1);
        if self.withdrawn && self.agenda.failures >= FAREWELL_TRIES {
            self.agenda.read_back = None;
        }
        let wait = if prompt && self.agenda.failures == 1 {
            self.random.jitter(self.config.lock_jitter())
        } else {
            let doubled = Duration::from_secs(1 << ((self.agenda.failures - 1) % BACKOFF_CYCLE));
            let wait = doubled.min(self.config.interval) * 9 / 10;
            wait + self.random.jitter(wait / 9 * 2)
        };
        let at = self.now + wait.min(self.config.interval);
        self.agenda.poll_next(asked, at);
    }
}

fn overtakes(kind: Kind, in_flight: Kind) -> bool {
    kind.cannot_wait() && in_flight.gives_way()
}

//! One form for all states that behave alike, for callers that must tell whether two states are the
//! same.
//!
//! A model checker that runs this machine meets the same situation at ever later times, under ever
//! higher epochs and tickets. The behaviour of a state does not depend on those numbers: the
//! machine compares instants with *now*, and epochs and ordinals with each other. So a state can be
//! moved in time ([`Lease::rebase`]) and renamed in any way that keeps the order
//! ([`Lease::rename`]), and a timed protocol has finitely many states.
//!
//! An instant that has passed, and only matters as passed, becomes *now*. An instant to which the
//! machine still adds a span keeps its distance, up to the longest such span. Each field below says
//! which of the two it is.

use super::{
    config::Config,
    leadership::{Leadership, Others, StayOut},
    machine::Lease,
    message::{Row, Ticket},
    polls::{Polls, WAKE_SPACING},
    questions::BACKOFF_CYCLE,
    timers::Timer,
    view::{Published, View},
};
use crate::{Candidate, Epoch, Random, Timestamp};
use core::time::Duration;

/// New names for what a state knows of the outside world.
///
/// The machine only compares these, and asks for a number above all that it knows. A renaming that
/// keeps the order (and [`Epoch::NONE`], and the ordinal zero) keeps the behaviour, if it is also
/// applied to everything that the machine will ever hear from.
pub trait Names {
    /// The new number of an epoch. Must be monotone.
    fn epoch(&mut self, epoch: Epoch) -> Epoch;
    /// The new number of an epoch that is only a bound: others are compared with it, and it stands
    /// for no leadership. Any number will do that has the same order towards all epochs in use.
    fn bound(&mut self, epoch: Epoch) -> Epoch {
        self.epoch(epoch)
    }
    /// The new ordinal of a renewal. Must be monotone.
    fn ordinal(&mut self, ordinal: u64) -> u64;
    /// The new name of a process. Different processes must get different names.
    fn candidate(&mut self, candidate: &Candidate) -> Candidate;
}

/// What the surroundings of a machine contain. The machine may forget the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Replaces the generator. Draws only decide delays within bounds; the explorer chooses them
    /// itself ([`Random::constant`]) or covers them by calling late.
    pub draws: Random,
    /// There is a list of candidates. Without one the machine never registers; nothing but the list
    /// depends on that.
    pub list: bool,
    /// The row may be lost, or an older one take its place. Otherwise the row itself has seen
    /// every epoch that a process can have seen.
    pub row_loss: bool,
    /// The database's clock may go back. Otherwise, and unless a replica was promoted, no holder is
    /// silent for longer than its lease without the lease having ended.
    pub clock_back: bool,
}

impl Lease {
    /// Moves the state in time, so that everything due after `now` is due as long after `origin`.
    /// (If `now` is below the latest time seen, it counts as that.)
    ///
    /// Numbers that are only compared for equality are normalised: the question in flight becomes
    /// the first one ever asked, so that answers to earlier ones have to be delivered under
    /// [`Ticket::NONE`]. Counters of failures keep the part that still matters. The state forgets
    /// what the surroundings do not contain.
    ///
    /// `origin` must leave room for a few leases below it.
    pub fn rebase(&mut self, now: Timestamp, origin: Timestamp, around: &Surroundings) {
        let time = Rebase { now: now.max(self.now), origin };
        let ttl = self.config.ttl;
        self.now = origin;
        self.random = around.draws.clone();
        if !around.row_loss {
            self.seen = Epoch::NONE;
        }
        self.tickets_restart();
        match &mut self.leadership {
            Leadership::Leading(lead) => {
                lead.since = Timestamp::ZERO; // nothing depends on it
                time.due(&mut lead.trust_until);
                lead.failures = lead.failures.min(16);
            }
            Leadership::Draining { release: Some(until), .. } => time.due(until),
            Leadership::Draining { .. } | Leadership::None => {}
        }
        if let Some(release) = &mut self.release {
            time.due(&mut release.until);
        }
        self.kept.take_if(|kept| kept.rest(&self.config, time.now).is_zero());
        if let Some(kept) = &mut self.kept {
            time.anchor(&mut kept.since, self.config.at_least_for * 2);
        }
        for at in self.timers.iter_mut() {
            time.due(at);
        }
        if let StayOut::Until { end, others } = &mut self.stay_out {
            time.due(end);
            if let Others::AskAfter(look) = others {
                time.anchor(look, ttl); // compared with when the question in flight was asked
            }
        }
        if let Some(view) = &mut self.view {
            // A holder this silent is taken over from, however much longer it has been silent.
            let silence = view.silence(&self.config);
            view.rebase(&time, silence);
            if !around.clock_back && !view.row.server.follows() {
                view.forget_silence();
            }
        }
        if let Some(flight) = &mut self.flight {
            time.anchor(&mut flight.asked, ttl);
        }
        self.polls.rebase(&time, ttl);
        self.polls.forget_failures(&self.config);
        if !around.list {
            self.timers.stop(Timer::Register);
            self.stay_out.has_asked();
        }
    }

    /// Restarts the tickets: the question in flight becomes the first.
    fn tickets_restart(&mut self) {
        self.tickets = u64::from(self.flight.is_some());
        if let Some(flight) = &mut self.flight {
            flight.ticket = Ticket(self.tickets);
        }
    }

    /// Renames everything that the state knows by name.
    pub fn rename(&mut self, names: &mut impl Names) {
        self.candidate = names.candidate(&self.candidate);
        self.seen = names.bound(self.seen);
        self.retired = names.bound(self.retired);
        match &mut self.leadership {
            Leadership::None => {}
            Leadership::Leading(lead) => {
                lead.epoch = names.epoch(lead.epoch);
                lead.ordinal = names.ordinal(lead.ordinal);
            }
            Leadership::Draining { epoch, .. } => *epoch = names.epoch(*epoch),
        }
        if let Some(release) = &mut self.release {
            release.epoch = names.epoch(release.epoch);
        }
        if let Some(kept) = &mut self.kept {
            kept.epoch = names.epoch(kept.epoch);
            kept.ordinal = names.ordinal(kept.ordinal);
        }
        if let Published::Followed(epoch) = &mut self.published {
            *epoch = names.epoch(*epoch);
        }
        if let Some(flight) = &mut self.flight {
            flight.epoch = names.epoch(flight.epoch);
        }
        if let Some(view) = &mut self.view {
            let row = &mut view.row;
            row.epoch = names.epoch(row.epoch);
            row.renewals = names.ordinal(row.renewals);
            if let Some(holder) = &mut row.holder {
                holder.candidate = names.candidate(&holder.candidate);
            }
        }
    }

    /// The question that waits for its answer.
    #[must_use]
    pub fn awaited(&self) -> Option<Ticket> {
        self.flight.as_ref().map(|flight| flight.ticket)
    }
}

/// A move in time.
pub(super) struct Rebase {
    now: Timestamp,
    origin: Timestamp,
}

impl Rebase {
    /// Moves an instant that does not matter once it has passed.
    pub(super) fn due(&self, at: &mut Timestamp) {
        self.anchor(at, Duration::ZERO);
    }

    /// Moves an instant to which the machine adds at most `span`.
    pub(super) fn anchor(&self, at: &mut Timestamp, span: Duration) {
        if *at == Timestamp::MAX {
            return; // a stopped timer stays stopped
        }
        *at = if *at >= self.now {
            self.origin + at.since(self.now)
        } else {
            self.origin - self.now.since(*at).min(span)
        };
    }
}

impl View {
    fn rebase(&mut self, time: &Rebase, silence: Duration) {
        time.anchor(&mut self.unchanged_since, silence);
        // A follower comes back a millisecond after the end.
        time.anchor(&mut self.ends_at, Duration::from_millis(1));
        time.anchor(&mut self.opens_at, Duration::from_millis(1));
        self.row.server.known = Duration::ZERO; // `opens_at` says what follows from it
        if let Some(renewed_at) = &mut self.renewed_at {
            time.anchor(renewed_at, silence); // longer than an interval and its jitter
        }
        // `ends_at` says how much was left; here it only matters whether anything was.
        if !self.row.remaining.is_zero() {
            self.row.remaining = Duration::from_millis(1);
        }
        self.row.resign_requested = false;
        self.row.elected_ms = None;
    }

    /// Forgets since when the row has not changed, and what only serves to tell that.
    fn forget_silence(&mut self) {
        self.unchanged_since = Timestamp::MAX;
        self.row.renewals = 0;
        if self.row.live_holder().is_none() {
            self.row = Row { ttl: self.row.ttl, ..Row::vacant() };
        }
    }
}

impl Polls {
    fn rebase(&mut self, time: &Rebase, ttl: Duration) {
        if let Some(attempted) = &mut self.read_back {
            time.anchor(attempted, ttl);
        }
        if let Some(woken) = &mut self.woken_at {
            // Spaced from the next one, and compared with when the question in flight was asked.
            time.anchor(woken, ttl.max(WAKE_SPACING));
        }
    }

    /// It only matters whether the next failure is the first, and where the back-off is in its cycle,
    /// unless an interval is never longer than its first step.
    fn forget_failures(&mut self, config: &Config) {
        if config.interval <= Duration::from_secs(1) {
            self.failures = self.failures.min(1);
        }
        while self.failures > 1 + BACKOFF_CYCLE {
            self.failures -= BACKOFF_CYCLE;
        }
    }
}

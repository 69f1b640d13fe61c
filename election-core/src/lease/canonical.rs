//! One form for all states that behave alike, for whoever has to tell whether two are the same.
//!
//! A model checker that runs this machine meets the same situation at ever later times, under ever
//! higher epochs and tickets. What follows from a state does not depend on those numbers: the
//! machine compares instants with *now*, and epochs and ordinals with each other. So a state can
//! be moved in time ([`Lease::rebase`]), and renamed in any way that keeps the order
//! ([`Lease::rename`]), and a timed protocol has finitely many states.
//!
//! What has passed and counts only as passed becomes *now*; what the machine still adds a span to
//! keeps its distance, up to the longest such span. Each field says below which of the two it is.

use super::{
    config::Config,
    leadership::{Leadership, Others, StayOut},
    machine::Lease,
    message::{Row, Ticket},
    polls::{Polls, WAKE_SPACING},
    questions::{BACKOFF_CYCLE, FAREWELL_TRIES},
    timers::Timer,
    view::{Published, View},
};
use crate::{Candidate, Epoch, Random, Timestamp};
use core::time::Duration;

/// New names for what a state holds of the outside world.
///
/// The machine only ever compares these, and asks for a number above all it knows: whatever keeps
/// the order (and [`Epoch::NONE`], and the ordinal zero) keeps the behaviour, if it is applied to
/// everything that the machine will ever hear from as well.
pub trait Names {
    /// The new number of an epoch. Must be monotone.
    fn epoch(&mut self, epoch: Epoch) -> Epoch;
    /// The new number of an epoch that is only a bound: others are compared with it, and it stands
    /// for no leadership. Any number will do that stands equally to all epochs in use.
    fn bound(&mut self, epoch: Epoch) -> Epoch {
        self.epoch(epoch)
    }
    /// The new ordinal of a renewal. Must be monotone.
    fn ordinal(&mut self, ordinal: u64) -> u64;
    /// The new name of a process. Must tell apart what was apart.
    fn candidate(&mut self, candidate: &Candidate) -> Candidate;
}

/// What the surroundings of a machine contain. What they do not contain need not be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Takes the place of the generator: draws decide nothing but delays within bounds, which
    /// whoever explores chooses itself ([`Random::constant`]) or covers by calling late.
    pub draws: Random,
    /// There is a list of candidates. Without one the machine never registers; nothing but the
    /// list hangs on that.
    pub list: bool,
    /// The row may be lost, or an older one take its place. Otherwise the row itself has seen
    /// every epoch that a process can have seen.
    pub row_loss: bool,
    /// The database's clock may go back. Otherwise no holder is silent for longer than its lease
    /// without the lease having ended.
    pub clock_back: bool,
    /// The process may be told to leave. Otherwise the tries that it has at its farewell do not
    /// count.
    pub farewell: bool,
}

impl Lease {
    /// Moves the state in time, so that what was to happen after `now` happens as long after
    /// `origin`. (`now` below the latest time seen counts as that.)
    ///
    /// Numbers of which only equality counts are normalised: the question in flight becomes the
    /// first one ever asked, so that answers to earlier ones have to be delivered under
    /// [`Ticket::NONE`]. Counters of failures keep what still shows. What the surroundings do not
    /// contain is forgotten.
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
        if let Leadership::Leading(lead) = &mut self.leadership {
            time.due(&mut lead.trust_until);
            lead.failures = lead.failures.min(16);
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
            // Whoever is this silent is taken over from, however much longer it has been.
            let silence = view.silence(&self.config);
            view.rebase(&time, silence);
            if !around.clock_back {
                view.forget_silence();
            }
        }
        if let Some(flight) = &mut self.flight {
            time.anchor(&mut flight.asked, ttl);
        }
        self.polls.rebase(&time, ttl);
        self.polls.forget_failures(&self.config, around);
        if !around.list {
            self.timers.stop(Timer::Register);
            self.stay_out.has_asked();
        }
    }

    /// Counts questions anew: the one in flight becomes the first.
    fn tickets_restart(&mut self) {
        self.tickets = u64::from(self.flight.is_some());
        if let Some(flight) = &mut self.flight {
            flight.ticket = Ticket(self.tickets);
        }
    }

    /// Gives everything the state knows by name its new name.
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
    /// Moves an instant that, once it has passed, has only passed.
    pub(super) fn due(&self, at: &mut Timestamp) {
        self.anchor(at, Duration::ZERO);
    }

    /// Moves an instant to which no more than `span` is still added.
    pub(super) fn anchor(&self, at: &mut Timestamp, span: Duration) {
        if *at == Timestamp::MAX {
            return; // never stays never
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
        // How much was left is in `ends_at`; here only whether it was anything still shows.
        if !self.row.remaining.is_zero() {
            self.row.remaining = Duration::from_millis(1);
        }
        self.row.resign_requested = false;
    }

    /// Forgets since when the row has not changed, and all that only tells whether it has.
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

    /// Only whether the next failure is the first shows, and how many more there are before a
    /// farewell is given up, and where the back-off stands in its cycle, unless an interval is
    /// never longer than its first step.
    fn forget_failures(&mut self, config: &Config, around: &Surroundings) {
        let shows = if around.farewell { FAREWELL_TRIES - 1 } else { 1 };
        if config.interval <= Duration::from_secs(1) {
            self.failures = self.failures.min(shows);
        }
        while self.failures > shows + BACKOFF_CYCLE {
            self.failures -= BACKOFF_CYCLE;
        }
    }
}

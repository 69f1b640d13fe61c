//! What the lease asks of the database, and what comes back.

use crate::{Candidate, Epoch, Label, Namespace, Term, Timestamp};
use core::time::Duration;

/// Which question an answer belongs to. Tickets grow; only the newest is ever current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

impl Ticket {
    /// A ticket that no question ever carries: an answer under it belongs to a question that
    /// nobody waits for any more.
    pub const NONE: Self = Self(0);
}

/// What the caller is asked to do. Exhaustive: a new action must break every driver's build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Ask the database. The one question in flight, if any, is superseded by this one and may be
    /// dropped; an answer to it that comes all the same should still be delivered.
    Query {
        /// To be returned with the answer.
        ticket: Ticket,
        /// The question.
        query: Query,
        /// When the answer stops being useful. Give up then; whether the statement was executed
        /// is unknown from that moment on.
        deadline: Timestamp,
    },
}

/// Who asks, and in which election: the same for every query of one elector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Registration {
    /// The election.
    pub namespace: Namespace,
    /// The process.
    pub candidate: Candidate,
    /// What the process publishes about itself.
    pub label: Option<Label>,
}

/// One question to the database about the row of one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Query {
    /// Read the row. Answers [`Answer::Seen`].
    Observe,
    /// Take the lease if it is vacant or has expired. Answers [`Answer::Won`], or
    /// [`Answer::Seen`] with who holds it.
    Attempt {
        /// The highest epoch this process has seen; the new term must be above it.
        seen: Epoch,
        /// The length of the lease.
        ttl: Duration,
    },
    /// Take over from a holder that has not renewed for longer than its lease although the
    /// database's clock, having gone back, says that it has not expired. Succeeds only if the row
    /// is exactly as described. Answers like an attempt.
    TakeOver {
        /// As for an attempt.
        seen: Epoch,
        /// As for an attempt.
        ttl: Duration,
        /// The term that must still stand in the row.
        epoch: Epoch,
        /// Its holder.
        holder: Candidate,
        /// Its number of renewals.
        renewals: u64,
    },
    /// Extend this process's own term. Answers [`Answer::Renewed`] or [`Answer::Gone`].
    Renew {
        /// The term; no other is touched.
        epoch: Epoch,
        /// The renewal's number within the term; it takes effect only if it is higher than every
        /// one before, so that a late statement cannot shorten a later one.
        ordinal: u64,
        /// The length of the lease.
        ttl: Duration,
    },
    /// Vacate this process's own term. Answers [`Answer::Released`], whether or not it still held.
    Resign {
        /// The term; no other is touched.
        epoch: Epoch,
    },
    /// Put this process on the list of candidates, or keep it there. Answers [`Answer::Listed`].
    Register {
        /// How long it stays without another call.
        ttl: Duration,
        /// The first call of this life: also sweep away candidates that are long gone.
        sweep: bool,
    },
    /// Take this process off the list. Answers [`Answer::Listed`].
    Unregister,
    /// Whether anybody else is on the list of candidates. Answers [`Answer::Others`].
    Others,
}

/// What the database said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The lease is this process's, under a new term.
    Won {
        /// The new term.
        epoch: Epoch,
        /// What was left of the lease when the statement ran.
        remaining: Duration,
    },
    /// The row as it stands; it was not taken.
    Seen(Row),
    /// The renewal took effect.
    Renewed {
        /// What was left of the lease when the statement ran.
        remaining: Duration,
        /// Somebody has asked this term to resign.
        resign_requested: bool,
    },
    /// The term is over.
    Gone,
    /// The term, if it still held, no longer does.
    Released,
    /// The list of candidates is as asked.
    Listed,
    /// Whether anybody else is on the list of candidates.
    Others(bool),
}

/// The leader row of one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The newest term, held or not; [`Epoch::NONE`] if there was never any.
    pub epoch: Epoch,
    /// Who holds it; `None` if vacant.
    pub holder: Option<Holder>,
    /// What is left of the lease by the database's clock; zero if it has expired.
    pub remaining: Duration,
    /// The length the holder asked for.
    pub ttl: Duration,
    /// The newest renewal's ordinal within the term.
    pub renewals: u64,
    /// Somebody has asked this very term to resign.
    pub resign_requested: bool,
}

impl Row {
    /// The row of a namespace in which nobody ever led.
    #[must_use]
    pub const fn vacant() -> Self {
        Self {
            epoch: Epoch::NONE,
            holder: None,
            remaining: Duration::ZERO,
            ttl: Duration::ZERO,
            renewals: 0,
            resign_requested: false,
        }
    }

    /// The holder of a lease that has not expired.
    #[must_use]
    pub fn live_holder(&self) -> Option<&Holder> {
        self.holder.as_ref().filter(|_| !self.remaining.is_zero())
    }

    /// The leadership that is in force.
    #[must_use]
    pub fn live_term(&self) -> Option<Term> {
        self.live_holder()
            .map(|holder| Term { epoch: self.epoch, leader: holder.candidate.id.clone() })
    }

    /// What is left of the lease, but never more than its length: a clock that went back must not
    /// make it longer.
    #[must_use]
    pub fn clamped_remaining(&self) -> Duration {
        self.remaining.min(self.ttl)
    }
}

/// Who holds the lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The process.
    pub candidate: Candidate,
    /// What it published about itself.
    pub label: Option<Label>,
}

/// How a question failed. The distinction that matters is whether the statement may have been
/// executed all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// Certainly not executed, and worth trying again: no connection, server shutting down.
    Transient,
    /// Somebody else holds a lock on the row. For a contender that means "held".
    Conflict,
    /// It may have been executed: time-out, connection lost in mid-call, an unclear commit.
    Ambiguous,
    /// It will not succeed until somebody mends something: a missing table, a wrong password.
    Fatal,
}

/// What the outside world reports to the lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The outcome of a query. Answers may come late, twice or never.
    Answer {
        /// The ticket of the query.
        ticket: Ticket,
        /// What the database said, or how it failed.
        result: Result<Answer, Failure>,
    },
    /// The row may have changed: a notification, a file that was written. May come at any rate;
    /// several are as good as one. A leader looks too, and finds there who took its place or that
    /// it was asked to resign: whoever can wake it cannot depose it.
    Wake,
    /// The holder of this term is said to have resigned it: a notification. Whoever follows that
    /// term tries to win without reading the row first; to everybody else it is a
    /// [`Wake`](Self::Wake). One that is false, late or repeated costs a question. Of several that
    /// wait to be handed over, wake-ups among them, the one with the highest term is enough.
    Resigned(Epoch),
    /// Whether this process is fit to lead, as a level: it holds until the next report.
    Health(bool),
}

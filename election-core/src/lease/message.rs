//! What the lease asks of the database, and what comes back.

use super::server::Server;
use crate::{Candidate, Epoch, Label, Namespace, Term, Timestamp};
use core::time::Duration;

/// The question that an answer belongs to. Tickets grow, and only the newest is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

impl Ticket {
    /// A ticket that no question carries. An answer with it counts as the answer to a superseded
    /// question.
    pub const NONE: Self = Self(0);
}

/// What the caller has to do. Exhaustive: a new action must break every driver's build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Ask the database. This question supersedes the one in flight, if any. The driver may drop
    /// the old one, but should deliver an answer to it that arrives all the same.
    Query {
        /// The driver returns it with the answer.
        ticket: Ticket,
        /// The question.
        query: Query,
        /// When the answer stops being useful. Give up then. From that moment on it is unknown
        /// whether the database executed the statement.
        deadline: Timestamp,
    },
}

/// Who asks, and in which election. It is the same for every query of one elector.
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
    /// Take the lease if it is vacant or has expired. Answers [`Answer::Won`], or [`Answer::Seen`]
    /// with the current holder.
    Attempt {
        /// The highest epoch this process has seen; the new epoch must be above it.
        seen: Epoch,
        /// The length of the lease.
        ttl: Duration,
        /// How much longer the database keeps the lease for its holder: see
        /// [`Config::clock_step`](super::Config::clock_step).
        clock_step: Duration,
    },
    /// Take over from a holder that has not renewed for longer than its lease, although the
    /// database does not say that the lease has expired: its clock has gone back, or the holder has
    /// allowed for steps of it. Or a lease that is vacant or has expired, although the history of the
    /// database has not been known for long enough for an attempt. Succeeds only if the row and the
    /// history are exactly as described. Answers like an attempt.
    TakeOver {
        /// As for an attempt.
        seen: Epoch,
        /// As for an attempt.
        ttl: Duration,
        /// As for an attempt.
        clock_step: Duration,
        /// The epoch that must still be in the row.
        epoch: Epoch,
        /// Its holder; `None` if it is vacant, which succeeds only in a [`Server`] that follows another.
        holder: Option<Candidate>,
        /// Its number of renewals.
        renewals: u64,
        /// The history that must answer, known since the same time.
        server: Server,
    },
    /// Extend this process's own term. Answers [`Answer::Renewed`] or [`Answer::Gone`].
    Renew {
        /// The epoch of the term; no other term is touched.
        epoch: Epoch,
        /// The renewal's number within the term. The renewal takes effect only if its number is
        /// higher than every earlier one, so that a late statement cannot shorten a newer lease.
        ordinal: u64,
        /// The length of the lease.
        ttl: Duration,
        /// As for an attempt.
        clock_step: Duration,
        /// The asker's trust in this term still runs as it asks, so that nobody can have succeeded it;
        /// or it will not lead it again, whatever the answer. Whoever cannot tell extends nothing
        /// before the history of the database is known for a whole lease.
        leads: bool,
    },
    /// Vacate this process's own term. Answers [`Answer::Released`], even if the term was over.
    Resign {
        /// The epoch of the term; no other term is touched.
        epoch: Epoch,
    },
    /// Put this process on the list of candidates, or keep it there. Answers [`Answer::Listed`], or
    /// [`Answer::Unswept`].
    Register {
        /// How long the process stays on the list without another call.
        ttl: Duration,
        /// Also remove candidates that left long ago, a limited number of them. Set in the first call
        /// of this life, and until the answer to such a call is [`Answer::Listed`].
        sweep: bool,
    },
    /// Take this process off the list. Answers [`Answer::Listed`].
    Unregister,
    /// Ask whether anybody else is on the list of candidates. Answers [`Answer::Others`].
    Others,
}

/// What the database said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// This process holds the lease under a new term.
    Won {
        /// The new epoch.
        epoch: Epoch,
        /// What was left of the lease when the statement ran.
        remaining: Duration,
    },
    /// The row as it stands. The statement did not take it.
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
    /// The term no longer holds, whether or not it held before.
    Released,
    /// The list of candidates now is as the query asked.
    Listed,
    /// The same, and there may be more candidates that left long ago than one sweep removes.
    Unswept,
    /// Whether anybody else is on the list of candidates.
    Others(bool),
}

/// The leader row of one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The newest epoch, held or not; [`Epoch::NONE`] if nobody ever led.
    pub epoch: Epoch,
    /// Who holds it; `None` if vacant.
    pub holder: Option<Holder>,
    /// What is left of the lease by the database's clock, with whatever the holder allows for steps
    /// of that clock; zero if it has expired.
    pub remaining: Duration,
    /// The length the holder asked for, without that.
    pub ttl: Duration,
    /// The newest renewal's ordinal within the term.
    pub renewals: u64,
    /// Somebody has asked this very term to resign.
    pub resign_requested: bool,
    /// When the newest epoch was won, in milliseconds since 1970 by the database's clock; `None` if
    /// nobody ever led, or if this process has just won it itself. Nothing depends on it.
    pub elected_ms: Option<i64>,
    /// The history that answered.
    pub server: Server,
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
            elected_ms: None,
            server: Server::FIRST,
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

    /// What is left of the lease, but never more than its length: neither a clock that went back nor
    /// what is allowed for steps lengthens it.
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

/// How a question failed. What matters is whether the database may have executed the statement.
///
/// In doubt, report [`Ambiguous`](Failure::Ambiguous): that may cost a question, and is always safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The statement was certainly not executed and may be retried: no connection, server shutting
    /// down.
    Transient,
    /// Somebody else locks the row. A contender takes that for "held".
    Conflict,
    /// The statement may have been executed: time-out, connection lost in mid-call, unclear commit.
    Ambiguous,
    /// The statement will fail until an operator mends something: a missing table, a wrong
    /// password.
    Fatal,
}

/// What the caller reports to the lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The outcome of a query. Answers may come late, twice or never.
    Answer {
        /// The ticket of the query.
        ticket: Ticket,
        /// What the database said, or how it failed.
        result: Result<Answer, Failure>,
    },
    /// The row may have changed: a notification came, or a file was written. May come at any rate;
    /// several are as good as one. A leader looks at the row, too, and may find that it was
    /// replaced or asked to resign. A wake-up by itself cannot depose it.
    Wake,
    /// A notification says that the holder of this epoch has resigned. A follower of that term
    /// tries to win without reading the row first; everybody else takes it as a
    /// [`Wake`](Self::Wake). A false, late or repeated notification costs one question. If several
    /// wait for delivery, wake-ups among them, delivering only the one with the highest epoch is
    /// enough.
    Resigned(Epoch),
    /// Whether this process is fit to lead. A level: it holds until the next report.
    Health(bool),
}

//! Elections without an elector: call by call, as in `gemstone_utils`.
//!
//! A caller that runs `elect` on a timer and asks `is_leader` before leader work needs no state
//! machine. But it has no trust window: between two calls nothing tells the process that its lease
//! has ended. Work that must never run twice needs the elector ([`Lease`](super::Lease)) or a
//! fence.

use super::{
    config::Config,
    lint::ConfigError,
    message::{Answer, Holder, Query, Registration, Row},
    server::Server,
};
use crate::Epoch;
use core::time::Duration;

/// One process that takes part in an election call by call.
///
/// Each call is a [`Round`] of questions to the database. `ask` runs one: with the statements of
/// [`sql`](crate::sql), over whatever client there is. (`SqlStore::elect` of the adapters is this over
/// sqlx.)
///
/// ```
/// use election_core::{
///     Candidate, Epoch, Incarnation, Namespace, NodeId,
///     lease::{Answer, Candidacy, Query, Registration, Row},
/// };
/// use std::time::Duration;
///
/// fn elect<E>(
///     who: &mut Candidacy,
///     mut ask: impl FnMut(&Registration, &Query) -> Result<Answer, E>,
/// ) -> Result<Row, E> {
///     let registration = who.registration().clone();
///     let mut round = who.elect();
///     loop {
///         let answer = ask(&registration, round.query())?;
///         if let Some(row) = round.advance(answer) {
///             return Ok(row); // who leads now: `who.leads(&row)` says whether it is this process
///         }
///     }
/// }
///
/// let candidate = Candidate {
///     id: NodeId::new("host-7")?,
///     incarnation: Incarnation::from_random_bytes([7; 16]), // of the system's, at every start
/// };
/// let namespace = Namespace::new("reports")?;
/// let registration = Registration { namespace, candidate, label: None };
/// let mut who = Candidacy::new(registration).set_expire(Duration::from_secs(30))?;
/// // What a database says in which nobody leads.
/// let row = elect(&mut who, |_, query| {
///     Ok::<_, std::convert::Infallible>(match query {
///         Query::Attempt { ttl, .. } => Answer::Won { epoch: Epoch::new(7), remaining: *ttl },
///         _ => Answer::Listed,
///     })
/// })?;
/// assert!(who.leads(&row));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidacy {
    registration: Registration,
    expiry: Duration,
    clock_step: Duration,
    /// The highest epoch ever seen in the row.
    seen: Epoch,
}

impl Candidacy {
    /// How long a registration or a lease lasts unless [`set_expire`](Self::set_expire) says
    /// otherwise.
    pub const DEFAULT_EXPIRY: Duration = Duration::from_secs(60);

    /// Takes part under this registration. Two processes must never use one incarnation.
    #[must_use]
    pub fn new(registration: Registration) -> Self {
        let (expiry, clock_step) = (Self::DEFAULT_EXPIRY, Duration::ZERO);
        Self { registration, expiry, clock_step, seen: Epoch::NONE }
    }

    /// How long each call keeps the candidate listed and its lease alive, by the database's clock
    /// and in whole milliseconds. It must be longer than the time between two calls.
    ///
    /// # Errors
    /// Below [`Config::MIN_TTL`] or above [`Config::MAX_TTL`].
    pub fn set_expire(mut self, expiry: Duration) -> Result<Self, ConfigError> {
        if expiry < Config::MIN_TTL {
            return Err(ConfigError::TtlTooShort(expiry));
        }
        if expiry > Config::MAX_TTL {
            return Err(ConfigError::TtlTooLong(expiry));
        }
        self.expiry = expiry;
        Ok(self)
    }

    /// How far the database's clock may step forward between two calls, without a second leader:
    /// the database keeps the lease for so much longer. Nobody who elects call by call sees a crash
    /// sooner than after both, for that takes a memory of earlier looks. See
    /// [`ConfigBuilder::clock_step`](super::ConfigBuilder::clock_step).
    ///
    /// # Errors
    /// Above [`Config::MAX_CLOCK_STEP`].
    pub fn clock_step(mut self, step: Duration) -> Result<Self, ConfigError> {
        if step > Config::MAX_CLOCK_STEP {
            return Err(ConfigError::ClockStepTooLong(step));
        }
        self.clock_step = step;
        Ok(self)
    }

    /// A lower bound on every epoch that this candidate wins, for an operator who knows of epochs
    /// that the database has lost.
    ///
    /// # Errors
    /// Above [`Config::MAX_MIN_EPOCH`].
    pub fn min_epoch(mut self, epoch: Epoch) -> Result<Self, ConfigError> {
        if epoch > Config::MAX_MIN_EPOCH {
            return Err(ConfigError::MinEpochTooHigh(epoch));
        }
        self.learn(epoch.before());
        Ok(self)
    }

    /// The registration under which this process takes part.
    #[must_use]
    pub fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The question that puts this process on the list of candidates or keeps it there (`heartbeat`
    /// is the same).
    #[must_use]
    pub fn register(&self) -> Query {
        Query::Register { ttl: self.expiry, sweep: false }
    }

    /// Whether the row says that this process holds the lease. After a failover of the database no row
    /// says so, until a lease has passed since then: this process may have had a successor whose win
    /// was lost.
    #[must_use]
    pub fn leads(&self, row: &Row) -> bool {
        let own = |holder: &Holder| holder.candidate == self.registration.candidate;
        self.is_proof(row) && row.live_holder().is_some_and(own)
    }

    /// Whether a row says anything of who leads. Behind a promoted replica it does not, until the history
    /// of the database outlasts all that an earlier one can have granted.
    #[must_use]
    pub fn is_proof(&self, row: &Row) -> bool {
        self.proof_in(row).is_zero()
    }

    /// How long it still is before a row [says anything](Self::is_proof) of who leads.
    #[must_use]
    pub fn proof_in(&self, row: &Row) -> Duration {
        let lost = row.ttl.max(self.expiry).saturating_add(self.clock_step);
        row.server.outlasts_in(lost)
    }

    /// Begins to stand for election: list this process, take the lease if it is vacant or expired,
    /// renew it if this process holds it, and never touch another's. Yields the row as it stands
    /// afterwards.
    ///
    /// The candidate remembers the epochs that it sees. An epoch that it wins later is above them
    /// all, even if the database has lost them in the meantime.
    #[must_use]
    pub fn elect(&mut self) -> Round<'_> {
        let question = self.register();
        Round { candidacy: self, question, purpose: Purpose::Elect, races: 0 }
    }

    /// Begins to leave: vacate the lease if this process holds it, under any epoch, and take this
    /// process off the list. Yields the row as it was before.
    #[must_use]
    pub fn unregister(&mut self) -> Round<'_> {
        Round { candidacy: self, question: Query::Observe, purpose: Purpose::Leave(None), races: 0 }
    }

    fn learn(&mut self, epoch: Epoch) {
        self.seen = self.seen.max(epoch);
    }

    fn led(&self, epoch: Epoch, remaining: Duration, renewals: u64) -> Row {
        let Registration { candidate, label, .. } = &self.registration;
        let holder = Holder { candidate: candidate.clone(), label: label.clone() };
        let (holder, ttl) = (Some(holder), self.expiry);
        // What is allowed for steps is not this process's to use.
        let remaining = remaining.min(ttl);
        let (resign_requested, elected_ms) = (false, None);
        // It would not have been granted otherwise.
        let server = Server::FIRST;
        Row { epoch, holder, remaining, ttl, renewals, resign_requested, elected_ms, server }
    }
}

/// The questions of one call. Ask [`query`](Self::query), pass the answer to
/// [`advance`](Self::advance), and repeat until that yields a row.
#[derive(Debug)]
pub struct Round<'a> {
    candidacy: &'a mut Candidacy,
    question: Query,
    purpose: Purpose,
    races: u32,
}

#[derive(Clone, Debug)]
enum Purpose {
    Elect,
    Leave(Option<Row>),
}

/// How often to repeat an attempt that failed although the row says "vacant".
const MOST_RACES: u32 = 3;

impl Round<'_> {
    /// The question to ask now.
    #[must_use]
    pub fn query(&self) -> &Query {
        &self.question
    }

    /// Takes the answer to that question. If the row comes back neither held nor won, others raced
    /// for it again and again, or it was read from an old snapshot: try again later, in a new
    /// transaction. It never says that this process leads if a renewal was refused.
    #[must_use]
    pub fn advance(&mut self, answer: Answer) -> Option<Row> {
        match &answer {
            Answer::Won { epoch, .. } => self.candidacy.learn(*epoch),
            Answer::Seen(row) => self.candidacy.learn(row.epoch),
            _ => {}
        }
        match self.purpose {
            Purpose::Elect => self.elect(answer),
            Purpose::Leave(_) => self.leave(answer),
        }
    }

    fn elect(&mut self, answer: Answer) -> Option<Row> {
        match answer {
            Answer::Won { epoch, remaining } => Some(self.candidacy.led(epoch, remaining, 0)),
            Answer::Renewed { remaining, resign_requested } => {
                let Query::Renew { epoch, ordinal, .. } = self.question else { return None };
                let row = self.candidacy.led(epoch, remaining, ordinal);
                Some(Row { resign_requested, ..row })
            }
            // A row of its own that it could not renew is from an old snapshot: it leads no more.
            Answer::Seen(row) if self.races >= MOST_RACES && self.candidacy.leads(&row) => {
                Some(Row { remaining: Duration::ZERO, ..row })
            }
            Answer::Seen(row) if self.races >= MOST_RACES => Some(row),
            Answer::Seen(row) if self.candidacy.leads(&row) => {
                self.races += 1;
                let ordinal = row.renewals.saturating_add(1);
                self.question = Query::Renew {
                    epoch: row.epoch,
                    ordinal,
                    ttl: self.candidacy.expiry,
                    clock_step: self.candidacy.clock_step,
                    leads: false,
                };
                None
            }
            Answer::Seen(row) if !self.candidacy.is_proof(&row) => {
                let own = |held: &Holder| held.candidate == self.candidacy.registration.candidate;
                let remaining = match &row.holder {
                    Some(holder) if own(holder) => Duration::ZERO,
                    _ => row.remaining,
                };
                Some(Row { remaining, ..row })
            }
            Answer::Seen(row) if row.live_holder().is_some() => Some(row),
            // Listed: now the attempt. Or the row is from before a race or a change of hands:
            // attempt once more.
            Answer::Seen(_)
            | Answer::Gone
            | Answer::Listed
            | Answer::Unswept
            | Answer::Released
            | Answer::Others(_) => {
                self.races += u32::from(!matches!(answer, Answer::Listed | Answer::Unswept));
                let Candidacy { seen, expiry: ttl, clock_step, .. } = *self.candidacy;
                self.question = Query::Attempt { seen, ttl, clock_step };
                None
            }
        }
    }

    fn leave(&mut self, answer: Answer) -> Option<Row> {
        let Purpose::Leave(found) = &mut self.purpose else { return None };
        match answer {
            Answer::Seen(row) => {
                let own = row.holder.as_ref().is_some_and(|holder| {
                    holder.candidate == self.candidacy.registration.candidate
                });
                self.question =
                    if own { Query::Resign { epoch: row.epoch } } else { Query::Unregister };
                *found = Some(row);
                None
            }
            Answer::Listed => Some(found.take().unwrap_or_else(Row::vacant)),
            _ => {
                self.question = Query::Unregister;
                None
            }
        }
    }
}

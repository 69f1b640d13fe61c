//! The events that an elector logs through [`tracing`](https://docs.rs/tracing), for the operator
//! who has to find out at night what happened.
//!
//! Every event is inside a span `election` whose fields name the election (`election`) and this
//! process (`node`). What a [shared store](crate::guide::many) tells for all of its elections is inside a
//! span `store` whose field `place` names the database. The field `event` names the event; these names
//! stay, while messages may be reworded. The field `epoch` is a number, `cause` and `reason` are texts,
//! and fields that end in `_ms` are milliseconds.
//!
//! [The guide](crate::guide::reference#events-of-the-log) lists all of them.
//!
//! Trouble that ends within about a second is not logged, nor is a first connection that takes less
//! than a lease to open. Trouble that returns within five minutes
//! is logged once it has lasted as long as a lease. Trouble that costs leadership is logged right
//! behind `lost`, whose `cause` it is. The [metrics](crate::metrics) count every question. Single
//! failures are logged at debug. So are
//! locks that others hold, since these are usual among candidates.

mod cannot_lead;
mod chain;
mod duplicate_id;
mod notified;

pub use chain::chain;
pub(crate) use chain::shown;
pub(crate) use notified::Notified;

use crate::{
    StoreError, StoreErrorCode,
    metrics::op,
    outage::{Gravity, HumanDuration, News, Outage, Word},
};
use cannot_lead::CannotLead;
use duplicate_id::DuplicateId;
use election_core::{
    Candidate, Change, Epoch, Loss, Protocol as _, Timestamp,
    lease::{Answer, Config, Failure, Lease, Query, Registration},
};
use std::{mem, time::Duration};
use tracing::{Span, debug, info, warn};

/// Outages have a target of their own, for readers who want nothing else.
const OUTAGE: &str = "election_driver::outage";

/// The span around everything that is logged about one process's part in an election.
pub(crate) fn span(registration: &Registration) -> Span {
    let Registration { namespace, candidate, .. } = registration;
    // At the highest level, so that no filter removes these names from the events inside.
    tracing::error_span!("election", election = %namespace, node = %candidate.id)
}

/// Why nobody is elected behind a failover of the database, and for how long still.
#[must_use]
pub fn promoted(left: Duration) -> String {
    format!(
        "the database server was promoted, and every lease that its predecessor may have granted \
         has to expire first, in about {}",
        HumanDuration(left)
    )
}

/// Says why waiting to lead may never end.
pub(crate) fn still_held(epoch: Epoch) {
    warn!(
        event = "still_held",
        epoch = epoch.get(),
        "the guard of a lost leadership is still held, so this process does not stand for \
         election; drop the guard before waiting to lead again"
    );
}

/// Says what has happened to leadership, whichever protocol decides, and why it was lost if that is
/// known.
pub(crate) fn changed(change: &Change, cause: Option<&str>) {
    match change {
        Change::Elected(tenure) => {
            info!(event = "elected", epoch = tenure.term.epoch.get(), "elected");
        }
        Change::Lost { term, reason, .. } => {
            let epoch = term.epoch.get();
            match reason {
                Loss::Expired | Loss::Replaced | Loss::Unhealthy => {
                    warn!(event = "lost", epoch, %reason, cause, "leadership lost");
                }
                Loss::Resigned | Loss::ResignRequested | Loss::Withdrawn => {
                    info!(event = "resigning", epoch, %reason, "resigning");
                }
            }
        }
        Change::Followed { term, label, .. } => {
            let (leader, epoch) = (&term.leader, term.epoch.get());
            match label {
                Some(address) => {
                    info!(event = "following", %leader, epoch, %address, "following {leader} at {address}");
                }
                None => info!(event = "following", %leader, epoch, "following {leader}"),
            }
        }
        Change::Vacant => info!(event = "vacant", "nobody leads"),
        Change::Alert(alert) => warn!(event = "alert", alert = alert.as_str(), "{alert}"),
    }
}

/// What the log remembers so that it says each thing once.
pub(crate) struct Log {
    /// This process.
    own: Candidate,
    duplicate_id: DuplicateId,
    /// The time from the question to the end of belief, for a renewal that succeeds.
    trust: Duration,
    /// When belief ends, while this process leads.
    until: Option<Timestamp>,
    /// The leadership that ended last, and why.
    ended: Option<(Epoch, Loss)>,
    /// The epoch that the lease has not let go of.
    unreleased: Option<Epoch>,
    /// The last epoch that the database confirmed as released.
    released: Option<Epoch>,
    /// Wins that could not be led by.
    cannot_lead: CannotLead,
    /// Outages of the leader row.
    row: Outage,
    /// Outages of the list of candidates.
    list: Outage,
    cause: String,
    /// What the database said when it last failed to write for this process. A further read is then no
    /// news, unless the row shows that another process can write; one that may not write stays so.
    refused: Option<Failure>,
    /// Since when the list could not be written, and why. This counts only once the row is
    /// answered: while the row is out of reach too, only the row is logged.
    unlisted: Option<(Timestamp, String)>,
    notified: Notified,
    /// Whether the database has ever answered.
    reached: bool,
    /// It was said that nobody can be elected before leases of an earlier server have ended.
    promoted: bool,
    /// The store [tells](crate::Store::tells_outages) by itself that the database is out of reach.
    told_by_store: bool,
    /// The latest failure is one of those.
    common: bool,
    /// This log has told of the outage that lasts.
    told: bool,
}

impl Log {
    pub(crate) fn new(config: &Config, own: Candidate, told_by_store: bool) -> Self {
        let ttl = config.ttl();
        Self {
            own,
            duplicate_id: DuplicateId::default(),
            trust: ttl.saturating_sub(config.margin() + config.grace()),
            until: None,
            ended: None,
            unreleased: None,
            released: None,
            cannot_lead: CannotLead::default(),
            row: Outage::of_database(config.attempt_timeout(), ttl),
            list: Outage::new(config.interval(), ttl),
            cause: String::new(),
            refused: None,
            unlisted: None,
            notified: Notified::default(),
            reached: false,
            promoted: false,
            told_by_store,
            common: false,
            told: false,
        }
    }

    /// The lease has taken a step.
    pub(crate) fn stepped(&mut self, now: Timestamp, lease: &Lease, change: Option<&Change>) {
        if let Some(change) = change {
            self.changed(now, change);
        }
        self.until = lease.tenure(Timestamp::ZERO).map(|tenure| tenure.until);
        let unreleased = lease.unreleased();
        if let Some(epoch) = self.unreleased.filter(|_| unreleased != self.unreleased) {
            self.let_go(epoch, lease.kept());
        }
        self.unreleased = unreleased;
        let opens_at = lease.opens_at();
        if let Some(at) = opens_at.filter(|_| !self.promoted) {
            let left = at.since(now);
            let opens_in_ms = millis(left);
            info!(event = "promoted", opens_in_ms, "nobody can be elected yet: {}", promoted(left));
        }
        self.promoted = opens_at.is_some();
    }

    fn changed(&mut self, now: Timestamp, change: &Change) {
        let mut cost = false;
        if let Change::Elected(_) = change {
            self.cannot_lead.ends();
        }
        if let Change::Lost { term, reason, .. } = change {
            self.ended = Some((term.epoch, *reason));
            cost = *reason == Loss::Expired && self.row.is_ongoing();
        }
        changed(change, cost.then_some(&*self.cause));
        if let Some(word) = cost.then(|| self.row.costs(now)).flatten() {
            self.until = None;
            let cause = self.cause.clone();
            self.outage(now, word, &cause);
        }
    }

    /// The lease has let go of a term of this process.
    fn let_go(&mut self, epoch: Epoch, kept: Option<(Epoch, Duration)>) {
        let kept = kept.filter(|(kept, _)| *kept == epoch).map(|(_, rest)| rest);
        let released = self.released == Some(epoch);
        let reason = self.ended.filter(|(ended, _)| *ended == epoch).map(|(_, reason)| reason);
        if reason.is_none() {
            self.cannot_lead.given_back(epoch);
        }
        let epoch = epoch.get();
        match (reason, kept) {
            // The lease has run out, or another process has taken over.
            (None | Some(Loss::Expired | Loss::Replaced), _) => {
                debug!(epoch, released, "lease no longer held");
            }
            (Some(reason), Some(rest)) => info!(
                event = "release_deferred",
                epoch,
                %reason,
                lasts_ms = millis(rest),
                "the lease is kept for its minimum time; others can lead after that"
            ),
            (Some(reason), None) if released => {
                info!(event = "released", epoch, %reason, "leadership released");
            }
            (Some(reason), None) => warn!(
                event = "not_released",
                epoch,
                %reason,
                "the lease could not be released; others can lead once it expires"
            ),
        }
    }

    /// The database has answered.
    pub(crate) fn answered(&mut self, now: Timestamp, query: &Query, answer: &Answer) {
        self.reached = true;
        self.duplicate_id.look(&self.own, answer);
        if let (Query::Resign { epoch }, Answer::Released) = (query, answer) {
            self.released = Some(*epoch);
        }
        if matches!(query, Query::Attempt { .. }) {
            self.cannot_lead.attempted(answer);
        }
        if let (
            Query::Attempt { seen, .. } | Query::TakeOver { seen, .. },
            Answer::Won { epoch, .. },
        ) = (query, answer)
        {
            self.cannot_lead.won(*epoch, *seen);
        }
        if *query == Query::Unregister {
            return; // it leaves, and is no longer on the list
        }
        let lists = is_about_list(query);
        if !lists {
            let looks = *query == Query::Observe;
            let led = matches!(answer, Answer::Seen(row) if row.live_holder().is_some());
            let unlocked = self.refused != Some(Failure::Fatal) && led;
            if self.refused.is_some() && looks && !unlocked {
                return;
            }
            self.refused = None;
        }
        self.notified.answered(now);
        // Trouble with the list that began while the row was out of reach too is over with the
        // outage.
        let apart = !lists && !self.row.is_ongoing();
        if let Some((asked, cause)) = self.unlisted.take().filter(|_| apart) {
            self.not_listed(asked, now, &cause);
        }
        let outage = if lists { &mut self.list } else { &mut self.row };
        let Some(word) = outage.answered(now) else { return };
        if !lists {
            if mem::take(&mut self.told) {
                outage_over(word);
            }
            return;
        }
        let Word { lasts, failures, .. } = word;
        let (lasts_ms, lasts, failed) = (millis(lasts), HumanDuration(lasts), attempts(failures));
        info!(
            target: OUTAGE, event = "listed", lasts_ms, failures,
            "the candidate entry is renewed again after {lasts}; {failed}"
        );
    }

    /// Notifications arrive.
    pub(crate) fn hears(&mut self) {
        self.notified.hears();
    }

    /// No notifications arrive, for this reason.
    pub(crate) fn notifications_lost(&mut self, now: Timestamp, why: String) {
        if !self.told_by_store {
            self.notified.lost(now, why);
        }
    }

    /// A question that was asked at `asked` has failed, or the lease no longer waits for its
    /// answer.
    pub(crate) fn failed(
        &mut self,
        asked: Timestamp,
        now: Timestamp,
        query: &Query,
        error: &StoreError,
    ) {
        let cause = chain(error);
        self.notified.failed(now);
        debug!(query = op(query), cause, "no answer");
        let gravity = match error.kind {
            Failure::Conflict if !matches!(query, Query::Renew { .. }) => Gravity::Usual,
            Failure::Fatal => Gravity::Fatal,
            // An ordinary start over a slow link.
            _ if error.is_connecting() && !self.reached => Gravity::Usual,
            Failure::Conflict | Failure::Transient | Failure::Ambiguous => Gravity::Passing,
        };
        if is_about_list(query) {
            self.unlisted = Some((asked, cause));
            return;
        }
        self.unlisted = None;
        self.list.forget();
        self.common = self.told_by_store && out_of_reach(error);
        let refused = matches!(error.kind, Failure::Fatal | Failure::Conflict);
        let attempts = matches!(query, Query::Attempt { .. } | Query::TakeOver { .. });
        let writes = *query != Query::Observe && (refused || attempts);
        if writes && gravity != Gravity::Usual {
            self.refused = Some(error.kind);
        }
        if let Some(word) = self.row.failed(asked, now, gravity) {
            self.outage(now, word, &cause);
        }
        self.cause = cause;
    }

    fn outage(&mut self, now: Timestamp, word: Word, cause: &str) {
        if self.common {
            return;
        }
        self.told = true;
        let Some(until) = self.until else { return outage(word, cause) };
        let Word { news, lasts, failures } = word;
        let event = if news == News::Begins { "outage" } else { "outage_lasts" };
        let lasts_ms = millis(lasts);
        let left = until.since(now);
        let renewed = HumanDuration(now.since(until - self.trust));
        let (leads_for_ms, left) = (millis(left), HumanDuration(left));
        warn!(
            target: OUTAGE, event, cause, lasts_ms, failures, leads_for_ms,
            "no renewal for {renewed}: {cause}; leadership ends in {left}"
        );
    }

    fn not_listed(&mut self, asked: Timestamp, now: Timestamp, cause: &str) {
        let Some(word) = self.list.failed(asked, now, Gravity::Passing) else { return };
        let Word { news, lasts, failures } = word;
        let (lasts_ms, lasts) = (millis(lasts), HumanDuration(lasts));
        let event = if news == News::Begins { "unlisted" } else { "unlisted_lasts" };
        warn!(
            target: OUTAGE, event, cause, lasts_ms, failures,
            "the candidate entry could not be renewed for {lasts}: {cause}"
        );
    }
}

/// Says that the database does not answer.
pub(crate) fn outage(word: Word, cause: &str) {
    let Word { news, lasts, failures } = word;
    let lasts_ms = millis(lasts);
    if news == News::Begins {
        warn!(
            target: OUTAGE, event = "outage", cause, lasts_ms, failures,
            "waiting for the database: {cause}"
        );
        return;
    }
    let (lasts, failed) = (HumanDuration(lasts), attempts(failures));
    warn!(
        target: OUTAGE, event = "outage_lasts", cause, lasts_ms, failures,
        "still waiting for the database after {lasts}: {cause}; {failed}"
    );
}

/// Says that it answers again.
pub(crate) fn outage_over(Word { lasts, failures, .. }: Word) {
    let (lasts_ms, lasts, failed) = (millis(lasts), HumanDuration(lasts), attempts(failures));
    info!(
        target: OUTAGE, event = "outage_over", lasts_ms, failures,
        "the database answers again after {lasts}; {failed}"
    );
}

/// What helps if a shared store has to answer more than it can.
#[cfg(feature = "_sql")]
pub(crate) const OVERLOAD_REMEDY: &str = "share several stores, each with a part of the elections";

/// Says that questions of a shared store had waited for too long when their turn came. `more` turns like this one
/// have not been told since the last one that was.
#[cfg(feature = "_sql")]
pub(crate) fn overload(more: u64) {
    warn!(
        event = "overload",
        more,
        "questions of elections waited too long for the connection of their shared store, and were never sent: \
         the database is slow, or the elections are too many for one connection; in that case {OVERLOAD_REMEDY}"
    );
}

/// Whether nobody on the same connection gets an answer.
pub(crate) fn out_of_reach(error: &StoreError) -> bool {
    matches!(error.kind, Failure::Transient | Failure::Ambiguous)
        || error.code() == Some(StoreErrorCode::Login)
}

fn is_about_list(query: &Query) -> bool {
    matches!(query, Query::Register { .. } | Query::Unregister)
}

fn attempts(failures: u64) -> String {
    format!("{failures} attempt{} failed", if failures == 1 { "" } else { "s" })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(crate) mod capture;
#[cfg(test)]
mod tests;

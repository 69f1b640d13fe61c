//! The values that an elector reports to the [`metrics`](https://docs.rs/metrics) facade under the
//! feature `metrics`. Without that feature nothing is counted, timed or called.
//!
//! Any recorder of that facade works, a Prometheus exporter for instance. Install it before the
//! elector starts. (`election serve` and `election run --http` have one, at `/metrics`.) Every value carries the label `name`, the election's name.
//!
//! | metric | kind | more labels | value |
//! | --- | --- | --- | --- |
//! | [`leader_election_master_status`](MASTER_STATUS) | gauge | | 1 while this process leads, 0 otherwise |
//! | [`election_epoch`](EPOCH) | gauge | | the last epoch known to be led, by any process |
//! | [`election_transitions_total`](TRANSITIONS) | counter | | new leaderships seen, this process's own or not |
//! | [`election_attempts_total`](ATTEMPTS) | counter | `op`, `outcome` | questions to the database |
//! | [`election_attempt_duration_seconds`](ATTEMPT_DURATION) | histogram | `op` | seconds until the answer, or until the question was given up |
//! | [`election_trust_remaining_seconds`](TRUST_REMAINING) | gauge | | seconds of trust left in this process's leadership, 0 without one |
//! | [`election_alerts_total`](ALERTS) | counter | `alert` | what an operator was told of: the name of an [`Alert`](crate::core::Alert) |
//!
//! A [shared store](crate::SharedStore) has values of its own, with the label `store`, the kind and address of the
//! database. Its [`unnamed_metrics`](crate::SharedStore::unnamed_metrics) takes the label `name` from those above:
//!
//! | metric | kind | value |
//! | --- | --- | --- |
//! | [`election_store_elections`](STORE_ELECTIONS) | gauge | electors that use the store |
//! | [`election_store_waiting`](STORE_WAITING) | gauge | questions that waited when the last batch was done |
//! | [`election_store_batches_total`](STORE_BATCHES) | counter | batches |
//! | [`election_store_questions_total`](STORE_QUESTIONS) | counter | questions that they asked: divided by the batches, their average size |
//!
//! A node of a quorum asks no database. In place of the attempts it has:
//!
//! | metric | kind | more labels | value |
//! | --- | --- | --- | --- |
//! | [`election_heartbeats_heard_total`](HEARD) | counter | `peer` | heartbeats heard from that member |
//! | [`election_refused_frames_total`](REFUSED) | counter | `reason` | connections closed because of what came in |
//! | [`election_saves_total`](SAVES) | counter | `outcome` | ballots that became `durable`, or `failed` to |
//! | [`election_save_duration_seconds`](SAVE_DURATION) | histogram | | seconds until a ballot was durable |
//! | [`election_failover_paused`](FAILOVER_PAUSED) | gauge | | 1 while automatic failover is paused, as far as this node knows, 0 otherwise |
//! | [`election_certificate_expiration_timestamp_seconds`](CERTIFICATE_EXPIRATION) | gauge | `certificate` | when this node's `own` certificate ends, or its `authority`'s, in seconds since 1970 |
//! | [`election_certificates_refused`](CERTIFICATES_REFUSED) | gauge | | 1 while other certificates are there and cannot be used, so that the last ones stay, 0 otherwise |
//!
//! `op` is `observe`, `attempt`, `take_over`, `renew`, `resign`, `register`, `unregister` or
//! `others`. `outcome` is what became of the question: `seen` (the row was read), `won`, `lost`
//! (another process holds the lease), `renewed`, `gone` (the term is over), `released`, `listed`,
//! `listing` (whether others are on the list was read). Or it says how the question failed: `transient`, `conflict`, `ambiguous`, `fatal` (see [`Failure`]),
//! `timeout` (no answer in time), `overtaken` (something more urgent had to be asked).
//!
//! Gauges show the elector's last step. It takes one at every question, answer and deadline, so the
//! end of leadership shows at once, as does the end of the elector by a panic or an abort. A
//! process that is stopped reports nothing and keeps its last values; the other processes' values
//! are then better. Two electors of one election in one process share their values. Code that acts
//! on leadership must ask [`is_leader`](crate::Handle::is_leader), never a gauge.
//!
//! # What to watch
//!
//! | what | is usually | means |
//! | --- | --- | --- |
//! | the sum of `leader_election_master_status` over all processes | 1 | 0 for longer than a failover takes (the ttl, or about `down_after`): nobody leads. 2 can be two readings at different times, or a process that is stopped and keeps its last value |
//! | `election_transitions_total` | still | growing: leadership moves from process to process |
//! | `election_trust_remaining_seconds` where a process leads | near its highest value | close to 0: confirmations come late |
//! | `election_heartbeats_heard_total` of one `peer` | growing | still for a `down_after`: that member is down, or cut off from the one that reports it |
//! | `election_saves_total` with `failed` | still | a node cannot write its ballot, and does not vote until it can |
//! | `election_save_duration_seconds` | far below `down_after` | a slow disk delays votes |
//! | `election_failover_paused` | 0 | 1 for longer than the work that it was paused for: somebody forgot to resume it, and nobody takes over |
//! | `election_certificate_expiration_timestamp_seconds` | weeks after `time()` | close to it: the certificate was not renewed. Once it has ended no connection can be made |
//! | `election_certificates_refused` | 0 | 1: a renewal has failed, the [log](crate::log) says why |
//! | `election_alerts_total` | still | growing: the [log](crate::log) says more, under the event `alert` |
//!
//! What keeps a member from leading is said by [`Member::status`](crate::Member::status) and `election
//! status`.

/// Whether this process leads, 0 or 1. The name is client-go's, so that existing dashboards work.
pub const MASTER_STATUS: &str = "leader_election_master_status";
/// The last epoch known to be led, by this process or another; 0 before the first.
pub const EPOCH: &str = "election_epoch";
/// How many leaderships this process has seen begin, its own included.
pub const TRANSITIONS: &str = "election_transitions_total";
/// How many questions the database was asked, by `op` and `outcome`.
pub const ATTEMPTS: &str = "election_attempts_total";
/// How long each took, in seconds, by `op`.
pub const ATTEMPT_DURATION: &str = "election_attempt_duration_seconds";
/// How long this process's leadership could still be trusted at the elector's last step, in
/// seconds.
pub const TRUST_REMAINING: &str = "election_trust_remaining_seconds";

/// How many electors use a shared store.
pub const STORE_ELECTIONS: &str = "election_store_elections";
/// How many questions waited for a shared store's connection when its last batch was done.
pub const STORE_WAITING: &str = "election_store_waiting";
/// How many batches a shared store has asked.
pub const STORE_BATCHES: &str = "election_store_batches_total";
/// How many questions these have asked.
pub const STORE_QUESTIONS: &str = "election_store_questions_total";

/// How many alerts were given, by `alert`.
pub const ALERTS: &str = "election_alerts_total";
/// Whether automatic failover of a quorum is paused, 0 or 1.
pub const FAILOVER_PAUSED: &str = "election_failover_paused";

/// When a certificate of a quorum's node ends, in seconds since 1970, by `certificate`: `own` or
/// `authority`.
pub const CERTIFICATE_EXPIRATION: &str = "election_certificate_expiration_timestamp_seconds";
/// Whether other certificates are there and cannot be used, 0 or 1.
pub const CERTIFICATES_REFUSED: &str = "election_certificates_refused";

/// How many heartbeats a member of a quorum was heard to send, by `peer`.
pub const HEARD: &str = "election_heartbeats_heard_total";
/// How many connections of a quorum's port were closed because of what came in, by `reason`.
pub const REFUSED: &str = "election_refused_frames_total";
/// How many ballots were to be written, by `outcome`: `durable` or `failed`.
pub const SAVES: &str = "election_saves_total";
/// How long each took, in seconds.
pub const SAVE_DURATION: &str = "election_save_duration_seconds";

use election_core::lease::{Answer, Failure, Query};

#[cfg(feature = "_sql")]
pub(crate) use facade::shared;
pub(crate) use facade::{Asked, Metrics};

/// How a question ended.
#[cfg_attr(not(feature = "metrics"), allow(dead_code))]
pub(crate) enum End<'a> {
    Answered(&'a Answer),
    Failed(Failure),
    Overtaken,
    TimedOut,
}

/// The name of a question.
pub(crate) fn op(query: &Query) -> &'static str {
    match query {
        Query::Observe => "observe",
        Query::Attempt { .. } => "attempt",
        Query::TakeOver { .. } => "take_over",
        Query::Renew { .. } => "renew",
        Query::Resign { .. } => "resign",
        Query::Register { .. } => "register",
        Query::Unregister => "unregister",
        Query::Others => "others",
    }
}

#[cfg(feature = "metrics")]
mod facade {
    use super::{
        ALERTS, ATTEMPT_DURATION, ATTEMPTS, EPOCH, End, MASTER_STATUS, TRANSITIONS,
        TRUST_REMAINING, op,
    };
    use crate::Runtime;
    use ::metrics::{
        Label, SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram,
        gauge, histogram,
    };
    use election_core::{
        Change, Namespace, Protocol, Term, Timestamp,
        lease::{Answer, Failure, Query},
    };
    use std::sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    };

    /// The metrics of one election.
    pub(crate) struct Metrics {
        /// Without it the values are those of all elections without one.
        name: Option<SharedString>,
        /// It was last told to lead.
        leads: AtomicBool,
        /// The leadership that was counted last; zero before the first.
        counted: AtomicU64,
    }

    /// When a question was asked.
    pub(crate) struct Asked(Timestamp);

    impl Metrics {
        pub(crate) fn new(namespace: &Namespace, named: bool) -> Self {
            describe_gauge!(MASTER_STATUS, "1 while this process leads, 0 otherwise");
            describe_gauge!(EPOCH, "The last epoch known to be led");
            describe_counter!(
                TRANSITIONS,
                Unit::Count,
                "Leaderships seen to begin, by any process"
            );
            describe_counter!(ATTEMPTS, Unit::Count, "Questions to the database");
            describe_histogram!(
                ATTEMPT_DURATION,
                Unit::Seconds,
                "Time until the database answered"
            );
            describe_counter!(ALERTS, Unit::Count, "Alerts raised");
            describe_gauge!(
                TRUST_REMAINING,
                Unit::Seconds,
                "Time for which this leadership can still be trusted"
            );
            let name = named.then(|| Arc::<str>::from(namespace.as_str()).into());
            Self { name, leads: AtomicBool::new(false), counted: AtomicU64::new(0) }
        }

        /// The labels of a value that has these besides the name.
        fn labels<const N: usize>(&self, more: [(&'static str, &'static str); N]) -> Vec<Label> {
            let name = self.name.iter().map(|name| Label::new("name", name.clone()));
            name.chain(more.map(|(key, value)| Label::new(key, value))).collect()
        }

        /// The elector has taken a step.
        pub(crate) fn step<R: Runtime>(
            &self,
            runtime: &R,
            protocol: &impl Protocol,
            change: Option<&Change>,
        ) {
            let now = runtime.now();
            let tenure = protocol.tenure(now);
            let left = tenure.as_ref().map(|tenure| tenure.until.since(now));
            self.leads(left.map(|left| left.as_secs_f64()));
            self.changed(change);
        }

        pub(super) fn changed(&self, change: Option<&Change>) {
            if let Some(Change::Alert(alert)) = change {
                counter!(ALERTS, self.labels([("alert", alert.as_str())])).increment(1);
            }
            let begun = match change {
                Some(Change::Elected(tenure)) => Some(&tenure.term),
                Some(Change::Followed { term, .. }) => Some(term),
                Some(Change::Lost { .. } | Change::Vacant | Change::Alert(_)) | None => None,
            };
            // The counter exists from the first step on. A leadership may be told of again, when the
            // address of who leads is learnt.
            let transitions = counter!(TRANSITIONS, self.labels([]));
            let is_new = |term: &&Term| {
                let epoch = term.epoch.get();
                self.counted.swap(epoch, Ordering::Relaxed) != epoch
            };
            transitions.increment(u64::from(begun.filter(is_new).is_some()));
            if let (Some(term), Some(_)) = (begun, &self.name) {
                // Exact up to 2^53: for unix milliseconds, the year 287396.
                #[allow(clippy::cast_precision_loss)]
                let epoch = term.epoch.get() as f64;
                gauge!(EPOCH, self.labels([])).set(epoch);
            }
        }

        /// The elector has ended, in whatever way.
        pub(crate) fn closed(&self) {
            self.leads(None);
        }

        pub(super) fn leads(&self, left: Option<f64>) {
            let status = gauge!(MASTER_STATUS, self.labels([]));
            let led = self.leads.swap(left.is_some(), Ordering::Relaxed);
            if self.name.is_some() {
                status.set(if left.is_some() { 1.0 } else { 0.0 });
                gauge!(TRUST_REMAINING, self.labels([])).set(left.unwrap_or_default());
            } else if left.is_some() && !led {
                status.increment(1);
            } else if left.is_none() && led {
                status.decrement(1);
            }
        }

        pub(crate) fn asking<R: Runtime>(&self, runtime: &R) -> Asked {
            Asked(runtime.now())
        }

        pub(crate) fn asked<R: Runtime>(
            &self,
            runtime: &R,
            &Asked(asked): &Asked,
            query: &Query,
            end: &End<'_>,
        ) {
            let op = ("op", op(query));
            let labels = self.labels([op, ("outcome", outcome(query, end))]);
            counter!(ATTEMPTS, labels).increment(1);
            let took = runtime.now().since(asked);
            histogram!(ATTEMPT_DURATION, self.labels([op])).record(took.as_secs_f64());
        }
    }

    /// A shared store has run a statement that asked so many questions.
    #[cfg(feature = "_sql")]
    #[allow(clippy::cast_precision_loss)] // a gauge of a number of things
    pub(crate) fn shared(
        store: &Arc<str>,
        status: &crate::SharedStatus,
        batches: u64,
        questions: u64,
    ) {
        use super::{STORE_BATCHES, STORE_ELECTIONS, STORE_QUESTIONS, STORE_WAITING};
        let store = SharedString::from(store.clone());
        gauge!(STORE_ELECTIONS, "store" => store.clone()).set(status.elections as f64);
        gauge!(STORE_WAITING, "store" => store.clone()).set(status.waiting as f64);
        counter!(STORE_BATCHES, "store" => store.clone()).increment(batches);
        counter!(STORE_QUESTIONS, "store" => store).increment(questions);
    }

    fn outcome(query: &Query, end: &End<'_>) -> &'static str {
        match end {
            End::Answered(Answer::Won { .. }) => "won",
            End::Answered(Answer::Seen(_)) if *query == Query::Observe => "seen",
            End::Answered(Answer::Seen(_)) => "lost",
            End::Answered(Answer::Renewed { .. }) => "renewed",
            End::Answered(Answer::Gone) => "gone",
            End::Answered(Answer::Released) => "released",
            End::Answered(Answer::Listed | Answer::Unswept) => "listed",
            End::Answered(Answer::Others(_)) => "listing",
            End::Failed(Failure::Transient) => "transient",
            End::Failed(Failure::Conflict) => "conflict",
            End::Failed(Failure::Ambiguous) => "ambiguous",
            End::Failed(Failure::Fatal) => "fatal",
            End::Overtaken => "overtaken",
            End::TimedOut => "timeout",
        }
    }
}

/// The same names without an effect: they compile to nothing.
#[cfg(not(feature = "metrics"))]
mod facade {
    use super::End;
    use crate::Runtime;
    use election_core::{Change, Namespace, Protocol, lease::Query};

    pub(crate) struct Metrics;

    pub(crate) struct Asked;

    impl Metrics {
        pub(crate) fn new(_: &Namespace, _: bool) -> Self {
            Self
        }

        pub(crate) fn step<R: Runtime>(&self, _: &R, _: &impl Protocol, _: Option<&Change>) {}

        pub(crate) fn closed(&self) {}

        pub(crate) fn asking<R: Runtime>(&self, _: &R) -> Asked {
            Asked
        }

        pub(crate) fn asked<R: Runtime>(&self, _: &R, _: &Asked, _: &Query, _: &End<'_>) {}
    }

    #[cfg(feature = "_sql")]
    pub(crate) fn shared(_: &std::sync::Arc<str>, _: &crate::SharedStatus, _: u64, _: u64) {}
}

#[cfg(all(test, feature = "metrics"))]
mod tests;

//! What an elector tells the [`metrics`](https://docs.rs/metrics) facade under the feature
//! `metrics`; without that feature nothing is counted, timed or called.
//!
//! Any recorder of that facade will do, a Prometheus exporter for instance; install it before the
//! elector starts. Every value carries the label `name`, the election's.
//!
//! | metric | kind | more labels | value |
//! | --- | --- | --- | --- |
//! | [`leader_election_master_status`](MASTER_STATUS) | gauge | | 1 while this process leads, 0 otherwise |
//! | [`election_epoch`](EPOCH) | gauge | | the epoch that was last known to be led, by whomever |
//! | [`election_transitions_total`](TRANSITIONS) | counter | | new leaderships seen, own or not |
//! | [`election_attempts_total`](ATTEMPTS) | counter | `op`, `outcome` | questions to the database |
//! | [`election_attempt_duration_seconds`](ATTEMPT_DURATION) | histogram | `op` | seconds until the answer, or until it was given up |
//! | [`election_trust_remaining_seconds`](TRUST_REMAINING) | gauge | | seconds of trust left in the own leadership, 0 without |
//!
//! `op` is `observe`, `attempt`, `take_over`, `renew`, `resign`, `register` or `unregister`.
//! `outcome` says what came of it: `seen` (the row was read), `won`, `lost` (somebody else holds
//! the lease), `renewed`, `gone` (the term is over), `released`, `listed`; or how it failed:
//! `transient`, `conflict`, `ambiguous`, `fatal` (see [`Failure`]),
//! `timeout` (no answer in time), `overtaken`
//! (something more urgent had to be asked).
//!
//! Gauges are what the elector said at its last step: at every question, answer and deadline, so
//! the end of leadership shows at once, the end of the elector by a panic or an abort included. A
//! process that is stopped says nothing and keeps its last values; others know better then. Two
//! electors of one election in one process share their values. What acts on leadership asks
//! [`is_leader`](crate::Handle::is_leader), never a gauge.

/// Whether this process leads, 0 or 1. The name is client-go's, for the sake of existing
/// dashboards.
pub const MASTER_STATUS: &str = "leader_election_master_status";
/// The epoch that was last known to be led, by this process or another; 0 before the first.
pub const EPOCH: &str = "election_epoch";
/// How many leaderships this process has seen begin, its own included.
pub const TRANSITIONS: &str = "election_transitions_total";
/// How many questions the database was asked, by `op` and `outcome`.
pub const ATTEMPTS: &str = "election_attempts_total";
/// How long each took, in seconds, by `op`.
pub const ATTEMPT_DURATION: &str = "election_attempt_duration_seconds";
/// How long the own leadership could still be trusted at the elector's last step, in seconds.
pub const TRUST_REMAINING: &str = "election_trust_remaining_seconds";

use election_core::lease::{Answer, Failure, Query};

pub(crate) use facade::{Asked, Metrics};

/// How a question ended.
#[cfg_attr(not(feature = "metrics"), allow(dead_code))]
pub(crate) enum End<'a> {
    Answered(&'a Answer),
    Failed(Failure),
    Overtaken,
    TimedOut,
}

/// What a question is called.
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
        ATTEMPT_DURATION, ATTEMPTS, EPOCH, End, MASTER_STATUS, TRANSITIONS, TRUST_REMAINING, op,
    };
    use crate::Runtime;
    use ::metrics::{
        SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
        histogram,
    };
    use election_core::{
        Change, Namespace, Protocol as _, Timestamp,
        lease::{Answer, Failure, Lease, Query},
    };
    use std::sync::Arc;

    /// The metrics of one election.
    pub(crate) struct Metrics {
        name: SharedString,
    }

    /// When a question was asked.
    pub(crate) struct Asked(Timestamp);

    impl Metrics {
        pub(crate) fn new(namespace: &Namespace) -> Self {
            describe_gauge!(MASTER_STATUS, "1 while this process leads, 0 otherwise");
            describe_gauge!(EPOCH, "The epoch that was last known to be led");
            describe_counter!(TRANSITIONS, Unit::Count, "Leaderships seen to begin");
            describe_counter!(ATTEMPTS, Unit::Count, "Questions to the database");
            describe_histogram!(ATTEMPT_DURATION, Unit::Seconds, "Time until the answer");
            describe_gauge!(TRUST_REMAINING, Unit::Seconds, "Trust left in the own leadership");
            Self { name: Arc::<str>::from(namespace.as_str()).into() }
        }

        /// The elector has taken a step.
        pub(crate) fn step<R: Runtime>(&self, runtime: &R, lease: &Lease, change: Option<&Change>) {
            let now = runtime.now();
            let tenure = lease.tenure(now);
            let left = tenure.as_ref().map(|tenure| tenure.until.since(now));
            self.leads(left.map(|left| left.as_secs_f64()));
            let begun = match change {
                Some(Change::Elected(tenure)) => Some(&tenure.term),
                Some(Change::Followed { term, .. }) => Some(term),
                Some(Change::Lost { .. } | Change::Vacant | Change::Alert(_)) | None => None,
            };
            // The counter is there from the first step on.
            let transitions = counter!(TRANSITIONS, "name" => self.name.clone());
            transitions.increment(u64::from(begun.is_some()));
            if let Some(term) = begun {
                // Exact up to 2^53, for unix milliseconds the year 287396.
                #[allow(clippy::cast_precision_loss)]
                let epoch = term.epoch.get() as f64;
                gauge!(EPOCH, "name" => self.name.clone()).set(epoch);
            }
        }

        /// The elector has ended, however.
        pub(crate) fn closed(&self) {
            self.leads(None);
        }

        fn leads(&self, left: Option<f64>) {
            let status = if left.is_some() { 1.0 } else { 0.0 };
            gauge!(MASTER_STATUS, "name" => self.name.clone()).set(status);
            gauge!(TRUST_REMAINING, "name" => self.name.clone()).set(left.unwrap_or_default());
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
            let (name, op) = (&self.name, op(query));
            let labels = [
                ("name", name.clone()),
                ("op", op.into()),
                ("outcome", outcome(query, end).into()),
            ];
            counter!(ATTEMPTS, &labels).increment(1);
            let took = runtime.now().since(asked);
            histogram!(ATTEMPT_DURATION, "name" => name.clone(), "op" => op)
                .record(took.as_secs_f64());
        }
    }

    fn outcome(query: &Query, end: &End<'_>) -> &'static str {
        match end {
            End::Answered(Answer::Won { .. }) => "won",
            End::Answered(Answer::Seen(_)) if *query == Query::Observe => "seen",
            End::Answered(Answer::Seen(_)) => "lost",
            End::Answered(Answer::Renewed { .. }) => "renewed",
            End::Answered(Answer::Gone) => "gone",
            End::Answered(Answer::Released) => "released",
            End::Answered(Answer::Listed) => "listed",
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

/// The same words without a meaning: they compile to nothing.
#[cfg(not(feature = "metrics"))]
mod facade {
    use super::End;
    use crate::Runtime;
    use election_core::{
        Change, Namespace,
        lease::{Lease, Query},
    };

    pub(crate) struct Metrics;

    pub(crate) struct Asked;

    impl Metrics {
        pub(crate) fn new(_: &Namespace) -> Self {
            Self
        }

        pub(crate) fn step<R: Runtime>(&self, _: &R, _: &Lease, _: Option<&Change>) {}

        pub(crate) fn closed(&self) {}

        pub(crate) fn asking<R: Runtime>(&self, _: &R) -> Asked {
            Asked
        }

        pub(crate) fn asked<R: Runtime>(&self, _: &R, _: &Asked, _: &Query, _: &End<'_>) {}
    }
}

//! What a node counts beyond what [every elector](crate::metrics) does.

#[cfg(feature = "metrics")]
mod facade {
    use crate::metrics::{FAILOVER_PAUSED, HEARD, REFUSED, SAVE_DURATION, SAVES};
    use crate::quorum::refusal::Refusal;
    #[cfg(feature = "tls")]
    use crate::{
        metrics::{CERTIFICATE_EXPIRATION as EXPIRATION, CERTIFICATES_REFUSED as KEYS_REFUSED},
        quorum::tls::CertificateStatus,
    };
    use ::metrics::{
        Counter, SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram,
        gauge, histogram,
    };
    use election_core::{
        Alert, Change, Namespace, NodeId,
        quorum::{Members, Message, Peer},
    };
    #[cfg(feature = "tls")]
    use std::time::UNIX_EPOCH;
    use std::{collections::BTreeMap, sync::Arc, time::Duration};

    pub(in crate::quorum) struct Metrics {
        name: SharedString,
        heard: BTreeMap<Peer, Counter>,
    }

    impl Metrics {
        pub(in crate::quorum) fn new(namespace: &Namespace) -> Self {
            describe_counter!(HEARD, Unit::Count, "Heartbeats heard from a member");
            describe_counter!(REFUSED, Unit::Count, "Connections closed because of invalid input");
            describe_counter!(SAVES, Unit::Count, "Attempts to write the ballot, by outcome");
            describe_histogram!(SAVE_DURATION, Unit::Seconds, "Time until the ballot was durable");
            describe_gauge!(FAILOVER_PAUSED, "1 while automatic failover is paused, 0 otherwise");
            let name: SharedString = Arc::<str>::from(namespace.as_str()).into();
            gauge!(FAILOVER_PAUSED, "name" => name.clone()).set(0.0);
            Self { name, heard: BTreeMap::new() }
        }

        /// Counts the members of another list.
        pub(in crate::quorum) fn regroup(&mut self, members: &Members) {
            let named = members.others().filter_map(|peer| Some((peer, members.id(peer)?)));
            let counter = |(peer, id): (Peer, &NodeId)| {
                let id = id.to_string();
                (peer, counter!(HEARD, "name" => self.name.clone(), "peer" => id))
            };
            self.heard = named.map(counter).collect();
        }

        pub(in crate::quorum) fn stepped(&self, change: Option<&Change>) {
            let paused = match change {
                Some(Change::Alert(Alert::FailoverPaused { .. })) => 1.0,
                Some(Change::Alert(Alert::FailoverResumed)) => 0.0,
                _ => return,
            };
            gauge!(FAILOVER_PAUSED, "name" => self.name.clone()).set(paused);
        }

        pub(in crate::quorum) fn heard(&self, from: Peer, message: Option<&Message>) {
            if matches!(message, Some(Message::Heartbeat(_))) {
                if let Some(counter) = self.heard.get(&from) {
                    counter.increment(1);
                }
            }
        }

        pub(in crate::quorum) fn refused(&self, error: &Refusal) {
            counter!(REFUSED, "name" => self.name.clone(), "reason" => error.as_str()).increment(1);
        }

        pub(in crate::quorum) fn saved(&self, took: Duration, durable: bool) {
            let outcome = if durable { "durable" } else { "failed" };
            counter!(SAVES, "name" => self.name.clone(), "outcome" => outcome).increment(1);
            histogram!(SAVE_DURATION, "name" => self.name.clone()).record(took.as_secs_f64());
        }

        #[cfg(feature = "tls")]
        pub(in crate::quorum) fn certificates(&self, status: &CertificateStatus) {
            describe_gauge!(EXPIRATION, Unit::Seconds, "When a certificate expires, in Unix time");
            describe_gauge!(KEYS_REFUSED, "1 while new certificates are present but unusable");
            let expiry = status.expiry;
            for (which, end) in [("own", expiry.certificate), ("authority", expiry.authority)] {
                let seconds = end.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
                gauge!(EXPIRATION, "name" => self.name.clone(), "certificate" => which)
                    .set(seconds);
            }
            let refused = if status.refused.is_some() { 1.0 } else { 0.0 };
            gauge!(KEYS_REFUSED, "name" => self.name.clone()).set(refused);
        }
    }
}

/// The same names without an effect: they compile to nothing.
#[cfg(not(feature = "metrics"))]
mod facade {
    use crate::quorum::refusal::Refusal;
    use election_core::{
        Change, Namespace,
        quorum::{Members, Message, Peer},
    };
    use std::time::Duration;

    pub(in crate::quorum) struct Metrics;

    impl Metrics {
        pub(in crate::quorum) fn new(_: &Namespace) -> Self {
            Self
        }
        pub(in crate::quorum) fn regroup(&mut self, _: &Members) {}
        pub(in crate::quorum) fn stepped(&self, _: Option<&Change>) {}
        pub(in crate::quorum) fn heard(&self, _: Peer, _: Option<&Message>) {}
        pub(in crate::quorum) fn refused(&self, _: &Refusal) {}
        pub(in crate::quorum) fn saved(&self, _: Duration, _: bool) {}
        #[cfg(feature = "tls")]
        pub(in crate::quorum) fn certificates(&self, _: &crate::quorum::tls::CertificateStatus) {}
    }
}

pub(super) use facade::Metrics;

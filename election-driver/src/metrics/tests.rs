use super::{MASTER_STATUS, Metrics, TRANSITIONS, TRUST_REMAINING};
use ::metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    with_local_recorder,
};
use election_core::{Change, Epoch, Label, Loss, Namespace, NodeId, Tenure, Term, Timestamp};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// The value of the metric of this name. Who leads counts only without a name.
struct Only(&'static str, Arc<AtomicU64>);

impl Only {
    fn new(name: &'static str) -> Self {
        Self(name, Arc::default())
    }

    fn is(&self, key: &Key) -> bool {
        key.name() == self.0 && (self.0 != MASTER_STATUS || key.labels().len() == 0)
    }

    fn value(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }
}

impl Recorder for Only {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        if self.is(key) { Counter::from_arc(self.1.clone()) } else { Counter::noop() }
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        assert_ne!(key.name(), TRUST_REMAINING, "it has no sum");
        if self.is(key) { Gauge::from_arc(self.1.clone()) } else { Gauge::noop() }
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

fn term(epoch: u64) -> Term {
    let leader = NodeId::new("n1").expect("a name");
    Term { leader, epoch: Epoch::new(epoch) }
}

#[test]
fn a_leadership_is_counted_once_however_often_it_is_told_of() {
    let counter = Only::new(TRANSITIONS);
    with_local_recorder(&counter, || {
        let metrics = Metrics::new(&Namespace::default(), true);
        let counted = |change: Option<&Change>| {
            metrics.changed(change);
            counter.value()
        };
        let followed = |epoch, label: Option<&str>| {
            let label = label.map(|label| Label::new(label).expect("a label"));
            counted(Some(&Change::Followed { term: term(epoch), label, elected_ms: None }))
        };
        assert_eq!(counted(None), 0);
        assert_eq!(followed(3, None), 1);
        assert_eq!(followed(3, Some("127.0.0.1:1")), 1, "its address was learnt");
        assert_eq!(counted(Some(&Change::Vacant)), 1);
        assert_eq!(followed(3, None), 1, "it has not ended");
        assert_eq!(followed(4, None), 2);
        let (since, until, stop_by) = (Timestamp::ZERO, Timestamp::MAX, Timestamp::MAX);
        let elected = Change::Elected(Tenure { term: term(5), since, until, stop_by });
        assert_eq!(counted(Some(&elected)), 3);
        let reason = Loss::Expired;
        let (stop_by, successor) = (Timestamp::MAX, None);
        let lost = Change::Lost { term: term(5), reason, stop_by, successor };
        assert_eq!(counted(Some(&lost)), 3);
    });
}

#[test]
fn metrics_without_a_name_count_the_elections_that_are_led() {
    let gauge = Only::new(MASTER_STATUS);
    with_local_recorder(&gauge, || {
        let one = Metrics::new(&Namespace::new("one").expect("a name"), false);
        let other = Metrics::new(&Namespace::new("other").expect("a name"), false);
        let led = || f64::from_bits(gauge.value()).to_string();
        for (metrics, left, expected) in [
            (&one, Some(3.0), "1"),
            (&one, Some(2.0), "1"),
            (&other, None, "1"),
            (&other, Some(9.0), "2"),
            (&one, None, "1"),
            (&one, None, "1"),
        ] {
            metrics.leads(left);
            assert_eq!(led(), expected);
        }
        other.closed();
        assert_eq!(led(), "0");
    });
}

#[cfg(feature = "_sql")]
#[test]
fn a_shared_store_reports_what_it_has_asked() {
    use super::{STORE_BATCHES, STORE_ELECTIONS, STORE_QUESTIONS, STORE_WAITING, shared};
    let status = crate::SharedStatus { elections: 60, waiting: 7, batches: 40, questions: 90 };
    for (name, expected) in [
        (STORE_ELECTIONS, 60_f64.to_bits()),
        (STORE_WAITING, 7_f64.to_bits()),
        (STORE_BATCHES, 4),
        (STORE_QUESTIONS, 10),
    ] {
        let only = Only::new(name);
        with_local_recorder(&only, || {
            for (batches, questions) in [(1, 5), (3, 5), (0, 0)] {
                shared(&"e.db".into(), &status, batches, questions);
            }
        });
        assert_eq!(only.value(), expected, "{name}");
    }
}

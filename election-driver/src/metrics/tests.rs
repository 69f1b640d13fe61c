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

/// Sums up the leaderships, and counts who leads without a name.
#[derive(Default)]
struct Sum(Arc<AtomicU64>);

impl Recorder for Sum {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        match key.name() {
            TRANSITIONS => Counter::from_arc(self.0.clone()),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        assert_ne!(key.name(), TRUST_REMAINING, "it has no sum");
        match key.name() {
            MASTER_STATUS if key.labels().len() == 0 => Gauge::from_arc(self.0.clone()),
            _ => Gauge::noop(),
        }
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
    let sum = Sum::default();
    with_local_recorder(&sum, || {
        let metrics = Metrics::new(&Namespace::default(), true);
        let counted = |change: Option<&Change>| {
            metrics.changed(change);
            sum.0.load(Ordering::Relaxed)
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
    let sum = Sum::default();
    with_local_recorder(&sum, || {
        let one = Metrics::new(&Namespace::new("one").expect("a name"), false);
        let other = Metrics::new(&Namespace::new("other").expect("a name"), false);
        let led = || f64::from_bits(sum.0.load(Ordering::Relaxed)).to_string();
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

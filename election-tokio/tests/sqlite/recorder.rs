//! A recorder that remembers everything.

use ::metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use election_driver::conformance::tasks::News;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

/// Everything that was ever recorded, by kind, name and labels: the sums of a counter, the values
/// of a gauge or a histogram.
pub(super) type Values = BTreeMap<String, Vec<f64>>;

#[derive(Clone, Default)]
pub(super) struct Records {
    pub(super) values: Arc<News<Values>>,
    pub(super) units: Arc<Mutex<BTreeMap<String, Option<Unit>>>>,
}

impl Records {
    /// The recorder that is installed in this process, by whichever test comes first.
    pub(super) fn installed() -> Self {
        static RECORDS: OnceLock<Records> = OnceLock::new();
        let records = RECORDS.get_or_init(|| {
            let records = Self::default();
            ::metrics::set_global_recorder(records.clone()).map_err(|_| "another one").unwrap();
            records
        });
        records.clone()
    }

    pub(super) fn all(&self, key: &str) -> Vec<f64> {
        self.values.get().get(key).cloned().unwrap_or_default()
    }

    pub(super) fn last(&self, key: &str) -> Option<f64> {
        self.values.get().get(key)?.last().copied()
    }

    /// Waits until the last value under this key is as expected.
    pub(super) async fn until(&self, key: &str, condition: impl Fn(f64) -> bool) -> f64 {
        let there = |values: &Values| values.get(key).and_then(|all| all.last()).copied();
        self.values.until(|values| there(values).filter(|value| condition(*value))).await
    }

    fn slot(&self, kind: &str, key: &Key) -> Arc<Slot> {
        let mut labels: Vec<_> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        labels.sort();
        let key = format!("{kind} {}{{{}}}", key.name(), labels.join(","));
        Arc::new(Slot { records: self.clone(), key })
    }

    fn describe(&self, kind: &str, name: &KeyName, unit: Option<Unit>) {
        self.units.lock().unwrap().insert(format!("{kind} {}", name.as_str()), unit);
    }
}

impl Recorder for Records {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe("counter", &key, unit);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe("gauge", &key, unit);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe("histogram", &key, unit);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.slot("counter", key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.slot("gauge", key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.slot("histogram", key))
    }
}

/// One name with its labels.
struct Slot {
    records: Records,
    key: String,
}

impl Slot {
    fn push(&self, next: impl FnOnce(f64) -> f64) {
        self.records.values.change(|values| {
            let all = values.entry(self.key.clone()).or_default();
            all.push(next(all.last().copied().unwrap_or_default()));
        });
    }
}

impl CounterFn for Slot {
    fn increment(&self, value: u64) {
        self.push(|sum| sum + value as f64);
    }

    fn absolute(&self, value: u64) {
        self.push(|_| value as f64);
    }
}

impl GaugeFn for Slot {
    fn increment(&self, value: f64) {
        self.push(|sum| sum + value);
    }

    fn decrement(&self, value: f64) {
        self.push(|sum| sum - value);
    }

    fn set(&self, value: f64) {
        self.push(|_| value);
    }
}

impl HistogramFn for Slot {
    fn record(&self, value: f64) {
        self.push(|_| value);
    }
}

//! What a recorder receives while elections run on SQLite: every name, its labels and values, and
//! above all that no process is left shown as leader when it is none.
#![allow(clippy::unwrap_used)]

use election_tokio::{
    Cluster, Election, Handle, SqliteStore, Status, Store, StoreError,
    core::lease::{Answer, Failure, Query, Registration},
    metrics::{
        ALERTS, ATTEMPT_DURATION, ATTEMPTS, EPOCH, FAILOVER_PAUSED, HEARD, MASTER_STATUS,
        TRANSITIONS, TRUST_REMAINING,
    },
};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};
use tempfile::TempDir;
use tokio::sync::watch;

/// Everything that was ever recorded, by kind, name and labels: the sums of a counter, the values
/// of a gauge or a histogram.
type Values = BTreeMap<String, Vec<f64>>;

#[derive(Clone, Default)]
struct Records {
    values: Arc<watch::Sender<Values>>,
    units: Arc<Mutex<BTreeMap<String, Option<Unit>>>>,
}

impl Records {
    /// The recorder that is installed in this process, by whichever test comes first.
    fn installed() -> Self {
        static RECORDS: OnceLock<Records> = OnceLock::new();
        let records = RECORDS.get_or_init(|| {
            let records = Self::default();
            metrics::set_global_recorder(records.clone()).map_err(|_| "another one").unwrap();
            records
        });
        records.clone()
    }

    fn all(&self, key: &str) -> Vec<f64> {
        self.values.borrow().get(key).cloned().unwrap_or_default()
    }

    fn last(&self, key: &str) -> Option<f64> {
        self.values.borrow().get(key)?.last().copied()
    }

    /// Waits until the last value under this key is as expected.
    async fn until(&self, key: &str, condition: impl Fn(f64) -> bool) -> f64 {
        let mut values = self.values.subscribe();
        let there = |values: &Values| values.get(key).and_then(|all| all.last()).copied();
        let found = values.wait_for(|values| there(values).is_some_and(&condition));
        let Ok(found) = tokio::time::timeout(Duration::from_secs(60), found).await else {
            panic!("{key} stays at {:?}", self.last(key))
        };
        there(&found.unwrap()).unwrap()
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
        self.records.values.send_modify(|values| {
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

fn gauge(name: &str, election: &str) -> String {
    format!("gauge {name}{{name={election}}}")
}

fn attempts(election: &str, op: &str, outcome: &str) -> String {
    format!("counter {ATTEMPTS}{{name={election},op={op},outcome={outcome}}}")
}

fn transitions(election: &str) -> String {
    format!("counter {TRANSITIONS}{{name={election}}}")
}

struct Place(TempDir);

impl Place {
    async fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.store().ensure_schema().await.unwrap();
        place
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(self.0.path().join("e.db")).unwrap()
    }

    fn election(&self, name: &str, ttl: Duration) -> Election<SqliteStore> {
        Election::builder(name).node("n").ttl(ttl).store(self.store()).build().unwrap()
    }

    async fn execute(&self, sql: &'static str) {
        let file = self.0.path().join("e.db");
        let options = SqliteConnectOptions::new().filename(file);
        let mut connection = options.connect().await.unwrap();
        sqlx::query(sql).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}

const SHORT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(300);

async fn renewed(handle: &Handle) {
    let until = handle.lease().unwrap().until();
    let changed =
        |status: &Status| status.tenure.as_ref().is_none_or(|tenure| tenure.until > until);
    assert!(handle.watch().until(changed).await.tenure.is_some(), "lost instead of renewed");
}

/// From the first step to the last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ordinary_life() {
    let records = Records::installed();
    let place = Place::new().await;
    let name = "ordinary";
    let handle = place.election(name, SHORT).start();
    let epoch = handle.elected().await.unwrap().epoch();
    records.until(&gauge(MASTER_STATUS, name), |value| value == 1.0).await;
    let first = records.all(&gauge(MASTER_STATUS, name))[0];
    assert_eq!(first, 0.0, "it is there before it leads");
    assert_eq!(records.last(&gauge(EPOCH, name)), Some(epoch.get() as f64));
    assert_eq!(records.last(&transitions(name)), Some(1.0));
    assert_eq!(records.last(&attempts(name, "attempt", "won")), Some(1.0));
    renewed(&handle).await;
    assert!(records.last(&attempts(name, "renew", "renewed")) >= Some(1.0));

    handle.shutdown().await;
    assert_eq!(records.last(&gauge(MASTER_STATUS, name)), Some(0.0));
    assert_eq!(records.last(&gauge(TRUST_REMAINING, name)), Some(0.0));
    assert_eq!(records.last(&gauge(EPOCH, name)), Some(epoch.get() as f64), "still the last");
    assert_eq!(records.last(&transitions(name)), Some(1.0));
    for (op, outcome) in [("register", "listed"), ("resign", "released"), ("unregister", "listed")]
    {
        assert!(records.last(&attempts(name, op, outcome)) >= Some(1.0), "{op} {outcome}");
        let took = records.all(&format!("histogram {ATTEMPT_DURATION}{{name={name},op={op}}}"));
        assert!(took.iter().all(|took| (0.0..60.0).contains(took)), "{op}: {took:?}");
        assert!(took.iter().any(|took| *took > 0.0), "{op}: {took:?}");
    }
    let trust = records.all(&gauge(TRUST_REMAINING, name));
    let most = trust.iter().copied().fold(0.0, f64::max);
    // Belief begins with the ttl less margin and grace.
    assert!((1.0..2.0).contains(&most), "{most} of a ttl of two seconds");
}

/// As many questions are counted as were timed, and everything is described with its unit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_and_times_agree() {
    let records = Records::installed();
    let place = Place::new().await;
    let name = "agree";
    let handle = place.election(name, SHORT).start();
    handle.elected().await.unwrap();
    renewed(&handle).await;
    handle.shutdown().await;
    let values = records.values.borrow().clone();
    let label = format!("name={name}");
    let of = |what: &str| {
        let of_it = |(key, _): &(&String, &Vec<f64>)| key.contains(what) && key.contains(&label);
        values.iter().filter(of_it).map(|(_, all)| all.len()).sum::<usize>()
    };
    assert!(of(ATTEMPTS) >= 5);
    assert_eq!(of(ATTEMPTS), of(ATTEMPT_DURATION));
    let units = records.units.lock().unwrap();
    for (metric, unit) in [
        (format!("gauge {MASTER_STATUS}"), None),
        (format!("gauge {EPOCH}"), None),
        (format!("counter {TRANSITIONS}"), Some(Unit::Count)),
        (format!("counter {ATTEMPTS}"), Some(Unit::Count)),
        (format!("histogram {ATTEMPT_DURATION}"), Some(Unit::Seconds)),
        (format!("gauge {TRUST_REMAINING}"), Some(Unit::Seconds)),
    ] {
        assert_eq!(units.get(&metric), Some(&unit), "{metric}");
    }
}

/// The term is taken away behind the leader's back, by a process that then goes on to lead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_was_replaced_shows_at_once() {
    let records = Records::installed();
    let place = Place::new().await;
    let name = "replaced";
    // Not woken by the file, it learns of it by its next renewal.
    let line = watch::Sender::new(true);
    let store = Line { store: place.store(), up: line.subscribe() };
    let handle = Election::builder(name).ttl(SHORT).store(store).build().unwrap().start();
    let epoch = handle.elected().await.unwrap().epoch();
    records.until(&gauge(MASTER_STATUS, name), |value| value == 1.0).await;
    let usurp = "UPDATE election_leader SET epoch = epoch + 1, leader_id = 'usurper', \
                 incarnation = '00000000-0000-0000-0000-000000000000', \
                 expires_ms = expires_ms + 300000 WHERE ns = 'replaced'";
    place.execute(usurp).await;
    records.until(&gauge(MASTER_STATUS, name), |value| value == 0.0).await;
    records.until(&attempts(name, "renew", "gone"), |value| value == 1.0).await;
    let next = (epoch.get() + 1) as f64;
    records.until(&gauge(EPOCH, name), |value| value == next).await;
    records.until(&transitions(name), |value| value == 2.0).await;
    assert_eq!(records.last(&gauge(TRUST_REMAINING, name)), Some(0.0));
    // A row that was put there by hand can only be observed.
    records.until(&attempts(name, "observe", "seen"), |value| value >= 1.0).await;
    handle.shutdown().await;
}

/// A runtime that ends drops the elector midway, and nobody takes a step any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_elector_that_was_dropped_leads_nothing() {
    let records = Records::installed();
    let place = Place::new().await;
    let name = "dropped";
    let (handle, driver) = place.election(name, LONG).into_parts();
    let elector = tokio::spawn(driver);
    handle.elected().await.unwrap();
    records.until(&gauge(MASTER_STATUS, name), |value| value == 1.0).await;
    elector.abort();
    records.until(&gauge(MASTER_STATUS, name), |value| value == 0.0).await;
    records.until(&gauge(TRUST_REMAINING, name), |value| value == 0.0).await;
}

/// The lease runs out because the database does not answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_does_not_answer() {
    let records = Records::installed();
    let place = Place::new().await;
    let name = "silent";
    let line = watch::Sender::new(true);
    let store = Line { store: place.store(), up: line.subscribe() };
    let handle = Election::builder(name).ttl(SHORT).store(store).build().unwrap().start();
    handle.elected().await.unwrap();
    records.until(&gauge(MASTER_STATUS, name), |value| value == 1.0).await;
    line.send_replace(false);
    records.until(&attempts(name, "renew", "timeout"), |value| value >= 1.0).await;
    records.until(&gauge(MASTER_STATUS, name), |value| value == 0.0).await;
    assert!(!handle.is_leader());
    line.send_replace(true);
    records.until(&gauge(MASTER_STATUS, name), |value| value == 1.0).await;
    records.until(&transitions(name), |value| value == 2.0).await;
    handle.shutdown().await;
}

/// A store whose questions hang while the line is down.
struct Line {
    store: SqliteStore,
    up: watch::Receiver<bool>,
}

impl Store for Line {
    async fn answer(&mut self, who: &Registration, query: &Query) -> Result<Answer, StoreError> {
        self.up.wait_for(|up| *up).await.unwrap();
        self.store.answer(who, query).await
    }
}

/// Every kind of failure has its own outcome.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_are_told_apart() {
    let records = Records::installed();
    for (kind, outcome) in [
        (Failure::Transient, "transient"),
        (Failure::Conflict, "conflict"),
        (Failure::Ambiguous, "ambiguous"),
        (Failure::Fatal, "fatal"),
    ] {
        let handle = Election::builder(outcome).store(Fails(kind)).build().unwrap().start();
        records.until(&attempts(outcome, "attempt", outcome), |value| value >= 1.0).await;
        assert_eq!(records.last(&gauge(MASTER_STATUS, outcome)), Some(0.0));
        handle.withdraw();
    }
}

struct Fails(Failure);

impl Store for Fails {
    async fn answer(&mut self, _: &Registration, _: &Query) -> Result<Answer, StoreError> {
        Err(StoreError::new(self.0, "as it was told"))
    }
}

/// Heartbeats are counted by the member that has sent them: of one that has left no more come, while
/// those of the other go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeats_are_counted_by_peer() {
    let records = Records::installed();
    let directory = tempfile::tempdir().unwrap();
    let free: Vec<_> =
        (0..3).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<_> =
        free.iter().map(|socket| socket.local_addr().unwrap().to_string()).collect();
    drop(free);
    let mut members = Vec::new();
    for own in 1..=3 {
        // Names differ, so that what one has heard is not added to what another has.
        let builder = Cluster::builder(format!("heard-by-{own}")).node(format!("n{own}"));
        let builder = (1..)
            .zip(&addresses)
            .fold(builder, |builder, (nth, address)| builder.member(format!("n{nth}"), address));
        let builder = builder.ballot(directory.path().join(own.to_string())).without_data();
        members.push(builder.down_after(SHORT).build().unwrap().start().await.unwrap());
    }
    let heard = |by: usize, of: usize| format!("counter {HEARD}{{name=heard-by-{by},peer=n{of}}}");
    for (by, of) in [(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)] {
        records.until(&heard(by, of), |count| count >= 3.0).await;
    }
    members.pop().unwrap().handle().shutdown().await;
    let of_third = records.last(&heard(1, 3)).unwrap();
    let of_second = records.last(&heard(1, 2)).unwrap();
    records.until(&heard(1, 2), |count| count >= of_second + 10.0).await;
    // What it had sent may still have been on its way.
    assert!(records.last(&heard(1, 3)).unwrap() <= of_third + 3.0);
    assert_eq!(records.last(&heard(1, 1)).unwrap_or(0.0), 0.0, "nobody hears itself");
    for member in &members {
        member.handle().shutdown().await;
    }
}

/// A pause that somebody has forgotten is seen by whoever looks at the metrics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_of_failover_is_shown_until_it_is_over() {
    let records = Records::installed();
    let directory = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let builder = Cluster::builder("paused").node("n1").member("n1", address).without_data();
    let builder = builder.ballot(directory.path().join("ballot")).down_after(SHORT);
    let member = builder.build().unwrap().start().await.unwrap();
    member.handle().elected().await.unwrap();
    let gauge = format!("gauge {FAILOVER_PAUSED}{{name=paused}}");
    let alerts = |alert: &str| format!("counter {ALERTS}{{alert={alert},name=paused}}");
    assert_eq!(records.last(&gauge), Some(0.0));
    member.pause(None).await.unwrap();
    records.until(&gauge, |paused| paused == 1.0).await;
    records.until(&alerts("failover_paused"), |count| count == 1.0).await;
    member.resume().await.unwrap();
    records.until(&gauge, |paused| paused == 0.0).await;
    records.until(&alerts("failover_resumed"), |count| count == 1.0).await;
    member.handle().shutdown().await;
}

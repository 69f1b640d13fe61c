//! What a recorder receives while elections run: every name, its labels and values, and above all
//! that no process is left shown as leader when it is none.

use crate::places::InFile;
use crate::recorder::Records;
use ::metrics::Unit;
use election_core::lease::{Answer, Failure, Query, Registration};
use election_driver::{
    SqliteStore, Status, Store, StoreError,
    conformance::{
        sqlite::execute,
        tasks::{News, spawn},
    },
    metrics::{
        ALERTS, ATTEMPT_DURATION, ATTEMPTS, EPOCH, FAILOVER_PAUSED, HEARD, MASTER_STATUS,
        TRANSITIONS, TRUST_REMAINING,
    },
};
use election_testing::free_port;
use election_tokio::{Cluster, Election, Handle, Tokio};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

fn gauge(name: &str, election: &str) -> String {
    format!("gauge {name}{{name={election}}}")
}

fn attempts(election: &str, op: &str, outcome: &str) -> String {
    format!("counter {ATTEMPTS}{{name={election},op={op},outcome={outcome}}}")
}

fn transitions(election: &str) -> String {
    format!("counter {TRANSITIONS}{{name={election}}}")
}

/// The recorder is the whole process's, in which more than one runtime may be tested.
fn unique(name: &str) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    format!("{name}-{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn election(place: &InFile, name: &str, ttl: Duration) -> Election<SqliteStore> {
    Election::builder(name).node("n").ttl(ttl).store(place.store()).build().unwrap()
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
async fn an_ordinary_life(place: InFile) {
    let records = Records::installed();
    let name = &unique("ordinary");
    let handle = election(&place, name, SHORT).start();
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
    // As many questions are counted as were timed, and everything is described with its unit.
    let values = records.values.get().clone();
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
async fn a_leader_that_was_replaced_shows_at_once(place: InFile) {
    let records = Records::installed();
    let name = &unique("replaced");
    // Not woken by the file, it learns of it by its next renewal.
    let line = Arc::new(News::new(true));
    let store = Line { store: place.store(), up: line.clone() };
    let handle = Election::builder(name).ttl(SHORT).store(store).build().unwrap().start();
    let epoch = handle.elected().await.unwrap().epoch();
    records.until(&gauge(MASTER_STATUS, name), |value| value == 1.0).await;
    let usurp = format!(
        "UPDATE election_leader SET epoch = epoch + 1, leader_id = 'usurper', \
                 incarnation = '00000000-0000-0000-0000-000000000000', \
                 expires_ms = expires_ms + 300000 WHERE ns = '{name}'"
    );
    execute(&mut place.raw().await, &usurp).await;
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
async fn an_elector_that_was_dropped_leads_nothing(place: InFile) {
    let records = Records::installed();
    let name = &unique("dropped");
    let (handle, driver) = election(&place, name, LONG).into_parts();
    let elector = spawn::<Tokio, _>(driver);
    handle.elected().await.unwrap();
    records.until(&gauge(MASTER_STATUS, name), |value| value == 1.0).await;
    elector.abort();
    records.until(&gauge(MASTER_STATUS, name), |value| value == 0.0).await;
    records.until(&gauge(TRUST_REMAINING, name), |value| value == 0.0).await;
}

/// The lease runs out because the database does not answer.
async fn a_database_that_does_not_answer(place: InFile) {
    let records = Records::installed();
    let name = &unique("silent");
    let line = Arc::new(News::new(true));
    let store = Line { store: place.store(), up: line.clone() };
    let handle = Election::builder(name).ttl(SHORT).store(store).build().unwrap().start();
    handle.elected().await.unwrap();
    records.until(&gauge(MASTER_STATUS, name), |value| value == 1.0).await;
    line.change(|up| *up = false);
    records.until(&attempts(name, "renew", "timeout"), |value| value >= 1.0).await;
    records.until(&gauge(MASTER_STATUS, name), |value| value == 0.0).await;
    assert!(!handle.is_leader());
    line.change(|up| *up = true);
    records.until(&gauge(MASTER_STATUS, name), |value| value == 1.0).await;
    records.until(&transitions(name), |value| value == 2.0).await;
    handle.shutdown().await;
}

/// A store whose questions hang while the line is down.
struct Line {
    store: SqliteStore,
    up: Arc<News<bool>>,
}

impl Store for Line {
    async fn answer(&mut self, who: &Registration, query: &Query) -> Result<Answer, StoreError> {
        self.up.until(|up| up.then_some(())).await;
        self.store.answer(who, query).await
    }
}

/// Every kind of failure has its own outcome.
async fn failures_are_told_apart(_: InFile) {
    let records = Records::installed();
    for (kind, outcome) in [
        (Failure::Transient, "transient"),
        (Failure::Conflict, "conflict"),
        (Failure::Ambiguous, "ambiguous"),
        (Failure::Fatal, "fatal"),
    ] {
        let name = &unique(outcome);
        let handle = Election::builder(name).store(Fails(kind)).build().unwrap().start();
        records.until(&attempts(name, "attempt", outcome), |value| value >= 1.0).await;
        assert_eq!(records.last(&gauge(MASTER_STATUS, name)), Some(0.0));
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
async fn heartbeats_are_counted_by_peer(place: InFile) {
    let records = Records::installed();
    let name = unique("heard");
    let addresses: Vec<_> = (0..3).map(|_| format!("127.0.0.1:{}", free_port())).collect();
    let mut members = Vec::new();
    for own in 1..=3 {
        // Names differ, so that what one has heard is not added to what another has.
        let builder = Cluster::builder(format!("{name}-by-{own}")).node(format!("n{own}"));
        let builder = (1..)
            .zip(&addresses)
            .fold(builder, |builder, (nth, address)| builder.member(format!("n{nth}"), address));
        let builder = builder.ballot(place.directory().join(own.to_string())).without_data();
        members.push(builder.down_after(SHORT).build().unwrap().start().await.unwrap());
    }
    let heard = |by: usize, of: usize| format!("counter {HEARD}{{name={name}-by-{by},peer=n{of}}}");
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
async fn a_pause_of_failover_is_shown_until_it_is_over(place: InFile) {
    let records = Records::installed();
    let address = format!("127.0.0.1:{}", free_port());
    let name = &unique("paused");
    let builder = Cluster::builder(name).node("n1").member("n1", address).without_data();
    let builder = builder.ballot(place.directory().join("ballot")).down_after(SHORT);
    let member = builder.build().unwrap().start().await.unwrap();
    member.handle().elected().await.unwrap();
    let gauge = format!("gauge {FAILOVER_PAUSED}{{name={name}}}");
    let alerts = |alert: &str| format!("counter {ALERTS}{{alert={alert},name={name}}}");
    assert_eq!(records.last(&gauge), Some(0.0));
    member.pause(None).await.unwrap();
    records.until(&gauge, |paused| paused == 1.0).await;
    records.until(&alerts("failover_paused"), |count| count == 1.0).await;
    member.resume().await.unwrap();
    records.until(&gauge, |paused| paused == 0.0).await;
    records.until(&alerts("failover_resumed"), |count| count == 1.0).await;
    member.handle().shutdown().await;
}

tests! {
    an_ordinary_life: in_file;
    a_leader_that_was_replaced_shows_at_once: in_file;
    an_elector_that_was_dropped_leads_nothing: in_file;
    a_database_that_does_not_answer: in_file;
    failures_are_told_apart: in_file;
    heartbeats_are_counted_by_peer: in_file;
    a_pause_of_failover_is_shown_until_it_is_over: in_file;
}

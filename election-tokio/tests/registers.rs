//! Elections in a register, in memory.
#![cfg(feature = "test-util")]
#![allow(clippy::unwrap_used)]

use election_driver::conformance::{OnRegister, register::keeps_its_promises};
use election_tokio::{
    Election, Handle, InMemoryRegister, Register, RegisterStore, Status, Store as _, StoreError,
    Tokio,
    core::{
        Candidate, Drift, Epoch, Incarnation, Loss, Namespace, NodeId, Timestamp,
        lease::{Answer, Candidacy, Config, Failure, Holder, Query, Registration, Row},
        register::Leader as LeaderValue,
    },
};
use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::runtime::Builder;
use uuid::Uuid;

const TTL: Duration = Duration::from_secs(10);

mod suite {
    use super::*;

    fn block_on(check: impl Future<Output = ()>) {
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(check);
    }

    election_driver::conformance_of_store!(OnRegister<Tokio>, block_on);
}

fn start(register: &InMemoryRegister, node: &str) -> Handle {
    let store = RegisterStore::new(register.clone());
    Election::builder("e").node(node).ttl(TTL).store(store).build().unwrap().start()
}

/// In a new life.
fn candidate(id: &str) -> Candidate {
    let incarnation = Incarnation::new(Uuid::new_v4());
    Candidate { id: NodeId::new(id).unwrap(), incarnation }
}

async fn followed(handle: &Handle) -> Epoch {
    let status = handle.watch().until(|status| status.leader.is_some()).await;
    status.leader.unwrap().term.epoch
}

async fn row(store: &mut RegisterStore<InMemoryRegister>) -> Row {
    store.leader(&Namespace::new("e").unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_register_in_memory_keeps_its_promises() {
    keeps_its_promises::<Tokio, _>(InMemoryRegister::default(), "promises/").await;
}

/// By the paused clock: whoever takes over has seen the leader's value unchanged for a lease.
#[tokio::test(start_paused = true)]
async fn a_crashed_leader_is_succeeded_after_its_lease() {
    let register = InMemoryRegister::default();
    let store = RegisterStore::new(register.clone());
    let election = Election::builder("e").node("a").ttl(TTL).store(store).build().unwrap();
    let (a, driver) = election.into_parts();
    let driver = tokio::spawn(driver);
    let first = a.elected().await.unwrap().epoch();
    let b = start(&register, "b");
    assert_eq!(followed(&b).await, first);
    tokio::time::sleep(5 * TTL).await;
    assert_eq!((a.is_leader(), b.is_leader()), (true, false), "it is renewed");
    let crashed = tokio::time::Instant::now();
    driver.abort();
    let lease = b.elected().await.unwrap();
    let silence = TTL.mul_f64(1.09);
    let passed = crashed.elapsed();
    // The last renewal is up to an interval and its jitter old.
    assert!(passed >= silence - TTL.mul_f64(0.41), "after {passed:?}");
    assert!(passed <= silence + TTL.mul_f64(0.05), "after {passed:?}");
    assert!(lease.epoch() > first);
}

#[tokio::test(start_paused = true)]
async fn a_resignation_is_noticed_at_once() {
    let register = InMemoryRegister::default();
    let a = start(&register, "a");
    let first = a.elected().await.unwrap().epoch();
    let b = start(&register, "b");
    followed(&b).await;
    let resigned = tokio::time::Instant::now();
    a.resign().await.unwrap();
    assert!(b.elected().await.unwrap().epoch() > first);
    assert!(resigned.elapsed() < Duration::from_millis(500), "after {:?}", resigned.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_asked_to_resign_does() {
    let register = InMemoryRegister::default();
    let a = start(&register, "a");
    let lease = a.elected().await.unwrap();
    let (name, mut store) = (Namespace::new("e").unwrap(), RegisterStore::new(register));
    let other = Epoch::new(lease.epoch().get() + 1);
    assert!(!store.request_resign(&name, other).await.unwrap());
    assert_eq!(store.request_resign_of_leader(&name).await.unwrap(), Some(lease.epoch()));
    assert_eq!(lease.lost().await.reason, Loss::ResignRequested);
}

/// A register to which somebody else writes this before it is written next.
#[derive(Clone)]
struct Overtaken(InMemoryRegister, Option<String>);

impl Register for Overtaken {
    type Version = u64;

    async fn read(&mut self, key: &str) -> Result<Option<(String, u64)>, StoreError> {
        self.0.read(key).await
    }

    async fn write(
        &mut self,
        key: &str,
        value: &str,
        expected: Option<&u64>,
    ) -> Result<Option<u64>, StoreError> {
        if let Some(other) = self.1.take() {
            let (_, version) = self.0.read(key).await?.unwrap();
            self.0.write(key, &other, Some(&version)).await?.unwrap();
        }
        self.0.write(key, value, expected).await
    }
}

#[tokio::test]
async fn a_successor_is_not_asked_to_resign_instead() {
    let held = |epoch| {
        let mut value = LeaderValue::default();
        (value.epoch, value.ttl) = (Epoch::new(epoch), TTL);
        let candidate = candidate("a");
        value.holder = Some(Holder { candidate, label: None });
        value.to_string()
    };
    let mut register = InMemoryRegister::default();
    register.write("e/leader", &held(7), None).await.unwrap();
    let (name, successor) = (Namespace::new("e").unwrap(), held(8));
    let mut store = RegisterStore::new(Overtaken(register.clone(), Some(successor.clone())));
    assert_eq!(store.request_resign_of_leader(&name).await.unwrap(), None);
    assert_eq!(register.read("e/leader").await.unwrap().unwrap().0, successor);
}

/// The store's own clock is set, and so is how far clocks may drift apart.
#[tokio::test]
async fn the_drift_that_is_set_makes_the_silence() {
    let registration = |id| {
        let (namespace, candidate) = (Namespace::new("e").unwrap(), candidate(id));
        Registration { namespace, candidate, label: None }
    };
    let attempt = Query::Attempt { seen: Epoch::NONE, ttl: TTL, clock_step: Duration::ZERO };
    let first = RegisterStore::new(InMemoryRegister::default());
    first.clone().answer(&registration("a"), &attempt).await.unwrap();
    for (ppm, silence) in [(200, 10_003), (90_000, 10_901)] {
        let (mut store, b) = (first.clone(), registration("b"));
        let clock = Arc::new(AtomicU64::new(1 << 40));
        let read = clock.clone();
        store.set_clock(Arc::new(move || Timestamp::from_nanos(read.load(Relaxed))));
        let drift = Drift::from_ppm(ppm).unwrap();
        store.prepare(&Config::builder().ttl(TTL).drift(drift).build().unwrap());
        store.answer(&b, &Query::Observe).await.unwrap();
        clock.fetch_add((silence - 1) * 1_000_000, Relaxed);
        let answer = store.answer(&b, &attempt).await.unwrap();
        assert!(matches!(answer, Answer::Seen(_)), "{ppm} ppm: {answer:?}");
        clock.fetch_add(1_000_000, Relaxed);
        let answer = store.answer(&b, &attempt).await.unwrap();
        assert!(matches!(answer, Answer::Won { .. }), "{ppm} ppm: {answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_notices_that_nobody_renews() {
    let register = InMemoryRegister::default();
    let store = RegisterStore::new(register.clone());
    let election = Election::builder("e").node("a").ttl(TTL).store(store).build().unwrap();
    let (a, driver) = election.into_parts();
    let driver = tokio::spawn(driver);
    a.elected().await.unwrap();
    let store = RegisterStore::new(register.clone());
    let builder = Election::builder("e").node("o").ttl(TTL).observer();
    let observer = builder.store(store.clone()).build().unwrap().start();
    followed(&observer).await;
    driver.abort();
    observer.watch().until(|status| status.leader.is_none()).await;
    assert!(row(&mut store.clone()).await.holder.is_some(), "the value still names it");
}

#[tokio::test(start_paused = true)]
async fn a_key_of_something_else_is_named() {
    let mut register = InMemoryRegister::default();
    register.write("e/leader", "{\"owner\": 7}", None).await.unwrap();
    let a = start(&register, "a");
    let fatal = |status: &Status| status.error.as_ref().is_some_and(|it| it.kind == Failure::Fatal);
    let status = a.watch().until(fatal).await;
    let error = status.error.unwrap().to_string();
    assert!(error.contains("\"e/leader\"") && error.contains("a prefix of their own"), "{error}");
}

/// The store remembers between the calls.
#[tokio::test]
async fn who_elects_call_by_call_takes_over_after_a_lease() {
    const BRIEF: Duration = Duration::from_millis(100);
    let candidacy = |id: &str| {
        let (namespace, candidate) = (Namespace::new("e").unwrap(), candidate(id));
        let who = Candidacy::new(Registration { namespace, candidate, label: None });
        who.set_expire(BRIEF).unwrap()
    };
    let (mut one, mut two) = (candidacy("one"), candidacy("two"));
    let mut first = RegisterStore::new(InMemoryRegister::default());
    let mut second = first.clone();
    let won = first.elect(&mut one).await.unwrap();
    let begun = std::time::Instant::now();
    let next = loop {
        let row = second.elect(&mut two).await.unwrap();
        if two.leads(&row) {
            break row;
        }
        assert!(one.leads(&row));
        tokio::task::yield_now().await;
    };
    assert!(begun.elapsed() >= BRIEF.mul_f64(1.09) && next.epoch > won.epoch);
    assert!(!first.is_leader(&one).await.unwrap() && second.is_leader(&two).await.unwrap());
    let row = first.elect(&mut one).await.unwrap();
    assert!(two.leads(&row), "it is not preempted");
}

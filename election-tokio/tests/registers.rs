//! Elections in a register, in memory.
#![cfg(feature = "test-util")]
#![allow(clippy::unwrap_used)]

use election_driver::conformance::{OnRegister, register::keeps_its_promises};
use election_tokio::{
    Election, Handle, InMemoryRegister, Register as _, RegisterStore, Status, Tokio,
    core::{
        Candidate, Epoch, Incarnation, Loss, Namespace, NodeId,
        lease::{Candidacy, Failure, Registration, Row},
    },
};
use std::{future::Future, time::Duration};
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
        let id = NodeId::new(id).unwrap();
        let candidate = Candidate { id, incarnation: Incarnation::new(Uuid::new_v4()) };
        let namespace = Namespace::new("e").unwrap();
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

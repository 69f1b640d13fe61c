//! Transactions that are made only by the leader of a term.

use crate::places::{OnEtcd, register};
use election_driver::Register as _;
use election_tokio::{Election, EtcdFence, Lease, RegisterStore};
use std::time::Duration;

/// Whether the transaction was made, which puts this value into a key of the application.
fn put(place: &OnEtcd, fence: &EtcdFence, value: &str) -> bool {
    let EtcdFence { key, above, below, .. } = fence;
    let holds = format!("value({key:?}) > {above:?}\nvalue({key:?}) < {below:?}\n");
    let said = place.cluster().feed(&["txn"], &format!("{holds}\nput balance {value}\n\n\n"));
    said.starts_with("SUCCESS")
}

async fn a_transaction_is_made_only_in_its_term(place: OnEtcd) {
    let register = register(&format!("{}/jobs", place.cluster().url()));
    let store = RegisterStore::new(register.clone());
    let elector = |node: &str| {
        let builder = Election::builder("test").node(node).ttl(Duration::from_secs(3));
        builder.store(store.clone()).build().unwrap().start()
    };
    let fence = |lease: &Lease| register.fence(lease.registration(), lease.epoch());
    let a = elector("a");
    let of_a = fence(&a.elected().await.unwrap());
    assert!(put(&place, &of_a, "1"));
    let mut reader = register.clone();
    let before = reader.read("test/leader").await.unwrap();
    while reader.read("test/leader").await.unwrap() == before {}
    assert!(put(&place, &of_a, "2"), "renewed");
    a.resign().await.unwrap();
    assert!(!put(&place, &of_a, "3"), "resigned");
    let b = elector("b");
    let of_b = fence(&b.elected().await.unwrap());
    assert!(put(&place, &of_b, "4") && !put(&place, &of_a, "5"));
    assert_eq!(place.cluster().run(&["get", "balance", "--print-value-only"]), "4\n");
}

tests! { a_transaction_is_made_only_in_its_term: etcd; }

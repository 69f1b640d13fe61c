//! What a service pays to ask whether it leads: one reading of the clock, and little else.

#![allow(missing_docs)] // the macros make public functions

use criterion::{Criterion, criterion_group, criterion_main};
use election_tokio::{Election, Handle, SqliteStore, now};
use std::hint::black_box;

/// A real leader on a real SQLite file, renewing in the background.
fn leader(runtime: &tokio::runtime::Runtime, directory: &std::path::Path) -> Handle {
    runtime.block_on(async {
        let mut store = SqliteStore::open(directory.join("e.db")).expect("a plain path");
        store.ensure_schema().await.expect("a writable directory");
        let election = Election::builder("bench").store(store).build().expect("valid");
        let handle = election.start();
        handle.elected().await.expect("an elector");
        handle
    })
}

fn handle(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let handle = leader(&runtime, directory.path());
    criterion.bench_function("clock", |bench| bench.iter(now));
    criterion.bench_function("is_leader", |bench| {
        bench.iter(|| black_box(&handle).is_leader());
    });
    let lease = handle.lease().expect("a leader");
    criterion.bench_function("lease.check", |bench| bench.iter(|| black_box(&lease).check()));
    criterion.bench_function("lease", |bench| bench.iter(|| black_box(&handle).lease()));
    assert!(handle.is_leader(), "what was measured was a leader");
    drop(lease);
    runtime.block_on(handle.shutdown());
}

criterion_group!(benches, handle);
criterion_main!(benches);

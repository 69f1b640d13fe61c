//! Tests of checks that start from a place: each check becomes one test on every place that it names.
//! The binary's module `places` has a function of that name.

use election_driver::conformance::{self, Fixture};
use election_tokio::Tokio;
use std::future::Future;
use tokio::runtime::Builder;

/// Of a check that starts its servers, or makes its files, itself.
pub(crate) type OnNothing = conformance::OnNothing<Tokio>;

/// Runs a check on a runtime of two threads, so that one that blocks its own does not stop the others.
pub(crate) fn block_on(check: impl Future<Output = ()>) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(check);
}

/// Runs a check from its place.
pub(crate) fn run<X: Fixture, F: Future<Output = ()>>(check: impl FnOnce(X) -> F) {
    block_on(conformance::run(check));
}

/// Makes the tests of a file's checks.
macro_rules! tests {
    ($($check:ident: $($place:ident)+;)+) => {$(
        mod $check {
            $(
                #[test]
                fn $place() {
                    crate::places::$place(super::$check);
                }
            )+
        }
    )+};
}

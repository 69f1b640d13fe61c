//! The suite that every runtime passes.

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_many_threads() {
    election_driver::conformance::all::<election_tokio::Tokio>().await;
}

#[tokio::test]
async fn on_one_thread() {
    election_driver::conformance::all::<election_tokio::Tokio>().await;
}

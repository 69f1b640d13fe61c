//! The suite that every runtime passes.

use election_driver::conformance;
use election_tokio::Tokio;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_on_many_threads() {
    conformance::on_sqlite::<Tokio>().await;
}

#[tokio::test]
async fn sqlite_on_one_thread() {
    conformance::on_sqlite::<Tokio>().await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn postgres() {
    conformance::on_postgres::<Tokio>().await;
}

#[cfg(feature = "mysql")]
#[tokio::test]
async fn mariadb() {
    conformance::on_mariadb::<Tokio>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quorum_on_many_threads() {
    conformance::on_quorum::<Tokio>().await;
}

#[tokio::test]
async fn quorum_on_one_thread() {
    conformance::on_quorum::<Tokio>().await;
}

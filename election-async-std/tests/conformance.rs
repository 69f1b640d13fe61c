//! The suite that every runtime passes.

use async_std::task::block_on;
use election_async_std::AsyncStd;
use election_driver::conformance;

#[test]
fn sqlite() {
    block_on(conformance::on_sqlite::<AsyncStd>());
}

#[cfg(feature = "postgres")]
#[test]
fn postgres() {
    block_on(conformance::on_postgres::<AsyncStd>());
}

#[cfg(feature = "mysql")]
#[test]
fn mariadb() {
    block_on(conformance::on_mariadb::<AsyncStd>());
}

#[test]
fn quorum() {
    block_on(conformance::on_quorum::<AsyncStd>());
}

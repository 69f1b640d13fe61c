//! Elections in a database: what holds on each, and what a server adds. (What a runtime decides is in
//! the conformance suite.)
#![allow(clippy::unwrap_used)]

#[macro_use]
#[path = "../support/on.rs"]
mod on;

mod calls;
mod database;
mod elections;
mod fence;
mod notifications;
mod operations;
mod places;
mod scenarios;
mod servers;
mod shared;
mod transactions;
mod upgrades;

/// What every runtime's suite has, on each of these databases.
mod suite {
    use crate::{database, on::block_on};

    mod postgres {
        use super::*;
        election_driver::conformance_of_store!(database::OnPostgres, block_on);
    }

    mod mariadb {
        use super::*;
        election_driver::conformance_of_store!(database::OnMariaDb, block_on);
    }
}

//! Elections in etcd: what a register promises, on real members that are killed and stopped; and what
//! etcd refuses.
#![allow(clippy::unwrap_used)]

#[macro_use]
#[path = "../support/on.rs"]
mod on;

mod answers;
mod elections;
mod encrypted;
mod fenced;
mod notices;
mod places;
mod promises;
mod refused;

/// What every runtime's suite has, on three members.
mod suite {
    use crate::{on::block_on, places::OnEtcd};

    election_driver::conformance_of_store!(OnEtcd, block_on);
}

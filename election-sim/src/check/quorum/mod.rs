//! What must hold of a quorum.

mod all;
mod drained;
mod durable;
mod epochs;
mod followed;
mod ignorance;
mod inflation;
mod kept;
mod liveness;
mod majority;
mod newest;
mod one_primary;
mod one_vote;
mod trust;
mod undisturbed;

pub(crate) use all::QuorumChecks;

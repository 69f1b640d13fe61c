//! What must hold of a lease.

mod all;
mod committed;
mod covered;
mod drained;
mod gone;
mod known;
mod liveness;
mod once;
mod scoped;
mod standing_by;
mod succession;
mod tokens;
mod trust;
mod woken;

pub(crate) use all::LeaseChecks;

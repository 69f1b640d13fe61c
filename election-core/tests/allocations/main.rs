//! No step of either protocol allocates, and no frame of the quorum.
//!
//! An allocation in the step would be one in the path that ends belief, where a process short of
//! memory stands still, and would make the simulator several times slower. The allocator that
//! counts belongs to the whole program, so this test is one of its own.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod lease;
mod quorum;
mod wire;

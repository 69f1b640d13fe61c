//! No step of either protocol allocates, and no frame of the quorum.
//!
//! An allocation in a step would also be one on the path that ends belief, where a process short of
//! memory stands still, and it would make the simulator several times slower. The counting
//! allocator belongs to the whole program, so this test is a program of its own.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod lease;
mod quorum;
mod wire;

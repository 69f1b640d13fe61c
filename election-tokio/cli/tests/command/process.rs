//! Looking at processes: shared with the tests that play faults.

pub(crate) use election_testing::process::*;

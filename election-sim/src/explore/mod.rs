//! Exhaustive search over the same machines that run in production.
//!
//! A simulation samples; a search of a small world leaves nothing out. The two find different bugs,
//! and so do the three kinds of search. Breadth-first search ([`breadth_first`]) sees every state
//! and finds the shortest way to each. Uniform and swarm walks ([`walk`]) reach depths that it
//! cannot reach.
//!
//! # What makes it finite
//!
//! Time, epochs and tickets grow for ever. But a state's future does not depend on their values:
//! machines compare instants with now, and epochs with each other. So the search brings every state
//! to a form in which now is always the same instant and the epochs in use are numbered from one
//! ([`election_core::lease::Lease::rebase`], [`rename`](election_core::lease::Lease::rename)). In
//! that form a world with a few nodes has finitely many states, however long it lives.
//!
//! # What makes it fast
//!
//! The reaction of a process to an input depends on that process alone. So each possible process,
//! statement and row is kept once, and a state is a handful of numbers. The real machine runs once
//! for each thing that can happen to one process, thousands of times, and the search remembers the
//! result for the millions of combinations. Nodes that trade places give the same state. A due
//! process goes first, since nothing else at that instant could tell the difference.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`Model`] | states, moves, invariants: what can be searched |
//! | [`breadth_first`], [`walk`] | the searches, within [`Limits`] |
//! | [`Counterexample`] | a path to a violation, in words ([`Counterexample::trace`]) |
//! | [`lease`] | the lease as a model, its [`Scope`](lease::Scope), and its counterexamples as schedules |

mod ahead;
mod books;
mod breadth;
mod exported;
mod interner;
mod known;
pub mod lease;
mod memo;
mod model;
mod often;
mod outcome;
pub mod quorum;
mod visited;
mod walk;

pub use breadth::breadth_first;
pub use exported::Exported;
pub use model::{Broken, Model};
pub use outcome::{Count, Counterexample, Ended, Limits, Outcome};
pub use walk::{Walks, walk};

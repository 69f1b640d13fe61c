//! Exhaustive search over the very machines that run in production.
//!
//! A simulation samples; a search of a small world leaves nothing out. The two find different
//! bugs, and so do the three ways to search: breadth first ([`breadth_first`]) sees every state
//! and finds the shortest way to each, uniform and swarm walks ([`walk`]) reach depths that it
//! cannot.
//!
//! # What makes it finite
//!
//! Time, terms and tickets grow for ever. But a state's future does not depend on them: machines
//! compare instants with now, and epochs with each other. So every state is brought to a form in
//! which now is always the same instant and the epochs in use are numbered from one
//! ([`election_core::lease::Lease::rebase`], [`rename`](election_core::lease::Lease::rename)).
//! In that form a world with a few nodes has finitely many states, however long it lives.
//!
//! # What makes it fast
//!
//! What one process does when it is told something depends on that process alone. So each process
//! that can be, each statement and each row is kept once, and a state is a handful of numbers; the
//! real machine runs once for each thing that can happen to one process, thousands of times, and
//! what follows is remembered for the millions of combinations. Nodes that trade places give the
//! same state. A process that is due goes first, since nothing else at that instant could tell.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`Model`] | states, moves, invariants: what can be searched |
//! | [`breadth_first`], [`walk`] | the searches, within [`Limits`] |
//! | [`Counterexample`] | a path to a violation, in words ([`Counterexample::trace`]) |
//! | [`lease`] | the lease as a model, its [`Scope`](lease::Scope), and its counterexamples as schedules |

mod breadth;
mod exported;
mod interner;
pub mod lease;
mod memo;
mod model;
mod outcome;
pub mod quorum;
mod visited;
mod walk;

pub use breadth::breadth_first;
pub use exported::Exported;
pub use model::{Broken, Model};
pub use outcome::{Count, Counterexample, Ended, Limits, Outcome};
pub use walk::{Walks, walk};

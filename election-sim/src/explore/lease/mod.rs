//! The lease, explored: real machines, the real table, and everything that can happen between them.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`Scope`] | how much of the world: nodes, timing, clocks, how often each thing goes wrong |
//! | [`Lease`] | the model of a scope |
//! | [`State`], [`Move`] | what is searched |
//! | [`export()`] | a counterexample as a `.scn` file that shows the same violation |
//!
//! # What is judged
//!
//! At every step of a process the explorer judges these invariants, from books of its own and not
//! from the machine's state: `trust-within-grant` (no more than asked + what was granted − margin,
//! and no belief after it), `stops-when-replaced`, `win-is-committed` (leadership only from an
//! answer that grants it), `changes-in-order`, `epoch-led-once`, `work-stops-before-release`,
//! `only-eligible-attempt`, and that a renewal is of the led term (`writes-own-epoch-only`). At
//! every statement it judges `tokens-increase`, `writes-own-epoch-only` and `row-outlasts-work`. In
//! every state it judges `exclusion`. The names are those of the simulator's checkers.
//! `bounded-pace`, `wake-up-is-heeded` and `liveness` need a measure of time that a search does not
//! have.
//!
//! # What is left out
//!
//! The list of candidates; labels; observers; the database's own commit delays; readings of replicas;
//! draws other than zero. A statement whose sender no longer waits can be executed late only while
//! [`Scope::abandoned`] leaves room for it.

mod aging;
mod books;
mod export;
mod facts;
mod model;
mod names;
mod parts;
mod process;
mod replica;
mod row;
mod same;
mod scope;
mod search;
mod state;
mod statement;
mod words;

pub use export::export;
pub use model::Lease;
pub use scope::{Often, Scope, ScopeError};
pub use state::{Move, State};

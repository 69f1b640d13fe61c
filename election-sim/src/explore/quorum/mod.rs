//! The quorum, explored: real machines, and between them whatever can happen to frames.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`Scope`] | how much of the world: nodes, timing, clocks, data, how often what goes wrong |
//! | [`Quorum`] | the model of a scope |
//! | [`State`], [`Move`] | what is searched |
//! | [`export()`] | a counterexample as a `.scn` file that shows the same violation |
//!
//! # What is judged
//!
//! At every step of a process, from books of its own and not from the machine's state:
//! `trust-within-support` (no more than a majority has vouched for, and no belief after it),
//! `vote-is-durable`, `epochs-never-fall`, `votes-for-newest-data`, `work-stops-before-release`.
//! Over all nodes and lives: `one-vote-per-epoch`, `majority-elects`, `one-primary-per-epoch`. In
//! every state: `exclusion`. The names are those of the simulator's checkers;
//! `majority-data-survives`, `fencing` and `changes-in-order` are not judged, nor is anything that
//! needs a measure of time or a history which a state does not have: `epochs-not-inflated`,
//! `liveness`, `healthy-primary-undisturbed`, `bounded-pace`.
//!
//! # How a search goes
//!
//! Time passes in units, of which support lasts three. In each unit every process is called once,
//! in any order among the nodes, and then takes in what has come to it: frames of one connection
//! in their order, those of different ones in any. What it sends may arrive in the same unit.
//! Epochs are not renamed, since a scope bounds them; nodes are not interchangeable, since the
//! lower id wins a tie. Epochs that nobody can vote or lead in any more leave the books of votes.
//!
//! # What is left out
//!
//! * Unless [`Scope::free`]: another node's turn between two frames that wait for one node, and
//!   processes that start, or ways that open again, in the middle of a unit.
//! * Of two frames of a kind sent over one way in one unit, the older may be taken for arrived
//!   or lost, and an announcement behind a heartbeat as primary is. Announcements are not repeated.
//! * Connections break only with their process: each life has one. A late frame is overtaken by
//!   others of its connection, which no connection does; so nothing late is left out by that, and
//!   a counterexample may be one that cannot be played.
//! * Growing data, histories, back-off, staggering and grace (all zero); hand-overs, withdrawals,
//!   ill health; clones and second processes; torn disks; peers that do not extend frames.

mod aging;
mod export;
mod frames;
mod host;
mod model;
mod node;
mod process;
mod scope;
mod search;
mod state;
mod votes;
mod words;

pub use export::export;
pub use model::Quorum;
pub use scope::{Often, Scope, ScopeError};
pub use state::{Crash, Move, Place, State};

//! The quorum, explored: real machines, and everything that can happen to the frames between them.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`Scope`] | how much of the world: nodes, timing, clocks, data, how often which thing fails |
//! | [`Quorum`] | the model of a scope |
//! | [`State`], [`Move`] | what is searched |
//! | [`export()`] | a counterexample as a `.scn` file that shows the same violation |
//!
//! # What is judged
//!
//! At every step of a process the explorer judges these invariants, from books of its own and not
//! from the machine's state: `trust-within-support` (no more than a majority has vouched for, and
//! no belief after it), `vote-is-durable`, `epochs-never-fall`, `votes-for-newest-data`,
//! `work-stops-before-release`, `witness-keeps-its-word`, and of `no-failover-while-paused` and
//! `healthy-primary-undisturbed` what concerns pauses and the return to the preferred primary. Over all nodes and lives it judges `one-vote-per-epoch`,
//! `majority-elects` and `one-primary-per-epoch`. In every state it judges `exclusion`. The names
//! are those of the simulator's checkers. It does not judge `majority-data-survives`, `fencing` and
//! `changes-in-order`, nor the invariants that need a measure of time or a history, which a state
//! does not have: `epochs-not-inflated`, `liveness`, `bounded-pace`.
//!
//! # How a search goes
//!
//! Time passes in units, of which support lasts three. In each unit every process is called once,
//! in any order among the nodes, and then takes its frames in: the frames of one connection in
//! order, those of different connections in any order. What it sends may arrive in the same unit.
//! Epochs are not renamed, since a scope bounds them. Nodes are not interchangeable, since the
//! lower id wins a tie. Epochs in which no node can vote or lead any more leave the books of votes.
//!
//! # What is left out
//!
//! * Unless [`Scope::free`] is set: another node's turn between two frames that wait for one node,
//!   and processes that start, or ways that open again, in the middle of a unit.
//! * Some fates of frames: of two frames of a kind sent over one way in one unit, the older may
//!   count as arrived or lost, and an announcement behind a heartbeat as primary does.
//!   Announcements are not repeated.
//! * Connections that break without their process: each life has one connection. A late frame is
//!   overtaken by others of its connection, which real connections do not allow. So the model
//!   includes every late frame, but a counterexample may be one that cannot be played.
//! * Growing data, histories, back-off, staggering and grace (all zero); withdrawals, ill health; pauses
//!   that end by themselves; clones and second processes; torn disks; peers that do not extend frames.

mod aging;
mod export;
mod frames;
mod host;
mod model;
mod moves;
mod node;
mod process;
mod scope;
mod search;
mod state;
mod votes;
mod words;

pub use export::export;
pub use model::Quorum;
pub use scope::{Scope, ScopeError};
pub use state::{Crash, Move, Often, Place, State};

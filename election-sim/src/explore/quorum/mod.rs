//! The quorum, explored: real machines, and between them whatever can happen to frames.

mod export;
mod frames;
mod model;
mod process;
mod scope;
mod search;
mod state;
mod table;
mod votes;
mod words;

pub use export::export;
pub use model::Quorum;
pub use scope::{Often, Scope, ScopeError};
pub use state::{Crash, Move, Place, State};

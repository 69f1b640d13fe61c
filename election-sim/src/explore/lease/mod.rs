//! The lease, explored.
mod export;
mod model;
mod names;
mod parts;
mod process;
mod same;
mod scope;
mod search;
mod state;
mod statement;
mod words;

pub use export::{Exported, export};
pub use model::Lease;
pub use scope::{Often, Scope, ScopeError};
pub use state::{Move, State};

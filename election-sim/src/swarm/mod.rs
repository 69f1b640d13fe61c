//! A schedule from a seed: swarm selection.
//!
//! Every seed switches a random part of the menu on, and draws its own topology, timing and
//! weather. A run in which everything can fail at once rarely gets far enough for anything
//! interesting; a run in which only two or three things can, does.

mod lease;
mod menu;
mod options;
mod partition;
mod probabilities;
mod quorum;
mod sampler;

pub use options::Swarm;

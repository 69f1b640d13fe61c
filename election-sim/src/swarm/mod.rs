//! Draws a schedule from a seed, by swarm selection.
//!
//! Every seed switches a random part of the menu on, and draws its own topology, timing and
//! weather. If everything can fail at once, a run rarely gets far enough for anything interesting.
//! If only two or three things can fail, it does.

mod lease;
mod lists;
mod menu;
mod options;
mod partition;
mod probabilities;
mod quorum;
mod sampler;
mod shared;

pub use options::Swarm;

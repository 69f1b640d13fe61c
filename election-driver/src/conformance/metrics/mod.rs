//! What is counted, and what a recorder is told.

pub mod checks;
mod recorder;

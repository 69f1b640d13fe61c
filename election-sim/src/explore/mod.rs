//! Exhaustive search over the very machines that run in production.
mod breadth;
pub mod lease;
mod model;
mod outcome;
mod visited;
mod walk;

pub use breadth::breadth_first;
pub use model::{Broken, Model};
pub use outcome::{Count, Counterexample, Ended, Limits, Outcome};
pub use walk::{Walks, walk};

//! How far to search, and the result.

use super::model::{Broken, Model};
use std::time::Duration;

/// Where a search stops even if there is more to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The greatest distance of a state from the start, in moves.
    pub depth: usize,
    /// The largest number of different states.
    pub states: u64,
    /// The largest number of bytes for the set of states seen, the way back and the waiting states.
    pub bytes: usize,
    /// The longest real time. Only this limit gives different results from run to run.
    pub time: Option<Duration>,
}

/// No limit of depth, four gigabytes.
impl Default for Limits {
    fn default() -> Self {
        Self { depth: usize::MAX, states: u64::MAX, bytes: 4 << 30, time: None }
    }
}

/// What stopped a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing was left: the search saw every reachable state.
    Exhausted,
    /// An invariant was broken.
    Violated,
    /// [`Limits::depth`], or the length or number of walks.
    Depth,
    /// [`Limits::states`].
    States,
    /// [`Limits::bytes`].
    Memory,
    /// [`Limits::time`].
    Time,
}

impl Ended {
    /// A stable name in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exhausted => "exhausted",
            Self::Violated => "violated",
            Self::Depth => "depth",
            Self::States => "states",
            Self::Memory => "memory",
            Self::Time => "time",
        }
    }
}

/// How much the search has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Different states (breadth-first), or states met (walks).
    pub states: u64,
    /// Moves made.
    pub moves: u64,
    /// Walks made.
    pub walks: u64,
    /// The greatest distance from the start in moves.
    pub depth: usize,
    /// The largest number of states that waited at once.
    pub widest: usize,
    /// The fingerprints of all states, combined independently of their order.
    pub digest: u64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<M> {
    /// Why it ended.
    pub ended: Ended,
    /// How much it did.
    pub count: Count,
    /// The way to break an invariant, if one is broken. Breadth-first search finds the shortest.
    pub counterexample: Option<Counterexample<M>>,
}

/// A way to break an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample<M> {
    /// The index of the start among the model's starts.
    pub start: usize,
    /// The moves from there. The last one breaks the invariant.
    pub path: Vec<M>,
    /// The broken invariant.
    pub broken: Broken,
}

impl<M: Clone + std::fmt::Debug> Counterexample<M> {
    /// The moves in words, one a line.
    #[must_use]
    pub fn trace<T: Model<Move = M>>(&self, model: &mut T) -> Vec<String> {
        let mut lines = Vec::with_capacity(self.path.len() + 1);
        let Some(mut state) = model.starts().into_iter().nth(self.start) else { return lines };
        for what in &self.path {
            lines.push(model.describe(&state, what));
            match model.after(&state, what) {
                Ok(next) => state = next,
                Err(broken) => lines.push(format!("= {broken}")),
            }
        }
        lines
    }
}

//! How far to search, and what came of it.

use super::model::{Broken, Model};
use std::time::Duration;

/// Where a search stops although there would be more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// States no further than so many moves from the start.
    pub depth: usize,
    /// So many different states.
    pub states: u64,
    /// So many bytes for the set of states seen, the way back and the states that wait.
    pub bytes: usize,
    /// So much real time. The one limit whose result is not the same every time.
    pub time: Option<Duration>,
}

/// No depth, four gigabytes.
impl Default for Limits {
    fn default() -> Self {
        Self { depth: usize::MAX, states: u64::MAX, bytes: 4 << 30, time: None }
    }
}

/// What stopped a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing was left: every state that can be reached was seen.
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
    /// A stable lower-case name.
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

/// How much has been done.
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
    /// The most states that waited at once.
    pub widest: usize,
    /// The fingerprints of all states, put together in a way that their order does not show in.
    pub digest: u64,
}

/// What came of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<M> {
    /// Why it ended.
    pub ended: Ended,
    /// What was done.
    pub count: Count,
    /// How an invariant is broken, if one is. Breadth-first there is no shorter way.
    pub counterexample: Option<Counterexample<M>>,
}

/// A way to break an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample<M> {
    /// Which of the model's starts.
    pub start: usize,
    /// The moves from there; the last one breaks it.
    pub path: Vec<M>,
    /// What is broken.
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

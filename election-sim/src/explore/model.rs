//! What can be explored: states, the moves out of them, and what must hold.

use std::{
    fmt::{Debug, Display},
    hash::{DefaultHasher, Hash, Hasher},
};

/// A system with finitely many moves out of every state.
///
/// The methods take `&mut self` so that a model may remember what it has worked out; what they
/// return must not depend on it.
pub trait Model {
    /// A state. Small: millions of them wait at once.
    type State: Clone + Eq + Hash;
    /// One thing that can happen. Its text is a line of the counterexample.
    type Move: Clone + Eq + Debug;

    /// Where everything can begin.
    fn starts(&mut self) -> Vec<Self::State>;

    /// Appends every move out of `state`, always in the same order.
    fn moves(&mut self, state: &Self::State, moves: &mut Vec<Self::Move>);

    /// Whether this is one of the moves out of `state`.
    fn allows(&mut self, state: &Self::State, what: &Self::Move) -> bool {
        let mut moves = Vec::new();
        self.moves(state, &mut moves);
        moves.contains(what)
    }

    /// The state after one of its moves.
    ///
    /// # Errors
    /// If the move breaks an invariant.
    fn after(&mut self, state: &Self::State, what: &Self::Move) -> Result<Self::State, Broken>;

    /// A number that two states share if they are the same *for every purpose*: a model with
    /// symmetries gives one to all states that they turn into each other.
    fn fingerprint(&mut self, state: &Self::State) -> u64 {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    }

    /// Which kind of move this is, below 64: a swarm walk switches kinds off.
    fn kind(&self, what: &Self::Move) -> u32;

    /// Kinds that no walk switches off, as a set of bits: without them nothing would happen.
    fn essential(&self) -> u64 {
        0
    }

    /// A move in words, for somebody who looks at the state before it.
    fn describe(&mut self, state: &Self::State, what: &Self::Move) -> String;
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name, as the checkers of the simulator have it.
    pub check: &'static str,
    /// What was seen.
    pub what: String,
}

impl Broken {
    pub(super) fn new(check: &'static str, what: impl Display) -> Self {
        Self { check, what: what.to_string() }
    }
}

impl Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} violated: {}", self.check, self.what)
    }
}

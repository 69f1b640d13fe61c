//! What can be explored: states, the moves out of them, and the invariants.

use std::{
    fmt::{Debug, Display},
    hash::{DefaultHasher, Hash, Hasher},
};

/// A system with finitely many moves out of every state.
///
/// Methods take `&mut self` so that a model may remember its computations. Their results must not
/// depend on that. A model that remembers much also says what it remembers
/// ([`known_moves`](Self::known_moves), [`known_after`](Self::known_after)), to many threads at once.
pub trait Model: Send + Sync {
    /// A state. It must be small: millions of states wait at once. Another thread remembers them.
    type State: Clone + Eq + Hash + Send + Sync;
    /// One thing that can happen. Its text is a line of the counterexample.
    type Move: Clone + Eq + Debug + Send;

    /// Every start.
    fn starts(&mut self) -> Vec<Self::State>;

    /// Appends every move out of `state`, always in the same order.
    fn moves(&mut self, state: &Self::State, moves: &mut Vec<Self::Move>);

    /// Whether `what` is one of the moves out of `state`.
    fn allows(&mut self, state: &Self::State, what: &Self::Move) -> bool {
        let mut moves = Vec::new();
        self.moves(state, &mut moves);
        moves.contains(what)
    }

    /// The only move out of a state, if there is only one and it happens before anything else can. A
    /// search may leave such states out, so it must not be time that passes: every series of these
    /// moves comes to an end.
    fn forced(&self, state: &Self::State) -> Option<Self::Move> {
        let _ = state;
        None
    }

    /// Learns which moves out of which states [`known_after`](Self::known_after) will be asked for
    /// next, so that it can bring what it remembers of them nearer, all at once.
    fn bring<'a>(&self, planned: impl Iterator<Item = (&'a Self::State, &'a Self::Move)>)
    where
        Self: 'a,
    {
        drop(planned);
    }

    /// The state after one of its moves.
    ///
    /// # Errors
    /// If the move breaks an invariant.
    fn after(&mut self, state: &Self::State, what: &Self::Move) -> Result<Self::State, Broken>;

    /// Does the same as [`moves`](Self::moves) if nothing has to be worked out for it; otherwise it
    /// appends nothing and returns `false`.
    fn known_moves(&self, state: &Self::State, moves: &mut Vec<Self::Move>) -> bool {
        let _ = (state, moves);
        false
    }

    /// The same as [`after`](Self::after) if nothing has to be worked out for it.
    fn known_after(
        &self,
        state: &Self::State,
        what: &Self::Move,
    ) -> Option<Result<Self::State, Broken>> {
        let _ = (state, what);
        None
    }

    /// A number that two states share if they are the same *for every purpose*. A model with
    /// symmetries gives the same number to all states that a symmetry turns into each other.
    fn fingerprint(&self, state: &Self::State) -> u64 {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    }

    /// The kind of this move, below 64: a swarm walk switches kinds off.
    fn kind(&self, what: &Self::Move) -> u32;

    /// The kinds that no walk switches off, as a set of bits: without them nothing would happen.
    fn essential(&self) -> u64 {
        0
    }

    /// A move in words, for a reader who looks at the state before it.
    fn describe(&mut self, state: &Self::State, what: &Self::Move) -> String;
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name, as the simulator's checkers have it.
    pub check: &'static str,
    /// What the search saw.
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

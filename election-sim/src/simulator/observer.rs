//! The watchers of a run: the checkers of its protocol, as the simulator calls them, and what they
//! see.

use super::{Environment, Node, hooks::hooks};
use crate::{panics, schedule::Schedule};
use std::{collections::BTreeSet, fmt, time::Duration};

/// The world as it truly is.
pub(crate) struct WorldState<'a, S: Environment> {
    pub(crate) now: u64,
    pub(crate) schedule: &'a Schedule,
    /// For each fault of the schedule, whether it is in force.
    pub(crate) active: &'a [bool],
    pub(crate) nodes: &'a [Node<S>],
    pub(crate) environment: &'a S,
}

/// The parts of the simulator that checkers may see, borrowed separately from the checkers.
macro_rules! world_state {
    ($simulator:ident) => {
        WorldState {
            now: $simulator.now,
            schedule: &$simulator.schedule,
            active: &$simulator.active,
            nodes: &$simulator.nodes,
            environment: &$simulator.environment,
        }
    };
}
pub(crate) use world_state;

/// What a node is told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Resign,
    Withdraw,
    Healthy(bool),
    Wake,
}

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant's name.
    pub check: String,
    /// When it was violated, in true time since the start.
    pub at: Duration,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, at, what } = self;
        if check == panics::CHECK {
            return write!(f, "the app or a condition panicked at {at:?}: {what}");
        }
        write!(f, "{check:?} does not hold at {at:?}: {what}")
    }
}

macro_rules! checker_set_trait {
    (
        $env:ident
        notices: [$($(#[$told:meta])* $notice:ident($($arg:ident: $type:ty),*);)*]
        verdicts: [$($(#[$asked:meta])* $verdict:ident($($with:ident: $of:ty),*);)*]
    ) => {
        /// The hooks of all checkers of a protocol together.
        pub(crate) trait CheckerSet<$env: Environment>: fmt::Debug {
            fn new(schedule: &Schedule) -> Self;
            /// The invariants that were broken in a run in which they need not hold.
            fn broken(&self) -> &BTreeSet<&'static str>;
            $($(#[$told])*
            fn $notice(&mut self, world: &WorldState<'_, $env>, $($arg: $type),*);)*
            $($(#[$asked])*
            fn $verdict(
                &mut self, world: &WorldState<'_, $env>, $($with: $of),*
            ) -> Result<(), Violation>;)*
        }
    };
}
hooks!(checker_set_trait! { S });

/// The checkers that watch this protocol.
pub(crate) trait Watched: Sized {
    type Checkers: CheckerSet<Self>
    where
        Self: Environment;
}

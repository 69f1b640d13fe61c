//! What watches a run: the checkers of its protocol, as the simulator calls them, and what they get
//! to see.

use super::{Environment, Node};
use crate::{
    app::Write,
    fault::FaultKind,
    schedule::{Heal, Schedule},
};
use election_core::{Change, Epoch};
use std::{collections::BTreeSet, fmt, time::Duration};

/// The world as it truly is.
pub(crate) struct WorldState<'a, S: Environment> {
    pub(crate) now: u64,
    pub(crate) schedule: &'a Schedule,
    /// Which of its faults are in force.
    pub(crate) active: &'a [bool],
    pub(crate) nodes: &'a [Node<S>],
    pub(crate) environment: &'a S,
}

/// The parts of the simulator that checkers may see, borrowed apart from the checkers themselves.
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

/// Something that must not happen has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant's name.
    pub check: String,
    /// When, in true time since the start.
    pub at: Duration,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} violated at {:?}: {}", self.check, self.at, self.what)
    }
}

/// The hooks of a checker, for all checkers of a protocol at once.
pub(crate) trait CheckerSet<S: Environment>: fmt::Debug {
    fn new(schedule: &Schedule) -> Self;
    /// What did not hold, in a run in which it need not.
    fn broken(&self) -> &BTreeSet<&'static str>;
    fn born(&mut self, world: &WorldState<'_, S>, node: usize);
    fn died(&mut self, world: &WorldState<'_, S>, node: usize);
    fn cloned(&mut self, world: &WorldState<'_, S>, from: usize, onto: usize);
    fn fault_changed(&mut self, world: &WorldState<'_, S>, kind: &FaultKind);
    fn told(&mut self, world: &WorldState<'_, S>, node: usize, told: Told);
    fn heard(&mut self, world: &WorldState<'_, S>, heard: &S::Heard<'_>);
    fn stopped(&mut self, world: &WorldState<'_, S>, node: usize, epoch: Epoch);
    fn changed(
        &mut self,
        world: &WorldState<'_, S>,
        node: usize,
        change: &Change,
    ) -> Result<(), Violation>;
    fn asked(
        &mut self,
        world: &WorldState<'_, S>,
        node: usize,
        asked: &S::Asked,
    ) -> Result<(), Violation>;
    fn stepped(&mut self, world: &WorldState<'_, S>, node: usize) -> Result<(), Violation>;
    fn done(&mut self, world: &WorldState<'_, S>, done: &S::Done<'_>) -> Result<(), Violation>;
    fn served(&mut self, world: &WorldState<'_, S>, write: &Write) -> Result<(), Violation>;
    fn due(&mut self, world: &WorldState<'_, S>, heal: &Heal) -> Result<(), Violation>;
}

/// The checkers that watch this protocol.
pub(crate) trait Watched: Sized {
    type Checkers: CheckerSet<Self>
    where
        Self: Environment;
}

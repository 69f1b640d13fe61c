//! Data that a majority has is never lost: every elected node has it. A witness counts once it has
//! recorded the position. The newest list in force decides which majority.
//!
//! This holds where data knows its history; offsets alone cannot tell a fork from progress. Members
//! that run kevy-elect compare nothing else, so with them nothing is promised.

use super::{Checker, Contract, Heard, QuorumEnvironment, Verdict, WorldState};
use election_core::{
    Change,
    quorum::{Event, Position},
};

#[derive(Debug, Default)]
pub(super) struct MajorityDataSurvives {
    /// The newest position that a majority has had.
    kept: Position,
}

impl MajorityDataSurvives {
    fn look(&mut self, world: &WorldState<'_>, position: Position) {
        if position <= self.kept || !world.environment.history {
            return;
        }
        let list = &world.environment.in_force;
        let has = |host: &&usize| world.nodes[**host].state.has(position);
        if list.voters.iter().filter(has).count() >= list.quorum() {
            self.kept = position;
        }
    }
}

impl Checker<QuorumEnvironment> for MajorityDataSurvives {
    const NAME: &'static str = "majority-data-survives";
    const HOLDS: Contract = Contract::Within;
    const WITH_LEGACY: bool = false;

    fn done(&mut self, world: &WorldState<'_>, node: &usize) -> Verdict {
        self.look(world, world.nodes[*node].state.data.position());
        Ok(())
    }

    /// A save may be a witness's record, and complete a majority.
    fn heard(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        if let (Event::Saved(_), Some(recorded)) =
            (heard.event, world.nodes[heard.node].state.recorded())
        {
            self.look(world, recorded);
        }
    }

    fn changed(&mut self, world: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        let has = world.nodes[node].state.data.position();
        if has >= self.kept {
            return Ok(());
        }
        Err(format!("{} leads with {has:?}; a majority had {:?}", tenure.term, self.kept))
    }
}

//! What a majority has is never lost: whoever is elected has it.
//!
//! Holds where data knows its history; offsets alone cannot tell a fork from progress.

use crate::{
    check::{Check, Scene, Verdict},
    fault::Contract,
    quorum::QuorumSide,
};
use election_core::{Change, quorum::Position};

#[derive(Debug)]
pub(super) struct Kept {
    /// The newest that a majority has had.
    kept: Position,
}

impl Check<QuorumSide> for Kept {
    const NAME: &'static str = "kept";
    const HOLDS: Contract = Contract::Within;

    fn new(_: usize) -> Self {
        Self { kept: Position::default() }
    }

    fn done(&mut self, scene: &Scene<'_, QuorumSide>, node: &usize) -> Verdict {
        let position = scene.nodes[*node].kit.data.position();
        if position <= self.kept || !scene.side.history {
            return Ok(());
        }
        let has = |host: &&usize| scene.nodes[**host].kit.data.position() == position;
        if scene.side.hosts.iter().filter(has).count() >= scene.side.quorum() {
            self.kept = position;
        }
        Ok(())
    }

    fn changed(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, change: &Change) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        let has = scene.nodes[node].kit.data.position();
        if has >= self.kept {
            return Ok(());
        }
        Err(format!("{} leads with {has:?}; a majority had {:?}", tenure.term, self.kept))
    }
}

//! A witness votes, but neither asks for votes nor leads; and the position that it states is on its
//! disk, because a primary may acknowledge a write on the strength of it.

use super::{Checker, Contract, QuorumEnvironment, Verdict, WorldState};
use election_core::quorum::{Action, Message};

#[derive(Debug, Default)]
pub(super) struct WitnessKeepsItsWord;

impl Checker<QuorumEnvironment> for WitnessKeepsItsWord {
    const NAME: &'static str = "witness-keeps-its-word";
    const HOLDS: Contract = Contract::Within;

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let Action::Send { message, .. } = action else { return Ok(()) };
        let Some(recorded) = world.nodes[node].state.recorded() else { return Ok(()) };
        match message {
            Message::Offer { epoch, .. } => {
                Err(format!("node {node} is a witness and asks for votes in epoch {epoch}"))
            }
            Message::Heartbeat(heartbeat) if heartbeat.position > recorded => Err(format!(
                "node {node} states {:?} and has recorded {recorded:?}",
                heartbeat.position
            )),
            _ => Ok(()),
        }
    }
}

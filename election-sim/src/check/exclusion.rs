//! At most one process may run leader work at any true time.
//!
//! Work may run from the moment a process learns that it leads until it reports that the work has
//! stopped, or until its own clock reaches the hard stop. Two such spans can start to overlap only
//! where one of them begins or grows. So the checker looks only at steps of processes whose work
//! may run.

use super::{Checker, Verdict};
use crate::{
    fault::Contract,
    simulator::{Environment, WorldState},
};
use election_core::Epoch;

#[derive(Debug, Default)]
pub(crate) struct Exclusion;

impl<S: Environment> Checker<S> for Exclusion {
    const NAME: &'static str = "exclusion";
    const HOLDS: Contract = Contract::Within;
    const WITH_LEGACY: bool = false; // `exclusion-by-own-voters` says what is left

    fn stepped(&mut self, world: &WorldState<'_, S>, node: usize) -> Verdict {
        let here = &world.nodes[node];
        if here.work.is_none() || !here.works(world.now) {
            return Ok(());
        }
        let other = world.nodes.iter().enumerate().find(|(other, there)| {
            *other != node && there.work.is_some() && there.works(world.now)
        });
        let Some((other, _)) = other else { return Ok(()) };
        let who = |node: usize| {
            let epoch = world.nodes[node].work.map_or(Epoch::NONE, |work| work.epoch);
            format!("node {node} (epoch {epoch})")
        };
        Err(format!("{} and {} may both act", who(node), who(other)))
    }
}

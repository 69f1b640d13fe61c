//! Once a node of a healed core leads, nothing deposes it: a majority of well-connected nodes
//! supports it, whatever the other nodes do or hear. With members that run kevy-elect, this is
//! promised to the others while [these alone](super::own_majority) make a majority of the core.

use super::{
    Checker, Contract, QuorumEnvironment, Told, Verdict, WorldState,
    lost_promises::promises_are_lost, nanos, own_majority::own_majority,
};
use election_core::{Change, Loss};

#[derive(Debug, Default)]
pub(super) struct HealthyPrimaryUndisturbed {
    /// By node: its operator or its app made it give up leadership.
    told: Vec<bool>,
    /// When a process of the core last started or ended: a service may end by itself.
    well_since: u64,
}

/// Events under way then may take effect for this many times `down_after`.
const SETTLING: u32 = 4;

impl Checker<QuorumEnvironment> for HealthyPrimaryUndisturbed {
    const NAME: &'static str = "healthy-primary-undisturbed";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { told: vec![false; nodes], well_since: 0 }
    }

    fn born(&mut self, world: &WorldState<'_>, node: usize) {
        if world.schedule.heal.as_ref().is_some_and(|heal| heal.core.contains(&node)) {
            self.well_since = world.now;
        }
    }

    fn died(&mut self, world: &WorldState<'_>, node: usize) {
        self.born(world, node);
    }

    fn told(&mut self, _: &WorldState<'_>, node: usize, _: Told) {
        self.told[node] = true;
    }

    fn changed(&mut self, world: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        let reason = match change {
            Change::Lost { reason: reason @ (Loss::Expired | Loss::Replaced), .. } => reason,
            Change::Elected(_) => {
                self.told[node] = false;
                return Ok(());
            }
            _ => return Ok(()),
        };
        let (Some(heal), Some(cluster)) = (&world.schedule.heal, &world.schedule.cluster) else {
            return Ok(());
        };
        let well = nanos(heal.at).max(self.well_since);
        let settled = well.saturating_add(nanos(cluster.down_after * SETTLING));
        let excused = self.told[node] || promises_are_lost(world, heal);
        let own = own_majority(world, heal) && !world.nodes[node].state.is_legacy();
        if world.now < settled || !heal.core.contains(&node) || excused || !own {
            return Ok(());
        }
        Err(format!("node {node} lost its leadership ({reason}) though a majority is well"))
    }
}

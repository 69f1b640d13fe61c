//! Once a node of a healed core leads, nothing deposes it: a majority of well-connected nodes
//! supports it, whatever the rest does or hears.

use super::ignorance::is_ignorant;
use crate::{
    check::{Check, Scene, Told, Verdict},
    fault::Contract,
    quorum::QuorumSide,
    span::nanos,
};
use election_core::{Change, Loss};

#[derive(Debug)]
pub(super) struct Undisturbed {
    /// By node: its operator or its app let it go.
    told: Vec<bool>,
}

/// What was under way at the heal may take effect for so many times `down_after`.
const SETTLING: u32 = 4;

impl Check<QuorumSide> for Undisturbed {
    const NAME: &'static str = "undisturbed";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { told: vec![false; nodes] }
    }

    fn told(&mut self, _: &Scene<'_, QuorumSide>, node: usize, _: Told) {
        self.told[node] = true;
    }

    fn changed(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, change: &Change) -> Verdict {
        let reason = match change {
            Change::Lost { reason: reason @ (Loss::Expired | Loss::Replaced), .. } => reason,
            Change::Elected(_) => {
                self.told[node] = false;
                return Ok(());
            }
            _ => return Ok(()),
        };
        let (Some(heal), Some(cluster)) = (&scene.schedule.heal, &scene.schedule.cluster) else {
            return Ok(());
        };
        let settled = nanos(heal.at).saturating_add(nanos(cluster.down_after * SETTLING));
        let excused = self.told[node] || is_ignorant(scene, heal);
        if scene.now < settled || !heal.core.contains(&node) || excused {
            return Ok(());
        }
        Err(format!("node {node} lost its leadership ({reason}) though a majority is well"))
    }
}

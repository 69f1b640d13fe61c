//! Once the database and a core of nodes are well, somebody leads within the time promised,
//! whatever the rest does.

use super::{Check, Contract, Scene, Verdict};
use crate::{database::nanos, schedule::Heal};
use election_core::Change;

#[derive(Debug)]
pub(super) struct Liveness {
    /// By node: it has been elected, and has not reported that it lost.
    leads: Vec<bool>,
    /// When a leadership last began or ended.
    turned_at: Option<u64>,
}

impl Liveness {
    pub(super) fn new(nodes: usize) -> Self {
        Self { leads: vec![false; nodes], turned_at: None }
    }
}

impl Check for Liveness {
    const NAME: &'static str = "liveness";
    const HOLDS: Contract = Contract::Within;

    fn died(&mut self, scene: &Scene<'_>, node: usize) {
        if std::mem::take(&mut self.leads[node]) {
            self.turned_at = Some(scene.now);
        }
    }

    fn changed(&mut self, scene: &Scene<'_>, node: usize, change: &Change) -> Verdict {
        match change {
            Change::Elected(_) => self.leads[node] = true,
            Change::Lost { .. } => self.leads[node] = false,
            Change::Followed { .. } | Change::Vacant | Change::Fault(_) => return Ok(()),
        }
        self.turned_at = Some(scene.now);
        Ok(())
    }

    fn due(&mut self, scene: &Scene<'_>, heal: &Heal) -> Verdict {
        let healed = nanos(heal.at);
        let turned = self.turned_at.is_some_and(|at| at >= healed);
        // One that stands still has not reported its loss; its lease may have ended long before.
        let led = scene.nodes.iter().zip(&self.leads).any(|(node, leads)| {
            *leads && node.work.is_some_and(|work| node.clock.when(work.stop_by) >= healed)
        });
        if turned || led {
            return Ok(());
        }
        Err(format!("nobody leads though the nodes {:?} and the database are well", heal.core))
    }
}

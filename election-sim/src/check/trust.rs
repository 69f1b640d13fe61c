//! Trust never exceeds what the database granted: `asked + ttl − margin` for the hard stop, and
//! `grace` less for belief.
//!
//! The books are kept from the answers alone: a win of a term allows what its question allows, a
//! renewal of the same term allows more. Nothing else does, and after it there is no leader.

use super::{Answered, Check, Contract, Scene, Verdict};
use election_core::{
    Change, Protocol, Timestamp,
    lease::{Answer, Query},
};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Trust {
    nodes: Vec<Granted>,
}

/// Until when work of each term may run, by the node's clock: of the newest term granted, and of
/// the newest found in the row.
#[derive(Clone, Copy, Debug, Default)]
struct Granted {
    epoch: u64,
    until: Timestamp,
    /// The work that runs, and the bound in force for it.
    working: (u64, Timestamp),
}

impl Trust {
    pub(super) fn new(nodes: usize) -> Self {
        Self { nodes: vec![Granted::default(); nodes] }
    }
}

fn allowed(scene: &Scene<'_>, asked: Timestamp, remaining: Duration) -> Timestamp {
    asked + remaining.min(scene.config.ttl()) - scene.config.margin()
}

impl Check for Trust {
    const NAME: &'static str = "trust";
    const HOLDS: Contract = Contract::Beyond;

    fn born(&mut self, _: &Scene<'_>, node: usize) {
        self.nodes[node] = Granted::default();
    }

    fn answered(&mut self, scene: &Scene<'_>, answered: &Answered<'_>) {
        let granted = &mut self.nodes[answered.node];
        let Ok(answer) = answered.result else { return };
        let (epoch, remaining) = match answer {
            Answer::Won { epoch, remaining } => (*epoch, *remaining),
            Answer::Seen(row) => {
                let own = &scene.nodes[answered.node].candidate;
                let held = row.live_holder().is_some_and(|holder| holder.candidate == *own);
                let led = scene.nodes[answered.node].work.is_some_and(|w| w.epoch == row.epoch);
                if !held || led {
                    return; // reading the row that one leads by grants nothing more
                }
                (row.epoch, row.clamped_remaining())
            }
            Answer::Renewed { remaining, .. } => match answered.query {
                Query::Renew { epoch, .. } => (*epoch, *remaining),
                _ => return,
            },
            _ => return,
        };
        let until = allowed(scene, answered.asked, remaining);
        if epoch.get() != granted.epoch {
            (granted.epoch, granted.until) = (epoch.get(), until);
        }
        granted.until = granted.until.max(until);
    }

    fn changed(&mut self, _: &Scene<'_>, node: usize, change: &Change) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        let granted = &self.nodes[node];
        if granted.epoch != tenure.term.epoch.get() {
            return Err(format!(
                "node {node} leads epoch {}, but was granted {}",
                tenure.term.epoch, granted.epoch
            ));
        }
        Ok(())
    }

    fn stepped(&mut self, scene: &Scene<'_>, node: usize) -> Verdict {
        let there = &scene.nodes[node];
        let Some(work) = there.work else { return Ok(()) };
        let granted = &mut self.nodes[node];
        if granted.epoch == work.epoch.get() {
            let earlier = granted.working.1;
            let same = granted.working.0 == granted.epoch;
            let bound = if same { granted.until.max(earlier) } else { granted.until };
            granted.working = (granted.epoch, bound);
        }
        let bound = granted.working.1;
        if work.stop_by > bound {
            return Err(format!(
                "node {node} may work on epoch {} until {:?} of its clock, granted was {bound:?}",
                work.epoch, work.stop_by
            ));
        }
        let Some(lease) = &there.lease else { return Ok(()) };
        let local = there.clock.read(scene.now);
        if local >= bound - scene.config.grace() && lease.is_leader(local) {
            return Err(format!("node {node} believes in epoch {} at {local:?}", work.epoch));
        }
        Ok(())
    }
}

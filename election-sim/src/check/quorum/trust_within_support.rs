//! A primary trusts no longer than a majority has vouched for: `D·(1−ρ)/(1+ρ) − margin` from the
//! (q−1)-th newest instant at which it sent the stamps that its voters echo, or first asked for
//! their votes. Belief ends `grace` earlier.
//!
//! Where members run kevy-elect, their heartbeats count when they are received. Their own trust is
//! not judged.
//!
//! The checker keeps its books from the frames alone. It computes window, margin and grace itself,
//! from the schedule and the rule.

use super::{
    Checker, Contract, Heard, QuorumEnvironment, Verdict, WorldState, books_by_node, vouched::Books,
};
use crate::schedule::Cluster;
use election_core::{
    Protocol,
    quorum::{Action, Message},
};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct TrustWithinSupport {
    nodes: Vec<Books>,
}

impl Checker<QuorumEnvironment> for TrustWithinSupport {
    const NAME: &'static str = "trust-within-support";
    const HOLDS: Contract = Contract::Void;

    books_by_node!(nodes, WorldState<'_>);

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        if let Action::Send { message: Message::Offer { epoch, .. }, .. } = action {
            self.nodes[node].offer(*epoch, world.nodes[node].read(world.now));
        }
        Ok(())
    }

    fn heard(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        self.nodes[heard.node].hear(world, heard);
    }

    fn stepped(&mut self, world: &WorldState<'_>, node: usize) -> Verdict {
        let there = &world.nodes[node];
        let (Some(work), Some(machine)) = (there.work, &there.machine) else { return Ok(()) };
        if there.state.is_legacy() {
            return Ok(());
        }
        let needed = world.environment.quorum() - 1;
        let Some(cluster) = world.schedule.cluster.as_ref().filter(|_| needed > 0) else {
            return Ok(());
        };
        self.nodes[node].take(there.read(world.now));
        let majority = self.nodes[node].majority(needed);
        let bound = majority + window(cluster, world.schedule.timing.drift_ppm);
        if work.stop_by > bound && !work.told {
            return Err(format!(
                "node {node} may work on epoch {} until {:?} of its clock, vouched was {bound:?}",
                work.epoch, work.stop_by
            ));
        }
        let grace = cluster.grace.unwrap_or(cluster.down_after / 10);
        let local = there.read(world.now);
        if local >= bound - grace && machine.is_leader(local) {
            return Err(format!("node {node} believes in epoch {} at {local:?}", work.epoch));
        }
        Ok(())
    }
}

fn window(cluster: &Cluster, drift_ppm: u32) -> Duration {
    let (slow, fast) = (1_000_000 - u128::from(drift_ppm), 1_000_000 + u128::from(drift_ppm));
    let window = cluster.down_after.as_nanos() * slow / fast;
    let margin = cluster.margin.unwrap_or(cluster.down_after / 50);
    Duration::from_nanos(u64::try_from(window).unwrap_or(u64::MAX)).saturating_sub(margin)
}

//! A primary trusts no longer than a majority has vouched for: `D·(1−ρ)/(1+ρ) − margin` from the
//! (q−1)-th newest instant at which it sent the stamps that its voters echo, or first asked for
//! their votes. Belief ends `grace` earlier.
//!
//! Where members run kevy-elect, their heartbeats count when they are received. Their own trust is
//! not judged.
//!
//! The list of members that the node goes by decides which majority. What was vouched for stays when the
//! list changes: every majority of the next one has a member of every majority of this one.
//!
//! The checker keeps its books from the frames alone. It computes window, margin and grace itself,
//! from the schedule and the rule.

use super::{
    Checker, Contract, Heard, QuorumEnvironment, Verdict, WorldState, books_by_node, vouched::Books,
};
use crate::{
    quorum::{Machine, Nodes, nodes_of},
    schedule::Cluster,
};
use election_core::{
    Protocol, Timestamp,
    quorum::{Action, Message, Quorum},
};
use std::{borrow::Cow, time::Duration};

#[derive(Debug, Default)]
pub(super) struct TrustWithinSupport {
    nodes: Vec<Trusted>,
}

#[derive(Clone, Debug, Default)]
struct Trusted {
    books: Books,
    /// The newest instant that a majority has vouched for.
    majority: Timestamp,
}

impl Checker<QuorumEnvironment> for TrustWithinSupport {
    const NAME: &'static str = "trust-within-support";
    const HOLDS: Contract = Contract::Void;

    books_by_node!(nodes, WorldState<'_>);

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        if let Action::Send { message: Message::Offer { epoch, .. }, .. } = action {
            self.nodes[node].books.offer(*epoch, world.nodes[node].read(world.now));
        }
        Ok(())
    }

    fn heard(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        self.nodes[heard.node].books.hear(world, heard);
    }

    fn stepped(&mut self, world: &WorldState<'_>, node: usize) -> Verdict {
        let there = &world.nodes[node];
        let (Some(work), Some(machine)) = (there.work, &there.machine) else { return Ok(()) };
        let (Machine::Own(quorum), Some(cluster)) = (machine, &world.schedule.cluster) else {
            return Ok(());
        };
        let list = in_force(world, quorum);
        let me = there.state.member;
        if list.len() == 1 && list.contains(&me) {
            return Ok(());
        }
        let trusted = &mut self.nodes[node];
        trusted.books.take(there.read(world.now));
        trusted.majority = trusted.majority.max(trusted.books.majority(&list, me));
        let bound = trusted.majority + window(cluster, world.schedule.timing.drift_ppm);
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

/// The list that a node goes by.
fn in_force<'a>(world: &'a WorldState<'_>, quorum: &Quorum) -> Cow<'a, Nodes> {
    let (lists, known) = (quorum.lists(), &world.environment.in_force);
    match lists.established() {
        list if list.generation == 0 && known.generation == 0 => Cow::Borrowed(&known.voters),
        list => Cow::Owned(nodes_of(world.schedule, lists, list)),
    }
}

fn window(cluster: &Cluster, drift_ppm: u32) -> Duration {
    let (slow, fast) = (1_000_000 - u128::from(drift_ppm), 1_000_000 + u128::from(drift_ppm));
    let window = cluster.down_after.as_nanos() * slow / fast;
    let margin = cluster.margin.unwrap_or(cluster.down_after / 50);
    Duration::from_nanos(u64::try_from(window).unwrap_or(u64::MAX)).saturating_sub(margin)
}

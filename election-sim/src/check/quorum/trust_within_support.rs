//! A primary trusts no longer than a majority has vouched for: `D·(1−ρ)/(1+ρ) − margin` from the
//! (q−1)-th newest instant at which it sent the stamps that its voters echo, or first asked for
//! their votes. Belief ends `grace` earlier.
//!
//! The checker keeps its books from the frames alone. It computes window, margin and grace itself,
//! from the schedule and the rule.

use crate::{
    check::{Checker, Verdict},
    fault::Contract,
    quorum::{Heard, QuorumEnvironment},
    schedule::Cluster,
    simulator::WorldState,
};
use election_core::{
    Epoch, Protocol, Timestamp,
    quorum::{Action, Event, Message, Peer},
};
use std::{collections::BTreeMap, time::Duration};

#[derive(Debug)]
pub(super) struct TrustWithinSupport {
    nodes: Vec<Books>,
}

#[derive(Clone, Debug, Default)]
struct Books {
    /// When this node first asked for votes, in the elections of this life.
    offered: BTreeMap<Epoch, Timestamp>,
    /// By member: the newest instant that it has vouched for.
    vouched: Vec<Timestamp>,
}

impl Books {
    fn vouch(&mut self, by: Peer, at: Timestamp) {
        if self.vouched.len() <= by.index() {
            self.vouched.resize(by.index() + 1, Timestamp::ZERO);
        }
        let newest = &mut self.vouched[by.index()];
        *newest = at.max(*newest);
    }

    /// The instant that a majority has vouched for, if `needed` others and this node make one.
    fn majority(&self, needed: usize) -> Timestamp {
        let as_new = |at: &Timestamp| self.vouched.iter().filter(|other| *other >= at).count();
        let agreed = self.vouched.iter().filter(|at| as_new(at) >= needed);
        agreed.copied().max().unwrap_or_default()
    }
}

impl Checker<QuorumEnvironment> for TrustWithinSupport {
    const NAME: &'static str = "trust-within-support";
    const HOLDS: Contract = Contract::Void;

    fn new(nodes: usize) -> Self {
        Self { nodes: vec![Books::default(); nodes] }
    }

    fn born(&mut self, _: &WorldState<'_, QuorumEnvironment>, node: usize) {
        self.nodes[node] = Books::default();
    }

    fn cloned(&mut self, _: &WorldState<'_, QuorumEnvironment>, from: usize, onto: usize) {
        self.nodes[onto] = self.nodes[from].clone();
    }

    fn asked(
        &mut self,
        world: &WorldState<'_, QuorumEnvironment>,
        node: usize,
        action: &Action,
    ) -> Verdict {
        if let Action::Send { message: Message::Offer { epoch, .. }, .. } = action {
            let now = world.nodes[node].read(world.now);
            self.nodes[node].offered.entry(*epoch).or_insert(now);
        }
        Ok(())
    }

    fn heard(&mut self, world: &WorldState<'_, QuorumEnvironment>, heard: &Heard<'_>) {
        let Event::Received { from, message, .. } = heard.event else { return };
        let books = &mut self.nodes[heard.node];
        match message {
            Message::Heartbeat(heartbeat) => {
                let echo =
                    heartbeat.extension.and_then(|extension| extension.attestation.echo().copied());
                let own = world.nodes[heard.node].state.incarnation;
                if let Some(echo) = echo.filter(|echo| echo.incarnation == own) {
                    books.vouch(*from, echo.at);
                }
            }
            Message::Accept { epoch, .. } => {
                if let Some(at) = books.offered.get(epoch).copied() {
                    books.vouch(*from, at);
                }
            }
            Message::Offer { .. } | Message::Announce { .. } => {}
        }
    }

    fn stepped(&mut self, world: &WorldState<'_, QuorumEnvironment>, node: usize) -> Verdict {
        let there = &world.nodes[node];
        let (Some(work), Some(machine)) = (there.work, &there.machine) else { return Ok(()) };
        let needed = world.environment.quorum() - 1;
        let Some(cluster) = world.schedule.cluster.as_ref().filter(|_| needed > 0) else {
            return Ok(());
        };
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

//! A node that hears fewer than a majority raises no epoch. A deaf node that keeps offering itself
//! would come back with an epoch that disturbs all others. (A member that runs kevy-elect does just
//! that; it is not judged.)

use super::{Checker, Contract, Heard, QuorumEnvironment, Stored, Verdict, WorldState};
use election_core::{
    Epoch, Timestamp,
    quorum::{Action, Event, Peer},
};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct EpochsNotInflated {
    nodes: Vec<Ears>,
}

#[derive(Clone, Debug, Default)]
struct Ears {
    /// By the node that answers for a member: when this life last heard it; zero for never.
    heard: Vec<Timestamp>,
    /// The peers whose frames a paused process has not taken yet.
    waits: Vec<usize>,
    /// The highest epoch that this node knows.
    known: Epoch,
}

impl Ears {
    fn hear(&mut self, from: usize, at: Timestamp) {
        if self.heard.len() <= from {
            self.heard.resize(from + 1, Timestamp::ZERO);
        }
        self.heard[from] = at;
    }
}

impl Checker<QuorumEnvironment> for EpochsNotInflated {
    const NAME: &'static str = "epochs-not-inflated";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { nodes: vec![Ears::default(); nodes] }
    }

    fn born(&mut self, world: &WorldState<'_>, node: usize) {
        // A new life may save what an earlier one has promised, beside what it learns of a pause.
        let known = match world.nodes[node].state.disk.durable() {
            Stored::Ballot(ballot) => ballot.promised,
            Stored::Nothing | Stored::Torn => Epoch::NONE,
        };
        self.nodes[node] = Ears { known, ..Ears::default() };
    }

    fn cloned(&mut self, _: &WorldState<'_>, from: usize, onto: usize) {
        self.nodes[onto] = self.nodes[from].clone();
    }

    fn heard(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        let Event::Received { from, message, .. } = heard.event else { return };
        let there = &world.nodes[heard.node];
        let Some(from) = world.environment.host(heard.node, *from) else { return };
        let ears = &mut self.nodes[heard.node];
        ears.known = ears.known.max(message.epoch());
        if there.paused {
            ears.waits.push(from);
        } else {
            ears.hear(from, there.read(world.now));
        }
    }

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let Action::Save(ballot) = action else { return Ok(()) };
        let there = &world.nodes[node];
        if there.state.is_legacy() {
            return Ok(());
        }
        let ears = &mut self.nodes[node];
        let now = there.read(world.now);
        for member in std::mem::take(&mut ears.waits) {
            ears.hear(member, now);
        }
        let members = world.environment.config(node).members();
        let me = members.id(there.state.peer);
        let spends = ballot.promised > ears.known && ballot.voted_for.as_ref() == me;
        ears.known = ears.known.max(ballot.promised);
        let within = world.environment.config(node).down_after() + Duration::from_millis(1);
        let is_fresh = |at: &Timestamp| *at > Timestamp::ZERO && now.since(*at) <= within;
        let hears = |peer: &Peer| {
            let host = world.environment.host(node, *peer);
            host.and_then(|host| ears.heard.get(host)).is_some_and(is_fresh)
        };
        let fresh = members.others().filter(|peer| members.is_voter(*peer)).filter(hears).count();
        if !spends || fresh + 1 >= members.quorum() {
            return Ok(());
        }
        Err(format!(
            "node {node} spends epoch {} while it hears {fresh} of {}",
            ballot.promised,
            members.count() - 1
        ))
    }
}

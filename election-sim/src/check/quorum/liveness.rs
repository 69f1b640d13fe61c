//! Once a majority is well and all its members hear each other, somebody leads within the promised
//! time. From then on no gap is longer than a few elections take, whatever the other nodes do.
//!
//! This does not hold while a node of that majority has [lost its promises](super::lost_promises),
//! while a witness of it has recorded data that none of its nodes has, while automatic failover
//! is paused, nor while a node without a ballot runs with a wrong file.
//! With members that run kevy-elect, it holds while the other members of the core
//! [alone are a majority](super::own_majority) and none of those members claims to be primary: a
//! primary of kevy-elect that hears nobody fences itself, but its heartbeats go on, and the others
//! cannot know.

use super::{
    Checker, Contract, QuorumEnvironment, Stored, Told, Verdict, WorldState,
    lost_promises::promises_are_lost, nanos, own_majority::own_majority,
};
use crate::{
    check::wording::all,
    quorum::{Heard, Machine, QuorumNodeState},
    schedule::Heal,
};
use election_core::{
    Protocol,
    quorum::{Event, Peer, Role},
};

#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// When the last belief ends, or ended, in true time.
    led_until: u64,
    /// Somebody has led since the heal.
    led: bool,
    /// When it was last unknown what the nodes of the core have promised.
    unknown_until: u64,
    /// By node: it has reported itself unhealthy, or was told not to lead.
    unfit: Vec<bool>,
    /// Until when a pause that was ordered may last.
    paused_until: u64,
}

/// The longest gap, in `down_after`: a leadership that runs out, and elections that collide.
const GAP: u32 = 8;
/// How long a frame may wait for its connection, in `down_after`: a node that was away learns from it how
/// much is left of a pause.
const WAITED: u32 = 10;

impl Checker<QuorumEnvironment> for Liveness {
    const NAME: &'static str = "liveness";
    const HOLDS: Contract = Contract::Within;

    fn new(nodes: usize) -> Self {
        Self { unfit: vec![false; nodes], ..Self::default() }
    }

    fn born(&mut self, world: &WorldState<'_>, node: usize) {
        self.unfit[node] = false;
        self.died(world, node);
    }

    /// A service of the core may end by itself.
    fn died(&mut self, world: &WorldState<'_>, node: usize) {
        let is_in = |heal: &Heal| world.now > nanos(heal.at) && heal.core.contains(&node);
        if world.schedule.heal.as_ref().is_some_and(is_in) {
            self.unknown_until = world.now;
        }
    }

    fn heard(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        let (Event::Pause(lasts), Some(cluster)) = (heard.event, &world.schedule.cluster) else {
            return;
        };
        let until = lasts.map_or(u64::MAX, |lasts| {
            let longest = lasts + lasts / 4 + cluster.down_after * WAITED;
            world.now.saturating_add(nanos(longest))
        });
        self.paused_until = self.paused_until.max(until);
    }

    fn told(&mut self, _: &WorldState<'_>, node: usize, told: Told) {
        if let Told::Healthy(healthy) = told {
            self.unfit[node] = !healthy;
        }
    }

    fn stepped(&mut self, world: &WorldState<'_>, _: usize) -> Verdict {
        match &world.schedule.heal {
            Some(heal) if world.now >= nanos(heal.at) => self.judge(world, heal),
            _ => Ok(()),
        }
    }

    fn due(&mut self, world: &WorldState<'_>, heal: &Heal) -> Verdict {
        self.judge(world, heal)
    }
}

impl Liveness {
    fn judge(&mut self, world: &WorldState<'_>, heal: &Heal) -> Verdict {
        let Some(cluster) = &world.schedule.cluster else { return Ok(()) };
        if world.now < self.led_until && self.led {
            return Ok(()); // checked again when that is over
        }
        let beliefs = world.nodes.iter().filter_map(|node| {
            let tenure = node.machine.as_ref()?.tenure(node.read(world.now))?;
            Some(node.clock.when(tenure.until))
        });
        match beliefs.max() {
            Some(until) => (self.led, self.led_until) = (true, until),
            None => self.led_until = self.led_until.min(world.now),
        }
        let ordered = self.is_paused(world, heal) || data_are_away(world, heal);
        let unknown = promises_are_lost(world, heal) || !own_majority(world, heal);
        if unknown || ordered || claims(world) || misleads(world) {
            self.unknown_until = world.now;
        }
        let since = nanos(heal.at).max(self.led_until).max(self.unknown_until);
        let most = if self.led { nanos(cluster.down_after * GAP) } else { nanos(heal.within) };
        let unfit = heal.core.iter().any(|node| self.unfit[*node]);
        if world.now <= since.saturating_add(most) || unfit {
            return Ok(());
        }
        Err(format!(
            "nobody leads for {} ms though {} are well",
            (world.now - since) / 1_000_000,
            all(&heal.core)
        ))
    }

    /// Whether a node of the core keeps to a pause of automatic failover, as long as one can last, and
    /// the primary that may be elected meanwhile is not of the core, or no longer a member.
    fn is_paused(&self, world: &WorldState<'_>, heal: &Heal) -> bool {
        let machines = heal.core.iter().filter_map(|node| world.nodes[*node].machine.as_ref());
        let known = machines.filter_map(Machine::maintenance).collect::<Vec<_>>();
        let newest = known.iter().max_by_key(|known| (known.record.number, known.record.issuer));
        let is_well = |primary: Peer| {
            let is_it = |node: &&usize| world.nodes[**node].state.peer == primary;
            let found = heal.core.iter().find(is_it);
            found.is_some_and(|node| world.environment.in_force.voters.contains(node))
        };
        let may_lead = newest.and_then(|known| known.record.primary).is_some_and(is_well);
        let may_be_paused = world.now <= self.paused_until;
        known.iter().any(|known| known.is_paused) && may_be_paused && !may_lead
    }
}

/// Whether a member that runs kevy-elect claims to be primary.
fn claims(world: &WorldState<'_>) -> bool {
    let machines = world.nodes.iter().filter_map(|node| node.machine.as_ref());
    machines.filter(|machine| machine.is_legacy()).any(|machine| machine.role() == Role::Primary)
}

/// Whether a node may vote by a wrong file, because no ballot of its own tells it that it is wrong.
fn misleads(world: &WorldState<'_>) -> bool {
    let wrong = world.nodes.iter().filter(|node| node.state.wrong_file);
    wrong
        .filter(|node| node.machine.is_some())
        .any(|node| *node.state.disk.durable() == Stored::Nothing)
}

/// Whether a node of the core demands data, by its ballot, that no node of the core has.
fn data_are_away(world: &WorldState<'_>, heal: &Heal) -> bool {
    let states = || heal.core.iter().map(|node| &world.nodes[*node].state);
    let newest = states().filter(|state| state.recorded().is_none());
    let newest = newest.map(|state| state.data.position()).max();
    states().map(QuorumNodeState::floor).max() > newest
}

//! While automatic failover is paused, nobody is elected but the last primary, unless a primary has
//! handed over on purpose; and no record is agreed that a majority has not held.
//!
//! A pause holds from when a majority has recorded it until a majority holds something newer: a
//! resumption counts once it is agreed, and disks may be slower than an election. Votes that were
//! given before may still be counted for a while. A pause that has ended by itself
//! is not judged, nor is one whose record a disk has lost. Nodes count the time by clocks that drift,
//! so a pause may end a fifth of its time too early; and by no wall clock, which are years apart.

use super::{Checker, Contract, QuorumEnvironment, Stored, Verdict, WorldState, nanos};
use crate::{
    fault::FaultKind,
    quorum::{Heard, wall_clock_begins},
};
use election_core::{
    Change,
    quorum::{Action, Event, Held, Maintenance, Message},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

#[derive(Debug, Default)]
pub(super) struct NoFailoverWhilePaused {
    /// The newest record of a majority, and since when.
    recorded: Option<(Maintenance, u64)>,
    /// By record: the members that have stated to hold it, agreed or not.
    holders: BTreeMap<u64, BTreeSet<usize>>,
    /// Who was given the order for that.
    by: Option<usize>,
    /// The records that were agreed: a later list may need more holders.
    agreed: BTreeSet<u64>,
    /// A primary has named its successor since somebody was last elected.
    ordered: bool,
    /// The orders so far: to whom, when, and for how long.
    orders: Vec<(usize, u64, Duration)>,
}

impl NoFailoverWhilePaused {
    /// Looks for a newer record that a majority has on its disks.
    fn look(&mut self, world: &WorldState<'_>) {
        let records = || {
            let hosts = world.environment.in_force.voters.iter();
            hosts.filter_map(|host| match world.nodes[*host].state.disk.durable() {
                Stored::Ballot(ballot) => Some(ballot.maintenance),
                Stored::Nothing | Stored::Torn => None,
            })
        };
        let key = |record: &Maintenance| (record.number, record.issuer);
        let Some(newest) = records().max_by_key(key) else { return };
        let holders = records().filter(|record| *record == newest).count();
        let is_news = self.recorded.is_none_or(|(known, _)| key(&known) < key(&newest));
        if is_news && holders >= world.environment.in_force.quorum() {
            self.recorded = Some((newest, world.now));
            self.by = whose(world, &newest);
        }
    }

    fn states(&mut self, world: &WorldState<'_>, node: usize, holds: Held) -> Verdict {
        let (record, agreed) = (holds.get() >> 1, holds.get() & 1 == 1);
        let holders = self.holders.entry(record).or_default();
        holders.insert(node);
        if agreed
            && self.agreed.insert(record)
            && holders.len() < world.environment.in_force.quorum()
        {
            return Err(format!("node {node} keeps to a record that no majority has held"));
        }
        Ok(())
    }

    /// When a pause may end by itself at the earliest, by the order that it comes from.
    fn ends(&self, record: &Maintenance) -> Option<u64> {
        let by = self.by?;
        let given = record.since?.0.checked_sub(wall_clock_begins(by))?;
        let is_it = |(node, at, _): &&(usize, u64, Duration)| {
            *node == by && (at / 1_000_000).abs_diff(given) <= READ_WITHIN
        };
        let orders = self.orders.iter().filter(is_it);
        orders.map(|(_, at, lasts)| at + nanos(*lasts) / 5 * 4).min()
    }
}

/// The node that was given an order, by the places in a ballot that has the record.
fn whose(world: &WorldState<'_>, record: &Maintenance) -> Option<usize> {
    let ids = world.nodes.iter().find_map(|node| match node.state.disk.durable() {
        Stored::Ballot(ballot) if ballot.maintenance == *record => Some(ballot.lists.ids()),
        _ => None,
    })?;
    let id = ids.get(record.by.index())?.as_ref()?;
    world.schedule.nodes.iter().position(|node| node.name == id.as_str())
}

/// How wrong the time of an order may be, in milliseconds: a driver looks at the wall clock once a
/// minute, and counts on by a clock that drifts.
const READ_WITHIN: u64 = 7_000;

impl Checker<QuorumEnvironment> for NoFailoverWhilePaused {
    const NAME: &'static str = "no-failover-while-paused";
    const HOLDS: Contract = Contract::Within;

    fn heard(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        if let Event::Pause(Some(lasts)) = heard.event {
            self.orders.push((heard.node, world.now, *lasts));
        }
    }

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let Action::Send { message: Message::Heartbeat(heartbeat), .. } = action else {
            return Ok(());
        };
        let Some(said) = heartbeat.extension else { return Ok(()) };
        self.ordered |= said.nominee.is_some();
        if said.holds == Held::default() {
            return Ok(()); // nearly always
        }
        self.look(world);
        self.states(world, node, said.holds)
    }

    fn changed(&mut self, world: &WorldState<'_>, node: usize, change: &Change) -> Verdict {
        let Change::Elected(tenure) = change else { return Ok(()) };
        let ordered = std::mem::take(&mut self.ordered);
        let (Some((record, since)), Some(cluster)) = (self.recorded, &world.schedule.cluster)
        else {
            return Ok(());
        };
        let under_way = world.now < since.saturating_add(nanos(cluster.down_after) * 2);
        let is_over = !record.paused || self.ends(&record).is_some_and(|end| end <= world.now);
        let goes_on = record.primary == Some(world.nodes[node].state.peer);
        let known = u64::from(record.number) << 6 | record.issuer.index() as u64;
        let quorum = world.environment.in_force.quorum();
        let is_replaced = self.holders.range(known + 1..).any(|(_, held)| held.len() >= quorum);
        let is_disk = |kind: &FaultKind| matches!(kind, FaultKind::Disk(..));
        let is_lost = world.schedule.faults.iter().any(|fault| is_disk(&fault.kind));
        if ordered || under_way || is_over || is_replaced || goes_on || is_lost {
            return Ok(());
        }
        Err(format!("{} is elected though automatic failover is paused", tenure.term))
    }
}

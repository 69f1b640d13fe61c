//! A small cluster in virtual time: machines, their clocks, disks and applications, and a network
//! that loses, repeats, delays and reorders. After every step the invariants are checked.

mod checks;
mod node;
mod plan;

pub(crate) use plan::{Plan, Trouble};

use checks::Checks;
use core::cmp::Reverse;
use election_core::{
    Change, Input, Protocol, Random, Step,
    quorum::{Action, Audience, Connection, Event, Message, Peer},
};
use node::{Disk, Node};
use std::collections::BinaryHeap;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;

/// An event at some true time.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Happening {
    /// The machine wants to be woken. The number tells the current plan from replaced ones.
    Wake {
        node: usize,
        plan: u64,
    },
    Frame {
        from: usize,
        to: usize,
        life: u64,
        connection: u64,
        message: Message,
    },
    Ended {
        from: usize,
        to: usize,
        life: u64,
        connection: u64,
    },
    Written {
        node: usize,
        life: u64,
        disk: Disk,
        fails: bool,
    },
    WorkStops {
        node: usize,
        life: u64,
        epoch: u64,
    },
    Apply {
        node: usize,
    },
    Trouble,
    Undo(Undo),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Undo {
    Heal { from: usize, to: usize },
    Start { node: usize, wiped: bool },
    Resume { node: usize },
    Recover { node: usize },
}

#[derive(PartialEq, Eq)]
struct Queued(u64, u64, Happening);

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A cluster and everything around it.
pub(crate) struct Cluster {
    plan: Plan,
    random: Random,
    /// True time in nanoseconds. No node knows it.
    now: u64,
    ordinal: u64,
    queue: BinaryHeap<Reverse<Queued>>,
    nodes: Vec<Node>,
    /// Whether frames pass from one node to another.
    open: Vec<Vec<bool>>,
    /// The number of connections so far from one node to another.
    connections: Vec<Vec<u64>>,
    calm: bool,
    checks: Checks,
    pub(crate) log: Vec<String>,
}

impl Cluster {
    pub(crate) fn new(plan: Plan) -> Self {
        let count = plan.nodes;
        let mut random = Random::new(plan.seed);
        let nodes = (0..count).map(|at| Node::new(&plan, at, &mut random)).collect();
        let mut cluster = Self {
            random,
            now: 0,
            ordinal: 0,
            queue: BinaryHeap::new(),
            nodes,
            open: vec![vec![true; count]; count],
            connections: vec![vec![1; count]; count],
            calm: false,
            checks: Checks::new(count),
            log: Vec::new(),
            plan,
        };
        for node in 0..count {
            cluster.at(0, Happening::Wake { node, plan: 0 });
            cluster.at(0, Happening::Undo(Undo::Recover { node }));
            cluster.at(50 * MS, Happening::Apply { node });
        }
        if !cluster.plan.troubles.is_empty() {
            cluster.at(0, Happening::Trouble);
        }
        cluster
    }

    /// The number of leaderships that began.
    pub(crate) fn elections(&self) -> usize {
        self.checks.winners.len()
    }

    /// The node that leads, if one does.
    pub(crate) fn leader(&self) -> Option<usize> {
        self.nodes.iter().position(|node| node.leads(self.now))
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, span: u64) {
        let end = self.now + span;
        while self.queue.peek().is_some_and(|Reverse(next)| next.0 <= end) {
            let Some(Reverse(Queued(at, _, happening))) = self.queue.pop() else { return };
            self.now = at;
            self.happen(happening);
        }
        self.now = end;
    }

    /// Ends every trouble, and lets no new one begin.
    pub(crate) fn calm_down(&mut self) {
        self.calm = true;
        for node in 0..self.nodes.len() {
            self.open[node].fill(true);
            self.undo(&Undo::Resume { node });
            self.undo(&Undo::Start { node, wiped: false });
            self.undo(&Undo::Recover { node });
        }
    }

    fn at(&mut self, after: u64, happening: Happening) {
        self.ordinal += 1;
        self.queue.push(Reverse(Queued(self.now + after, self.ordinal, happening)));
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Wake { node, plan } => {
                if self.nodes[node].plan == plan {
                    self.give(node, Input::Tick);
                }
            }
            Happening::Frame { from, to, life, connection, message } => {
                self.deliver(from, to, life, connection, message);
            }
            Happening::Ended { from, to, life, connection } => {
                let (from, connection) = (peer(from), Connection(connection));
                self.inform(to, life, Event::Disconnected { from, connection });
            }
            Happening::Written { node, life, disk, fails } => self.written(node, life, disk, fails),
            Happening::WorkStops { node, life, epoch } => self.work_stops(node, life, epoch),
            Happening::Apply { node } => self.apply(node),
            Happening::Trouble => self.trouble(),
            Happening::Undo(undo) => self.undo(&undo),
        }
    }

    fn inform(&mut self, node: usize, life: u64, event: Event) {
        if self.nodes[node].life != life || !self.nodes[node].runs() {
            return;
        }
        if self.nodes[node].paused {
            self.nodes[node].inbox.push((life, event));
            return;
        }
        // A deadline that is due goes before the inbox.
        for _ in 0..20 {
            if !self.nodes[node].is_due(self.now) {
                break;
            }
            self.give(node, Input::Tick);
        }
        self.give(node, Input::Event(event));
    }

    /// One step of one machine, with its consequences.
    fn give(&mut self, node: usize, input: Input<Event>) {
        let there = &mut self.nodes[node];
        let Some(machine) = there.machine.as_mut().filter(|_| !there.paused) else { return };
        let local = there.clock.local(self.now);
        let told = format!("{input:?}");
        let Step { change, action, wake_at } = machine.step(local, input);
        there.rest = if there.stepped == self.now { there.rest + 1 } else { 0 };
        there.stepped = self.now;
        there.wake_at = wake_at;
        there.plan += 1;
        let (rest, plan) = (there.rest, there.plan);
        if self.plan.verbose {
            let t = self.now as f64 / 1e9;
            self.log.push(format!("{t:.6} n{node} <- {told}\n      -> {change:?} {action:?}"));
        }
        self.check(rest < 500, || format!("n{node} does not come to rest"));
        if let Some(wake_at) = wake_at {
            let at = self.nodes[node].clock.true_time(wake_at).max(self.now);
            self.at(at - self.now, Happening::Wake { node, plan });
        }
        if let Some(change) = change {
            self.changed(node, change);
        }
        match action {
            None => {}
            Some(Action::Save(ballot)) => self.save(node, ballot),
            Some(Action::Send { to, message }) => self.send(node, to, &message),
        }
        self.exclusion();
    }

    fn changed(&mut self, node: usize, change: Change) {
        self.log.push(format!("{:.6} n{node} {change:?}", self.now as f64 / 1e9));
        let verdict = self.checks.changed(node, &change, &self.nodes);
        self.hold(verdict);
        match change {
            Change::Elected(tenure) => {
                let there = &mut self.nodes[node];
                there.work = Some((tenure.term.epoch.get(), u64::MAX));
                // The application of a legacy peer knows no histories.
                if !self.plan.has(Trouble::Legacy) {
                    there.position.history = tenure.term.epoch.get();
                }
                let position = there.position;
                let life = there.life;
                self.inform(node, life, Event::Position(position));
            }
            Change::Lost { term, stop_by, .. } => {
                let stop_by = self.nodes[node].clock.true_time(stop_by).max(self.now);
                let epoch = term.epoch.get();
                self.nodes[node].work = Some((epoch, stop_by));
                let life = self.nodes[node].life;
                let longest = stop_by - self.now;
                let stops = match self.random.up_to(3) {
                    0 => longest,
                    1 => longest.min(self.random.up_to(20 * MS)),
                    _ => self.random.up_to(longest),
                };
                self.at(stops, Happening::WorkStops { node, life, epoch });
            }
            Change::Followed { .. } | Change::Vacant | Change::Alert(_) => {}
        }
    }

    fn work_stops(&mut self, node: usize, life: u64, epoch: u64) {
        let there = &mut self.nodes[node];
        if there.life == life && there.work.is_some_and(|(of, _)| of == epoch) {
            there.work = None;
            if let Some(machine) = there.machine.as_ref() {
                let epoch = election_core::Epoch::new(epoch);
                if machine.draining() == Some(epoch) && !there.paused {
                    self.give(node, Input::Stopped(epoch));
                } else {
                    there.stops.push(epoch);
                }
            }
        }
    }

    fn save(&mut self, node: usize, ballot: election_core::quorum::Ballot) {
        let busy = core::mem::replace(&mut self.nodes[node].saving, true);
        self.check(!busy, || format!("n{node} saves twice at once"));
        let slow = self.plan.has(Trouble::SlowDisk) && !self.calm && self.random.up_to(9) == 0;
        let takes = if slow { self.random.up_to(6 * SECOND) } else { self.random.up_to(MS) };
        let fails = self.nodes[node].fails || {
            let may = self.plan.has(Trouble::FailingDisk) && !self.calm;
            may && self.random.up_to(9) == 0
        };
        let life = self.nodes[node].life;
        let disk = Some(ballot);
        self.at(takes, Happening::Written { node, life, disk, fails });
    }

    fn written(&mut self, node: usize, life: u64, disk: Disk, fails: bool) {
        if self.nodes[node].life != life || !self.nodes[node].runs() {
            return; // the process died first: nothing was written
        }
        let Some(ballot) = disk else { return };
        let epoch = ballot.promised;
        if !fails || self.random.up_to(1) == 0 {
            self.nodes[node].disk = Some(ballot);
        }
        self.nodes[node].saving = false;
        let event = if fails { Event::SaveFailed(epoch) } else { Event::Saved(epoch) };
        self.inform(node, life, event);
    }

    fn send(&mut self, from: usize, to: Audience, message: &Message) {
        let verdict = self.checks.sent(from, to, message, &self.nodes);
        self.hold(verdict);
        for target in 0..self.nodes.len() {
            let meant = match to {
                Audience::All => target != from,
                Audience::One(one) => one.index() == target,
            };
            if !meant || !self.open[from][target] {
                continue;
            }
            let copies = self.copies();
            for _ in 0..copies {
                let takes = self.delay();
                let life = self.nodes[target].life;
                let connection = self.connections[from][target];
                let message = self.nodes[from].spoken(message);
                self.at(takes, Happening::Frame { from, to: target, life, connection, message });
            }
        }
    }

    fn copies(&mut self) -> u64 {
        if self.calm {
            return 1;
        }
        let lost = self.plan.has(Trouble::Loss) && self.random.up_to(4) == 0;
        let twice = self.plan.has(Trouble::Repeats) && self.random.up_to(4) == 0;
        u64::from(!lost) + u64::from(twice)
    }

    fn delay(&mut self) -> u64 {
        let late = self.plan.has(Trouble::Delays) && !self.calm;
        match self.random.up_to(19) {
            0 if late => self.random.up_to(8 * SECOND),
            1..=4 if late => self.random.up_to(300 * MS),
            _ => 100_000 + self.random.up_to(MS),
        }
    }

    fn deliver(&mut self, from: usize, to: usize, life: u64, connection: u64, message: Message) {
        let (from, connection) = (peer(from), Connection(connection));
        self.inform(to, life, Event::Received { from, connection, message });
    }

    fn exclusion(&mut self) {
        let verdict = self.checks.exclusion(&self.nodes, self.now);
        self.hold(verdict);
    }

    fn hold(&self, verdict: Result<(), String>) {
        if let Err(broken) = verdict {
            self.check(false, || broken);
        }
    }

    #[track_caller]
    fn check(&self, holds: bool, broken: impl FnOnce() -> String) {
        if !holds {
            let from = self.log.len().saturating_sub(if self.plan.verbose { 4_000 } else { 60 });
            panic!(
                "{}\n{}\nat {} ns of {:?}",
                self.log[from..].join("\n"),
                broken(),
                self.now,
                self.plan
            );
        }
    }
}

pub(crate) fn peer(place: usize) -> Peer {
    Peer::new(u8::try_from(place).unwrap())
}

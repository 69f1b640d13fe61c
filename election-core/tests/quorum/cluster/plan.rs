//! The troubles of a run, and what they do.

use super::{Cluster, Happening, MS, SECOND, Undo, peer};
use election_core::{
    Input,
    quorum::{Event, Position},
};

/// What a network, a machine or an operator does to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Loss,
    Repeats,
    Delays,
    Cuts,
    OneWay,
    Reconnects,
    Crashes,
    Wipes,
    Pauses,
    SlowDisk,
    FailingDisk,
    Drift,
    Operators,
    Legacy,
}

impl Trouble {
    pub(crate) const ALL: [Self; 14] = [
        Self::Loss,
        Self::Repeats,
        Self::Delays,
        Self::Cuts,
        Self::OneWay,
        Self::Reconnects,
        Self::Crashes,
        Self::Wipes,
        Self::Pauses,
        Self::SlowDisk,
        Self::FailingDisk,
        Self::Drift,
        Self::Operators,
        Self::Legacy,
    ];
}

/// A run as data: printed when it fails.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) nodes: usize,
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) verbose: bool,
}

impl Plan {
    pub(crate) fn new(seed: u64, nodes: usize, troubles: &[Trouble]) -> Self {
        let verbose = std::env::var_os("QUORUM_VERBOSE").is_some();
        Self { seed, nodes, troubles: troubles.to_vec(), verbose }
    }

    pub(crate) fn has(&self, trouble: Trouble) -> bool {
        self.troubles.contains(&trouble)
    }
}

impl Cluster {
    /// The next of the troubles that come and go.
    pub(super) fn trouble(&mut self) {
        if self.calm {
            return;
        }
        let next = self.random.up_to(4 * SECOND);
        self.at(next, Happening::Trouble);
        let which = self.draw(self.plan.troubles.len());
        let node = self.draw(self.nodes.len());
        let lasts = match self.random.up_to(2) {
            0 => self.random.up_to(400 * MS),
            1 => self.random.up_to(5 * SECOND),
            _ => self.random.up_to(15 * SECOND),
        };
        self.log.push(format!(
            "{:.6} n{node} {:?} for {} ms",
            self.now as f64 / 1e9,
            self.plan.troubles[which],
            lasts / MS
        ));
        match self.plan.troubles[which] {
            Trouble::Cuts => {
                for other in 0..self.nodes.len() {
                    self.cut(node, other, lasts);
                    self.cut(other, node, lasts);
                }
            }
            Trouble::OneWay => self.cut_one_way(node, lasts),
            Trouble::Reconnects => {
                for other in 0..self.nodes.len() {
                    self.disconnect(node, other);
                    self.disconnect(other, node);
                }
            }
            Trouble::Crashes => self.crash(node, lasts, false),
            // At most one wiped disk: the protocol promises nothing beyond that.
            Trouble::Wipes if !self.nodes.iter().any(|node| node.was_wiped) => {
                self.nodes[node].was_wiped = true;
                self.crash(node, lasts, true);
            }
            Trouble::Pauses => {
                self.nodes[node].paused = true;
                self.at(lasts, Happening::Undo(Undo::Resume { node }));
            }
            Trouble::FailingDisk => {
                self.nodes[node].fails = true;
                self.at(lasts, Happening::Undo(Undo::Recover { node }));
            }
            Trouble::Operators => self.meddle(node),
            _ => {}
        }
    }

    /// One link fails, or nobody hears a node, or a node hears nobody.
    fn cut_one_way(&mut self, node: usize, lasts: u64) {
        let which = self.random.up_to(2);
        let other = self.draw(self.nodes.len());
        for place in 0..self.nodes.len() {
            match which {
                0 if place != other => {}
                0 | 1 => self.cut(node, place, lasts),
                _ => self.cut(place, node, lasts),
            }
        }
    }

    fn draw(&mut self, count: usize) -> usize {
        usize::try_from(self.random.up_to(count as u64 - 1)).unwrap()
    }

    fn cut(&mut self, from: usize, to: usize, lasts: u64) {
        if from != to {
            self.open[from][to] = false;
            self.at(lasts, Happening::Undo(Undo::Heal { from, to }));
        }
    }

    fn crash(&mut self, node: usize, lasts: u64, wiped: bool) {
        if self.nodes[node].machine.is_none() {
            return;
        }
        self.nodes[node].crash();
        self.checks.died(node);
        for other in 0..self.nodes.len() {
            self.disconnect(node, other);
        }
        self.at(lasts, Happening::Undo(Undo::Start { node, wiped }));
    }

    /// The connection from one node to another ends. The receiver notices a little later.
    fn disconnect(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        let (life, connection) = (self.nodes[to].life, self.connections[from][to]);
        let after = self.random.up_to(10 * MS);
        self.at(after, Happening::Ended { from, to, life, connection });
        self.connections[from][to] += 1;
    }

    fn meddle(&mut self, node: usize) {
        let life = self.nodes[node].life;
        let other = peer(self.draw(self.nodes.len()));
        let input = match self.random.up_to(4) {
            0 => Input::Resign,
            1 | 2 => Input::Event(Event::HandOver(other)),
            3 => Input::Event(Event::Health(false)),
            _ => Input::Event(Event::Health(true)),
        };
        if self.nodes[node].runs() && self.nodes[node].life == life {
            self.give(node, input);
        }
    }

    pub(super) fn undo(&mut self, undo: &Undo) {
        match *undo {
            Undo::Heal { from, to } => self.open[from][to] = true,
            Undo::Resume { node } => {
                if !core::mem::replace(&mut self.nodes[node].paused, false) {
                    return;
                }
                // The guard of the work looks at the clock before anything else runs.
                let now = self.now;
                self.nodes[node].work.take_if(|(_, stop_by)| *stop_by <= now);
                self.give(node, Input::Tick);
                for (life, event) in core::mem::take(&mut self.nodes[node].inbox) {
                    self.inform(node, life, event);
                }
                for epoch in core::mem::take(&mut self.nodes[node].stops) {
                    self.give(node, Input::Stopped(epoch));
                }
            }
            Undo::Start { node, wiped } => {
                if self.nodes[node].machine.is_some() {
                    return;
                }
                let plan = self.plan.clone();
                self.nodes[node].start(&plan, node, wiped, &mut self.random);
                let (life, position) = (self.nodes[node].life, self.nodes[node].position);
                self.give(node, Input::Tick);
                self.inform(node, life, Event::Position(position));
                self.undo(&Undo::Recover { node });
            }
            Undo::Recover { node } => {
                self.nodes[node].fails = false;
                let life = self.nodes[node].life;
                // A legacy peer has its own rules for leading: here it only follows.
                let healthy = !self.nodes[node].is_legacy();
                self.inform(node, life, Event::Health(healthy));
            }
        }
    }

    /// The application: a leader writes, and the others copy what they can reach.
    pub(super) fn apply(&mut self, node: usize) {
        self.at(50 * MS, Happening::Apply { node });
        let there = &self.nodes[node];
        if !there.runs() || there.paused {
            return;
        }
        let position = if there.leads(self.now) {
            Position { offset: there.position.offset + 1, ..there.position }
        } else {
            let Some(leader) = self.leader().filter(|leader| self.open[*leader][node]) else {
                return;
            };
            self.nodes[leader].position
        };
        let life = there.life;
        self.nodes[node].position = position;
        self.inform(node, life, Event::Position(position));
    }
}

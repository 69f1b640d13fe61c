//! What faults do to disks, connections and data.

use super::{
    happening::{Event, Happening},
    side::QuorumSide,
};
use crate::{
    draw::Stream,
    fault::{Damage, Saving, What},
    span::nanos,
    stage::Stage,
};
use election_core::{Input, quorum};

/// How the ballots of a node are saved at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Saves {
    pub(super) slower: u64,
    pub(super) failing: bool,
    pub(super) hanging: bool,
    pub(super) lying: bool,
}

impl Stage<QuorumSide> {
    pub(super) fn strike(&mut self, what: &What) {
        match what {
            What::HandOver(from, to) => {
                let to = self.nodes[*to].kit.peer;
                self.input(*from, Input::Event(quorum::Event::HandOver(to)));
            }
            What::Reset(from, to) => self.break_link(*from, *to, true),
            What::Pass(from, to) => self.pass(*from, *to),
            What::Disk(node, damage) => {
                self.nodes[*node].kit.damages.push((self.now, *damage));
                if self.nodes[*node].machine.is_none() {
                    self.damage(*node);
                }
            }
            _ => {}
        }
    }

    /// What befell a disk shows when no process has it open.
    fn damage(&mut self, node: usize) {
        let now = self.now;
        let kit = &mut self.nodes[node].kit;
        for (at, damage) in kit.damages.drain(..) {
            match damage {
                Damage::Lost => {
                    kit.disk.lose(now);
                    kit.data.roll_back(now, None);
                }
                Damage::Torn => kit.disk.tear(now),
                Damage::Stale(by) => {
                    let then = at.saturating_sub(nanos(by));
                    kit.disk.roll_back(now, then);
                    kit.data.roll_back(now, Some(then));
                }
            }
        }
    }

    /// The process of a node is gone: what its disk was doing ends, and its connections do.
    pub(super) fn cut_power(&mut self, node: usize) {
        let now = self.now;
        let nth = u64::from(self.nodes[node].life);
        let came_through = self.draw.chance(Stream::Save, node as u64, !nth, 500_000);
        let kit = &mut self.nodes[node].kit;
        kit.hung.clear();
        kit.disk.crash(now, came_through);
        self.damage(node);
        for other in 0..self.nodes.len() {
            if other != node {
                self.break_link(node, other, false);
                self.side.links.forget(other, node);
            }
        }
    }

    pub(super) fn revive(&mut self, node: usize) {
        let down =
            self.any(|what| matches!(what, What::Crash(n) | What::Withdraw(n) if *n == node));
        if self.nodes[node].machine.is_none() && !down {
            self.start(node);
        }
    }

    pub(super) fn recompute_quorum(&mut self, changed: &What) {
        match changed {
            What::Saves(node, _) => self.recompute_saves(*node),
            What::Lag(node) => self.nodes[*node].kit.lags = self.any(|what| what == changed),
            What::Sever(..) | What::Clog(..) | What::Part(_) | What::Frames(..) => {
                self.recompute_links();
            }
            _ => {}
        }
    }

    fn recompute_saves(&mut self, node: usize) {
        let mut saves = Saves::default();
        for what in self.in_force() {
            match what {
                What::Saves(n, Saving::Slow(by)) if *n == node => {
                    saves.slower = saves.slower.max(nanos(*by));
                }
                What::Saves(n, Saving::Failing) if *n == node => saves.failing = true,
                What::Saves(n, Saving::Hanging) if *n == node => saves.hanging = true,
                What::Saves(n, Saving::Lying) if *n == node => saves.lying = true,
                _ => {}
            }
        }
        let there = &mut self.nodes[node];
        there.kit.saving = saves;
        if !saves.hanging {
            let life = there.life;
            for nth in std::mem::take(&mut there.kit.hung) {
                self.queue.push(self.now, Event::Own(Happening::Saved { node, life, nth }));
            }
        }
    }

    fn recompute_links(&mut self) {
        let nodes = self.nodes.len();
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            if !self.net.cuts.is_open(from, to) {
                if self.side.links.link(from, to).number.is_some() {
                    self.break_link(from, to, false);
                }
            } else if self.side.links.link(from, to).number.is_none() {
                if !self.side.links.link(from, to).dials {
                    self.redial(from, to);
                }
            } else if !self.net.cuts.is_clogged(from, to) {
                self.release(from, to);
            }
        }
    }
}

//! What each fault does to the world when it begins and when it ends.
//!
//! Faults overlap. A fault therefore does not set and reset a flag, which would also end a second
//! fault of its kind. The simulator records which faults are in force and recomputes every flag
//! from that.

use super::{CheckerSet, Environment, Simulator, WorldState, world_state};
use crate::{
    fault::{Fault, FaultKind, database_fault, member_fault, network_fault},
    queue::Event,
    span::nanos,
};
use election_core::Input;

impl<S: Environment> Simulator<S> {
    pub(crate) fn begin(&mut self, index: usize) {
        let Fault { lasts, kind, .. } = self.schedule.faults[index].clone();
        self.trace.fault(self.now, index, true);
        if kind.lasts() {
            self.active[index] = true;
            self.queue.push(self.now.saturating_add(nanos(lasts)), Event::End(index));
        }
        match kind {
            FaultKind::Crash(node) => self.kill(node),
            FaultKind::Withdraw(node) => self.input(node, Input::Withdraw),
            FaultKind::Resign(node) => self.input(node, Input::Resign),
            FaultKind::Unhealthy(node) => self.set_health(node, false),
            FaultKind::Jump(node, by) => {
                self.nodes[node].clock.jump(self.now, by);
                self.set_timer(node);
            }
            FaultKind::Clone(from, onto) => self.clone_process(from, onto),
            FaultKind::Pause(_)
            | FaultKind::Suspend(_)
            | FaultKind::Stuck(_)
            | FaultKind::Rate(..)
            | network_fault!(FaultKind) => {} // recomputed
            database_fault!(FaultKind) | member_fault!(FaultKind) => S::begin(self, index, &kind),
        }
        self.recompute(&kind);
        let world = world_state!(self);
        self.checkers.fault_changed(&world, &kind);
    }

    pub(crate) fn end_fault(&mut self, index: usize) {
        if !std::mem::take(&mut self.active[index]) {
            return;
        }
        self.trace.fault(self.now, index, false);
        let kind = self.schedule.faults[index].kind.clone();
        self.recompute(&kind);
        let world = world_state!(self);
        self.checkers.fault_changed(&world, &kind);
        match kind {
            FaultKind::Crash(node) | FaultKind::Withdraw(node) => {
                if !self.is_down(node) {
                    self.kill(node);
                    self.start(node);
                }
            }
            FaultKind::Unhealthy(node) => {
                if !self.any(|kind| *kind == FaultKind::Unhealthy(node)) {
                    self.set_health(node, true);
                }
            }
            FaultKind::Stuck(node) => self.report_stopped(node),
            FaultKind::Pause(_) | FaultKind::Suspend(_) | FaultKind::Rate(..) => {} // recomputed
            FaultKind::Resign(_) | FaultKind::Jump(..) | FaultKind::Clone(..) => {} // no end
            network_fault!(FaultKind) | database_fault!(FaultKind) | member_fault!(FaultKind) => {}
        }
    }

    /// Leader work that ignored the order to stop has stopped, unless another fault still holds it.
    fn report_stopped(&mut self, node: usize) {
        let there = &self.nodes[node];
        if let Some(work) = there.work.filter(|work| work.told && !there.stuck) {
            let (life, epoch) = (there.life, work.epoch.get());
            // The work of an app goes on until the app says so, or the hard stop.
            let forced = there.clock.when(work.stop_by).max(self.now);
            let at = if self.apps[node].is_some() { forced } else { self.now };
            self.queue.push(at, Event::Stop { node, life, epoch });
        }
    }

    /// The environment and the core are well from now on.
    pub(crate) fn heal(&mut self) {
        let Some(heal) = self.schedule.heal.clone() else { return };
        for index in 0..self.active.len() {
            if self.schedule.faults[index].kind.befalls(&heal.core) {
                self.end_fault(index);
            }
        }
        for node in heal.core {
            if !self.lives(node) && !self.is_down(node) {
                self.start(node);
            }
        }
    }

    pub(crate) fn any(&self, is: impl Fn(&FaultKind) -> bool) -> bool {
        self.in_force().any(is)
    }

    pub(crate) fn in_force(&self) -> impl Iterator<Item = &FaultKind> {
        let faults = self.schedule.faults.iter().zip(&self.active);
        faults.filter(|(_, active)| **active).map(|(fault, _)| &fault.kind)
    }

    /// Whether a fault keeps this node from running a process.
    pub(crate) fn is_down(&self, node: usize) -> bool {
        self.any(|kind| matches!(kind, FaultKind::Crash(n) | FaultKind::Withdraw(n) if *n == node))
    }

    fn recompute(&mut self, changed: &FaultKind) {
        match changed {
            FaultKind::Pause(node) | FaultKind::Suspend(node) => {
                self.recompute_clock(*node);
                self.recompute_pause(*node);
            }
            FaultKind::Rate(node, _) => self.recompute_clock(*node),
            FaultKind::Stuck(node) => {
                self.nodes[*node].stuck = self.any(|kind| kind == changed);
            }
            network_fault!(FaultKind) => self.recompute_net(),
            FaultKind::Crash(_)
            | FaultKind::Withdraw(_)
            | FaultKind::Resign(_)
            | FaultKind::Unhealthy(_)
            | FaultKind::Jump(..)
            | FaultKind::Clone(..)
            | database_fault!(FaultKind)
            | member_fault!(FaultKind) => {}
        }
        S::recompute(self, changed);
    }

    fn recompute_clock(&mut self, node: usize) {
        let stopped = self.any(|kind| *kind == FaultKind::Suspend(node));
        let rate = self.in_force().filter_map(|kind| match kind {
            FaultKind::Rate(n, ppm) if *n == node => Some(*ppm),
            _ => None,
        });
        let ppm = rate.last().unwrap_or(self.nodes[node].ppm);
        self.nodes[node].clock.set_rate(self.now, if stopped { -1_000_000 } else { ppm });
        self.set_timer(node);
    }

    fn recompute_pause(&mut self, node: usize) {
        let paused = self
            .any(|kind| matches!(kind, FaultKind::Pause(n) | FaultKind::Suspend(n) if *n == node));
        let was = std::mem::replace(&mut self.nodes[node].paused, paused);
        if paused && !was && self.any(|kind| *kind == FaultKind::Pause(node)) {
            self.pause_service(node);
        }
        self.set_timer(node);
        if was && !paused {
            if self.nodes[node].start_due {
                self.start(node);
            }
            self.resume(node);
        }
    }
}

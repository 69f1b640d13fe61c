//! What faults do to disks, connections and data.

use super::{
    disk::Saves,
    environment::QuorumEnvironment,
    happening::{Event, Happening},
};
use crate::{
    draw::Stream,
    fault::{
        DiskFault, Fault, FaultKind, SaveFault, database_fault, network_fault, simulator_fault,
    },
    schedule::Member,
    simulator::Simulator,
    span::nanos,
};
use election_core::{
    Input,
    quorum::{self, UnixMillis},
};

/// What the wall clock of a node reads at the beginning of a run: years apart. Nobody may depend on
/// those of others.
pub(crate) fn wall_clock_begins(node: usize) -> u64 {
    const NOON: u64 = 1_700_000_000_000;
    const YEAR: u64 = 365 * 24 * 3_600_000;
    let years = node as u64 % 20 * YEAR;
    if node % 2 == 0 { NOON + years } else { NOON - years }
}

impl Simulator<QuorumEnvironment> {
    pub(super) fn begin_member_fault(&mut self, kind: &FaultKind) {
        match kind {
            FaultKind::HandOver(from, to) => {
                let to = self.nodes[*to].state.member;
                if let Some(to) = self.environment.place(*from, to) {
                    self.input(*from, Input::Event(quorum::Event::HandOver(to)));
                }
            }
            FaultKind::PauseFailover(node, lasts) => {
                let lasts = Some(*lasts).filter(|lasts| !lasts.is_zero());
                self.tell_wall_clock(*node);
                self.hand_over(*node, quorum::Event::Pause(lasts));
            }
            FaultKind::ResumeFailover(node) => {
                self.input(*node, Input::Event(quorum::Event::Resume));
            }
            FaultKind::WrongFile(node) => self.start_again(*node),
            FaultKind::AddMember(node) => self.add_member(*node),
            FaultKind::RemoveMember(node) => self.remove_member(*node),
            FaultKind::Reset(from, to) => self.reset_link(*from, *to),
            FaultKind::Pass(from, to) => self.pass(*from, *to),
            FaultKind::Stranger(from, to) => self.intrude(*from, *to),
            FaultKind::Disk(node, fault) => {
                self.nodes[*node].state.damages.push((self.now, *fault));
                if !self.lives(*node) {
                    self.damage(*node);
                }
            }
            FaultKind::Frame(..) => {} // checked when that frame is sent
            FaultKind::CrashAfter(..) => {} // checked after every action
            FaultKind::Saves(..) | FaultKind::Lag(_) => {} // recomputed
            simulator_fault!(FaultKind)
            | network_fault!(FaultKind)
            | database_fault!(FaultKind) => {}
        }
    }

    /// Tells a node what its wall clock reads, where anything depends on it.
    pub(super) fn tell_wall_clock(&mut self, node: usize) {
        let pauses = |fault: &Fault| matches!(fault.kind, FaultKind::PauseFailover(..));
        if self.schedule.faults.iter().any(pauses) {
            let time = UnixMillis(wall_clock_begins(node) + self.now / 1_000_000);
            self.input(node, Input::Event(quorum::Event::WallClock(time)));
        }
    }

    /// Applies the damage to a disk once no process has it open.
    fn damage(&mut self, node: usize) {
        let now = self.now;
        self.update_file(node);
        let state = &mut self.nodes[node].state;
        for (at, damage) in state.damages.drain(..) {
            match damage {
                DiskFault::Lost => {
                    state.disk.lose(now);
                    state.data.roll_back(now, None);
                }
                DiskFault::Torn => state.disk.tear(now),
                DiskFault::Stale(by) => {
                    let then = at.saturating_sub(nanos(by));
                    state.disk.roll_back(now, then);
                    state.data.roll_back(now, Some(then));
                }
            }
        }
    }

    /// The process of a node has ended: its save and its connections end, too.
    pub(super) fn cut_power(&mut self, node: usize) {
        let now = self.now;
        let nth = u64::from(self.nodes[node].life);
        let came_through = self.draw.chance(Stream::Save, node as u64, !nth, 500_000);
        let state = &mut self.nodes[node].state;
        state.hung.clear();
        state.disk.crash(now, came_through);
        self.note_lists(node);
        self.damage(node);
        #[cfg(feature = "service")]
        if self.workload.runs_services() {
            return self.close_sockets(node);
        }
        for other in 0..self.nodes.len() {
            if other != node {
                self.break_link(node, other, false);
                self.environment.links.forget(other, node);
            }
        }
    }

    /// A process that starts reads its file.
    pub(super) fn read_file(&mut self, node: usize) {
        let wrong = self.has_wrong_file(node);
        if wrong == self.nodes[node].state.wrong_file && !self.environment.lists_change {
            return;
        }
        self.update_file(node);
        self.nodes[node].state.wrong_file = wrong;
        let members = self.members_of(node);
        let drift = self.schedule.timing.drift_ppm;
        let cluster = self.schedule.cluster.as_ref();
        let config = cluster.and_then(|cluster| cluster.config(&members, node, drift).ok());
        if let Some(config) = config {
            self.environment.configs[node] = config;
        }
    }

    /// The members by the file of a node.
    pub(super) fn members_of(&self, node: usize) -> Vec<Member> {
        let mut members = self.schedule.nodes.clone();
        if let Some(file) = &self.nodes[node].state.file {
            for (other, member) in members.iter_mut().enumerate() {
                member.spare = !file.contains(&other);
            }
        }
        if self.nodes[node].state.wrong_file {
            // The last in the order of ids: the places of the others stay what they are.
            let more = Member {
                name: "~".to_owned(),
                witness: false,
                spare: false,
                ..members[node].clone()
            };
            members.push(more);
        }
        members
    }

    fn has_wrong_file(&self, node: usize) -> bool {
        self.any(|kind| *kind == FaultKind::WrongFile(node))
    }

    fn start_again(&mut self, node: usize) {
        self.kill(node);
        self.revive(node);
    }

    pub(super) fn revive(&mut self, node: usize) {
        if !self.lives(node) && !self.is_down(node) {
            self.start(node);
        }
    }

    pub(super) fn recompute_member_fault(&mut self, changed: &FaultKind) {
        match changed {
            FaultKind::Saves(node, _) => self.recompute_saves(*node),
            // Begun: it has been started with the wrong file already.
            FaultKind::WrongFile(node) if !self.has_wrong_file(*node) => self.start_again(*node),
            FaultKind::Lag(node) => {
                self.nodes[*node].state.lags = self.any(|kind| kind == changed);
            }
            network_fault!(FaultKind) => self.recompute_links(),
            FaultKind::WrongFile(_)
            | FaultKind::AddMember(_)
            | FaultKind::RemoveMember(_)
            | FaultKind::HandOver(..)
            | FaultKind::PauseFailover(..)
            | FaultKind::ResumeFailover(..)
            | FaultKind::Reset(..)
            | FaultKind::Pass(..)
            | FaultKind::Stranger(..)
            | FaultKind::Frame(..)
            | FaultKind::Disk(..)
            | FaultKind::CrashAfter(..)
            | simulator_fault!(FaultKind)
            | database_fault!(FaultKind) => {}
        }
    }

    fn recompute_saves(&mut self, node: usize) {
        let mut saves = Saves::default();
        for what in self.in_force() {
            match what {
                FaultKind::Saves(n, SaveFault::Slow(by)) if *n == node => {
                    saves.slower = saves.slower.max(nanos(*by));
                }
                FaultKind::Saves(n, SaveFault::Failing) if *n == node => saves.failing = true,
                FaultKind::Saves(n, SaveFault::Hanging) if *n == node => saves.hanging = true,
                FaultKind::Saves(n, SaveFault::Lying) if *n == node => saves.lying = true,
                _ => {}
            }
        }
        let there = &mut self.nodes[node];
        there.state.saving = saves;
        if !saves.hanging {
            let life = there.life;
            for nth in std::mem::take(&mut there.state.hung) {
                self.queue.push(self.now, Event::Own(Happening::Saved { node, life, nth }));
            }
        }
    }

    fn recompute_links(&mut self) {
        #[cfg(feature = "service")]
        if self.workload.runs_services() {
            return self.release_sockets();
        }
        let nodes = self.nodes.len();
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            if !self.net.cuts.is_open(from, to) {
                if self.environment.links.link(from, to).number.is_some() {
                    self.break_link(from, to, false);
                }
            } else if self.environment.links.link(from, to).number.is_none() {
                if !self.environment.links.link(from, to).dials {
                    self.redial(from, to);
                }
            } else if !self.net.cuts.is_clogged(from, to) {
                self.release(from, to);
            }
        }
    }
}

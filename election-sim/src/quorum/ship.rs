//! The application: the leader writes at every turn and ships its data to its followers.

use super::{
    environment::QuorumEnvironment,
    happening::{Event, Happening},
};
use crate::{
    draw::Stream,
    simulator::{CheckerSet, Simulator, WorldState, world_state},
};
use election_core::{
    Input, Protocol,
    quorum::{self, Peer, Role},
};

impl Simulator<QuorumEnvironment> {
    /// The application of a process that has started reads its data, unless it knows already how
    /// far they have come.
    pub(super) fn load(&mut self, node: usize) {
        if !self.nodes[node].state.loads {
            return self.report_position(node);
        }
        self.load_soon(node);
    }

    /// The application reads its data.
    pub(super) fn load_soon(&mut self, node: usize) {
        let life = self.nodes[node].life;
        let takes =
            self.draw.between(Stream::Load, node as u64, u64::from(life), self.environment.load);
        let at = self.now.saturating_add(takes);
        self.queue.push(at, Event::Own(Happening::Loaded { node, life }));
    }

    pub(super) fn loaded(&mut self, node: usize, life: u32) {
        let there = &mut self.nodes[node];
        if there.life == life && there.machine.is_some() {
            there.state.loads = false;
            self.report_position(node);
        }
    }

    pub(super) fn next_turn(&mut self, node: usize) {
        let life = self.nodes[node].life;
        // The turns of the nodes are out of step.
        let growth = self.environment.growth;
        let apart = self.draw.between(Stream::Act, node as u64, u64::from(life), (0, growth / 16));
        let at = self.now.saturating_add(growth).saturating_add(apart);
        self.queue.push(at, Event::Own(Happening::Turn { node, life }));
    }

    pub(super) fn turn(&mut self, node: usize, life: u32) {
        let there = &mut self.nodes[node];
        if there.life != life {
            return;
        }
        if there.machine.is_some() && !there.paused {
            self.tell_wall_clock(node);
        }
        let there = &mut self.nodes[node];
        let Some(machine) = &there.machine else { return };
        let leads = machine.role() == Role::Primary;
        let lead = machine.tenure(there.clock.read(self.now)).map(|tenure| tenure.term.epoch);
        if leads && !there.paused {
            if let Some(epoch) = lead {
                let history = match self.environment.history {
                    // An application of kevy-elect opens no history.
                    true if machine.is_legacy() => there.state.data.position().history,
                    true => epoch.get(),
                    false => 0,
                };
                there.state.data.grow(self.now, history);
                self.report_position(node);
                self.write_as_leader(node);
            }
            self.ship(node);
        }
        self.next_turn(node);
    }

    /// Tells a node's machine how far the node's data has come.
    pub(super) fn report_position(&mut self, node: usize) {
        let world = world_state!(self);
        let verdict = self.checkers.done(&world, &node);
        self.verdict(verdict);
        let position = self.nodes[node].state.data.position();
        self.input(node, Input::Event(quorum::Event::Position(position)));
    }

    fn ship(&mut self, from: usize) {
        let position = self.nodes[from].state.data.position();
        for place in 0..self.environment.places(from) {
            let Some(to) = self.environment.host(from, Peer::new(place)) else { continue };
            if to == from || !self.net.cuts.is_open(from, to) {
                continue;
            }
            let copy = Some((from, to, position));
            let slot = match self.environment.free_copies.pop() {
                Some(slot) => {
                    self.environment.copies[slot] = copy;
                    slot
                }
                None => {
                    self.environment.copies.push(copy);
                    self.environment.copies.len() - 1
                }
            };
            let link = self.environment.links.place(from, to) as u64;
            let travel = self.draw.between(Stream::Copy, link, self.now, self.latency);
            self.queue.push(self.now + travel, Event::Own(Happening::Copy(slot)));
        }
    }

    /// A copy arrives; the node takes it if it follows the sender.
    pub(super) fn arrive_copy(&mut self, slot: usize) {
        let Some((from, to, position)) = self.environment.copies[slot].take() else { return };
        self.environment.free_copies.push(slot);
        let there = &mut self.nodes[to];
        let Some(machine) = &there.machine else { return };
        let has_data = !self.schedule.nodes[to].witness;
        let reads = has_data && !there.state.loads && !there.state.lags;
        if there.paused || !reads || machine.role() == Role::Primary {
            return;
        }
        let follows = machine.followed().is_some_and(|(term, _)| {
            term.leader.as_str() == self.schedule.nodes[from].name.as_str()
        });
        if follows && there.state.data.copy(self.now, position) {
            self.report_position(to);
        }
    }
}

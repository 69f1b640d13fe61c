//! Carries out what a step asks for: saves ballots, sends frames, and hands the results in.

use super::{
    environment::{Heard, QuorumEnvironment},
    happening::{Event, Happening},
    links::Frame,
};
use crate::{
    draw::Stream,
    fault::{Fault, FaultKind, FrameFault},
    simulator::{CheckerSet, Simulator, WorldState, world_state},
    span::nanos,
};
use election_core::{
    Input, Timestamp,
    quorum::{self, Action, Audience, Ballot, Connection, Message},
};
use std::time::Duration;

impl Simulator<QuorumEnvironment> {
    pub(super) fn carry_out(&mut self, node: usize, action: Action, _: Timestamp) {
        let world = world_state!(self);
        let verdict = self.checkers.asked(&world, node, &action);
        self.verdict(verdict);
        self.nodes[node].state.asked += 1;
        match action {
            Action::Save(ballot) => self.save(node, ballot),
            Action::Send { to: Audience::All, message } => {
                for place in 0..self.environment.hosts.len() {
                    self.send(node, self.environment.hosts[place], message.clone());
                }
            }
            Action::Send { to: Audience::One(peer), message } => {
                if let Some(to) = self.environment.hosts.get(peer.index()) {
                    self.send(node, *to, message);
                }
            }
        }
        if !self.environment.crashes.is_empty() {
            self.crash_at_the_boundary(node);
        }
    }

    /// Kills a process right after its newest action.
    fn crash_at_the_boundary(&mut self, node: usize) {
        let asked = self.nodes[node].state.asked;
        let here = |(at, nth, _): &&(usize, u64, u64)| (*at, *nth) == (node, asked);
        let Some((_, _, down)) = self.environment.crashes.iter().find(here).copied() else {
            return;
        };
        let healed = self
            .schedule
            .heal
            .as_ref()
            .is_some_and(|heal| self.now >= nanos(heal.at) && heal.core.contains(&node));
        if !healed {
            self.queue.push(self.now, Event::Own(Happening::Kill(node)));
            self.queue.push(self.now.saturating_add(down), Event::Own(Happening::Revive(node)));
        }
    }

    fn save(&mut self, node: usize, ballot: Ballot) {
        self.trace.saves(self.now, node, &ballot);
        let there = &mut self.nodes[node];
        let life = there.life;
        let nth = there.state.disk.begin(ballot);
        let slower = there.state.saving.slower;
        let takes = self.draw.between(Stream::Save, node as u64, nth, self.environment.save);
        let more = self.draw.between(Stream::Late, node as u64, nth, (slower / 8, slower));
        let at = self.now.saturating_add(takes).saturating_add(more);
        self.queue.push(at, Event::Own(Happening::Saved { node, life, nth }));
    }

    pub(super) fn finish_save(&mut self, node: usize, life: u32, nth: u64) {
        let now = self.now;
        let luck = self.draw.chance(Stream::Save, node as u64, nth ^ (1 << 63), 500_000);
        let there = &mut self.nodes[node];
        let state = &mut there.state;
        let Some(epoch) = state.disk.pending(nth).map(|ballot| ballot.promised) else { return };
        if there.life != life {
            return;
        }
        if state.saving.hanging {
            return state.hung.push(nth);
        }
        let saved = if state.saving.failing {
            state.disk.fail(now, luck);
            quorum::Event::SaveFailed(epoch)
        } else if state.saving.lying {
            state.disk.pretend();
            quorum::Event::Saved(epoch)
        } else {
            state.disk.finish(now);
            quorum::Event::Saved(epoch)
        };
        self.trace.saved(now, node, epoch, matches!(saved, quorum::Event::Saved(_)));
        self.hand_over(node, saved);
    }

    /// Hands an event in while the checkers watch.
    fn hand_over(&mut self, node: usize, event: quorum::Event) {
        if self.nodes[node].machine.is_none() {
            return;
        }
        let world = world_state!(self);
        self.checkers.heard(&world, &Heard { node, event: &event });
        self.input(node, Input::Event(event));
    }

    fn send(&mut self, from: usize, to: usize, message: Message) {
        if from == to {
            return;
        }
        let (now, cuts) = (self.now, &self.net.cuts);
        let (open, clogged) = (cuts.is_open(from, to), cuts.is_clogged(from, to));
        let link = self.environment.links.link_mut(from, to);
        if !open || link.number.is_none() {
            return link.keep(message);
        }
        if clogged {
            let buffer = self.schedule.cluster.as_ref().map_or(0, |cluster| cluster.buffer);
            return link.hold(now, message, buffer);
        }
        self.write(from, to, message);
    }

    /// Gives a frame to an existing connection.
    fn write(&mut self, from: usize, to: usize, message: Message) {
        let now = self.now;
        let place = self.environment.links.place(from, to) as u64;
        let link = self.environment.links.link_mut(from, to);
        let Some(number) = link.number else { return };
        link.sent += 1;
        let nth = link.sent;
        let travel = self.draw.between(Stream::Travel, place, nth, self.latency);
        let arrival = (now + travel).max(link.last);
        link.last = arrival;
        let frame = Frame { from, to, number, sent: now, message };
        match self.fault_of(from, to, nth) {
            None => self.dispatch(arrival, frame),
            Some(fault) => self.befall(fault, arrival, frame),
        }
    }

    fn dispatch(&mut self, at: u64, frame: Frame) {
        let slot = self.environment.links.put(frame);
        self.queue.push(at, Event::Own(Happening::Frame(slot)));
    }

    /// The fault of a frame: the schedule's fault for this very frame, or else one by chance.
    fn fault_of(&mut self, from: usize, to: usize, nth: u64) -> Option<FrameFault> {
        let links = &self.environment.links;
        if links.faults.is_empty() && self.net.cuts.odds.is_empty() {
            return None;
        }
        let explicit = links.faults.iter().find(|(a, b, n, _)| (*a, *b, *n) == (from, to, nth));
        if let Some((.., fault)) = explicit {
            return Some(*fault);
        }
        let place = links.place(from, to) as u64;
        let (_, fault, _) = *self.net.cuts.odds.iter().find(|(index, _, ppm)| {
            self.draw.chance(Stream::Frame, place, (nth << 16) + *index as u64, *ppm)
        })?;
        let fault = match fault {
            FrameFault::Late(most) => {
                let most = nanos(most);
                let by = self.draw.between(Stream::Late, place, nth, (most / 16, most));
                FrameFault::Late(Duration::from_nanos(by))
            }
            other => other,
        };
        let kind = FaultKind::Frame(from, to, nth, fault);
        self.chances.push(Fault { at: Duration::ZERO, lasts: Duration::ZERO, kind });
        Some(fault)
    }

    /// A connection does not lose, duplicate or reorder frames: any fault of a frame breaks it.
    fn befall(&mut self, fault: FrameFault, arrival: u64, frame: Frame) {
        let (from, to) = (frame.from, frame.to);
        let link = self.environment.links.link_mut(from, to);
        match fault {
            FrameFault::Lost => {}
            FrameFault::Twice => {
                link.next.push_back(frame.message.clone());
                self.dispatch(arrival, frame);
            }
            FrameFault::Late(by) => {
                // The receiver notices the end of the old connection only after this frame.
                link.last = arrival.saturating_add(nanos(by));
                self.dispatch(arrival.saturating_add(nanos(by)), frame);
            }
        }
        self.break_link(from, to, false);
    }

    /// Ends the connection between two processes. Frames under way still arrive, unless `lost`.
    pub(super) fn break_link(&mut self, from: usize, to: usize, lost: bool) {
        let (now, open) = (self.now, self.net.cuts.is_open(from, to));
        let link = self.environment.links.link_mut(from, to);
        if let Some(number) = link.number.take() {
            link.held.retain(|(_, message)| matches!(message, Message::Heartbeat(_)));
            let newest = link.held.pop_back();
            link.held.clear();
            if let Some((_, heartbeat)) = newest {
                link.keep(heartbeat);
            }
            let noticed = link.last.max(now + self.latency.0);
            link.last = 0;
            if open {
                self.queue.push(noticed, Event::Own(Happening::Ended { from, to, number }));
            } else {
                link.unnoticed = Some(number);
            }
            if lost {
                self.environment.links.drop_frames(from, to, number);
            }
        }
        self.redial(from, to);
    }

    /// Tries to connect again after a while.
    pub(super) fn redial(&mut self, from: usize, to: usize) {
        let open = self.net.cuts.is_open(from, to);
        let place = self.environment.links.place(from, to) as u64;
        let link = self.environment.links.link_mut(from, to);
        link.attempt += 1;
        let attempt = link.attempt;
        let up = |node: usize| self.nodes[node].machine.is_some();
        link.dials = open && up(from) && up(to);
        if link.dials {
            let (low, high) = self.latency;
            let wait = (low * 3, high * 3 + REDIAL);
            let wait = self.draw.between(Stream::Dial, place, u64::from(attempt), wait);
            self.queue.push(self.now + wait, Event::Own(Happening::Connect { from, to, attempt }));
        }
    }

    /// A process that has just started dials all others, and they dial it.
    pub(super) fn connect_all(&mut self, node: usize) {
        let now = self.now;
        self.environment.links.born(node);
        for other in 0..self.nodes.len() {
            if other == node {
                continue;
            }
            for (from, to) in [(node, other), (other, node)] {
                let link = self.environment.links.link_mut(from, to);
                if link.number.is_some() {
                    continue;
                }
                if now == 0 {
                    // At the very start nobody has to wait for connections.
                    link.attempt += 1;
                    link.dials = true;
                    let attempt = link.attempt;
                    let what = Happening::Connect { from, to, attempt };
                    self.queue.push(now, Event::Own(what));
                } else {
                    self.redial(from, to);
                }
            }
        }
    }

    pub(super) fn connect(&mut self, from: usize, to: usize, attempt: u32) {
        let up = |node: usize| self.nodes[node].machine.is_some();
        let answers = self.environment.hosts.contains(&to);
        let able = up(from) && up(to) && answers && self.net.cuts.is_open(from, to);
        if self.environment.links.link(from, to).attempt != attempt {
            return;
        }
        self.environment.links.link_mut(from, to).dials = false;
        if !able {
            return;
        }
        let number = self.environment.links.accept(to);
        let link = self.environment.links.link_mut(from, to);
        link.number = Some(number);
        link.last = 0;
        let (next, unnoticed) = (std::mem::take(&mut link.next), link.unnoticed.take());
        for message in next {
            self.send(from, to, message);
        }
        if let Some(number) = unnoticed {
            let at = self.now + self.latency.1;
            self.queue.push(at, Event::Own(Happening::Ended { from, to, number }));
        }
    }

    /// Releases the frames held back.
    pub(super) fn release(&mut self, from: usize, to: usize) {
        let held = std::mem::take(&mut self.environment.links.link_mut(from, to).held);
        for (_, message) in held {
            self.send(from, to, message);
        }
    }

    /// Releases one of the frames held back.
    pub(super) fn pass(&mut self, from: usize, to: usize) {
        if let Some((_, message)) = self.environment.links.link_mut(from, to).held.pop_front() {
            self.write(from, to, message);
        }
    }

    pub(super) fn end_connection(&mut self, from: usize, to: usize, number: u64) {
        if !self.environment.links.is_current(to, number) {
            return;
        }
        let from = self.nodes[from].state.peer;
        let connection = Connection(number);
        self.hand_over(to, quorum::Event::Disconnected { from, connection });
    }

    pub(super) fn arrive(&mut self, slot: usize) {
        let Some(frame) = self.environment.links.take(slot) else { return };
        let Frame { from, to, number, sent, message } = frame;
        if !self.environment.links.is_current(to, number) || self.nodes[to].machine.is_none() {
            return;
        }
        self.trace.heard(self.now, (from, sent), to, &message);
        let (from, connection) = (self.nodes[from].state.peer, Connection(number));
        self.hand_over(to, quorum::Event::Received { from, connection, message });
    }
}

/// The longest wait of a process before it dials again.
const REDIAL: u64 = 50_000_000;

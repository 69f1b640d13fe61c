//! Connections: how they are made, how they break, and who learns of it when.

use super::{
    environment::QuorumEnvironment,
    happening::{Event, Happening},
    links::Piece,
};
use crate::{draw::Stream, simulator::Simulator};
use election_core::quorum::{
    self, Connection, Peer,
    wire::{Decoder, Dialect, Encoder, Outbox},
};

impl Simulator<QuorumEnvironment> {
    /// Ends the connection between two processes. Bytes under way still arrive, unless `lost`. What
    /// a stalled connection has taken is lost.
    pub(super) fn break_link(&mut self, from: usize, to: usize, lost: bool) {
        let (now, open) = (self.now, self.net.cuts.is_open(from, to));
        let link = self.environment.links.link_mut(from, to);
        if let Some(number) = link.hang_up() {
            link.held.clear();
            let last = link.line(number).map_or(0, |line| line.last);
            if open {
                let noticed = last.max(now + self.latency.0);
                self.queue.push(noticed, Event::Own(Happening::Ended { from, to, number }));
            } else {
                link.unnoticed = Some(number);
            }
            if lost {
                self.environment.links.drop_pieces(from, to, number);
            }
        }
        self.redial(from, to);
    }

    /// A connection breaks, and what is under way is lost.
    pub(super) fn reset_link(&mut self, from: usize, to: usize) {
        #[cfg(feature = "service")]
        if self.workload.runs_services() {
            return self.reset(from, to);
        }
        self.break_link(from, to, true);
    }

    /// Tries to connect again after a while.
    pub(super) fn redial(&mut self, from: usize, to: usize) {
        let open = self.net.cuts.is_open(from, to);
        let knows = self.environment.knows(from, to);
        let place = self.environment.links.place(from, to) as u64;
        let link = self.environment.links.link_mut(from, to);
        link.attempt += 1;
        let attempt = link.attempt;
        let up = |node: usize| self.nodes[node].machine.is_some();
        link.dials = open && knows && up(from) && up(to);
        if link.dials {
            let (low, high) = self.latency;
            let wait = (low * 3, high * 3 + REDIAL);
            let wait = self.draw.between(Stream::Dial, place, u64::from(attempt), wait);
            self.queue.push(self.now + wait, Event::Own(Happening::Connect { from, to, attempt }));
        }
    }

    /// The driver of a process that starts has nothing to say yet.
    pub(super) fn empty_outboxes(&mut self, node: usize) {
        let config = &self.environment.configs[node];
        if let Ok(encoder) = Encoder::new(config.members().clone()) {
            let outbox = Outbox::new(encoder, config.down_after());
            self.environment.links.born(node, &outbox);
        }
    }

    /// A process that has just started dials all others, and they dial it.
    pub(super) fn connect_all(&mut self, node: usize) {
        let now = self.now;
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
        let member = |node: usize| self.nodes[node].state.member;
        // Nobody dials its own id, nor a second process under a member's.
        let answers = self.environment.answers(to) && member(from) != member(to);
        let answers = answers && self.environment.knows(from, to);
        let able = up(from) && up(to) && answers && self.net.cuts.is_open(from, to);
        if self.environment.links.link(from, to).attempt != attempt {
            return;
        }
        self.environment.links.link_mut(from, to).dials = false;
        if !able {
            return;
        }
        let decoder = Decoder::new(self.environment.configs[to].members().clone());
        let number = self.environment.links.accept(from, to, decoder);
        let local = self.nodes[from].read(self.now);
        let is_second = member(from) != from;
        let is_greeted = is_second && !self.nodes[to].state.is_legacy();
        let link = self.environment.links.link_mut(from, to);
        link.number = Some(number);
        let unnoticed = link.unnoticed.take();
        if let Some(outbox) = &mut link.outbox {
            outbox.opened(local);
            if is_greeted {
                // Nobody dials it for long, but its driver has met the members once. Otherwise it
                // could only greet them, and they would not notice it at all.
                outbox.heard(Connection(number), Dialect::Extended, local);
            }
        }
        self.pump(from, to);
        if let Some(number) = unnoticed {
            let at = self.now + self.latency.1;
            self.queue.push(at, Event::Own(Happening::Ended { from, to, number }));
        }
    }

    /// Somebody else says something in the name of a member.
    pub(super) fn intrude(&mut self, from: usize, to: usize) {
        if from == to || self.nodes[to].machine.is_none() {
            return;
        }
        let id = &self.schedule.nodes[from].name;
        let frame = format!("*5 $2 HB $1 0 ${} {id} $7 replica $1 0 ", id.len());
        let said = frame.replace(' ', "\r\n").into_bytes();
        #[cfg(feature = "service")]
        if self.workload.runs_services() {
            return self.intrude_on(from, to, said);
        }
        let decoder = Decoder::new(self.environment.configs[to].members().clone());
        let number = self.environment.links.accept(from, to, decoder);
        for bytes in [said, Vec::new()] {
            let (sent, nth, is_whole) = (self.now, 0, false);
            self.launch(Piece { from, to, number, sent, nth, is_whole, bytes });
        }
    }

    /// The receiver notices the end of a connection.
    pub(super) fn end_connection(&mut self, from: usize, to: usize, number: u64) {
        let Some(line) = self.environment.links.link_mut(from, to).take_line(number) else {
            return;
        };
        let Some(peer) = line.decoder.peer() else { return };
        let connection = Connection(number);
        if let Some((outbox, now)) = self.outbox_to(to, peer) {
            outbox.ended(connection, now);
        }
        self.hand_over(to, quorum::Event::Disconnected { from: peer, connection });
    }

    /// What the driver of a process keeps for a peer, and that driver's time.
    pub(super) fn outbox_to(
        &mut self,
        node: usize,
        peer: Peer,
    ) -> Option<(&mut Outbox, election_core::Timestamp)> {
        if self.nodes[node].state.is_legacy() {
            return None; // it speaks one dialect to all
        }
        let host = self.environment.host(node, peer)?;
        let now = self.nodes[node].read(self.now);
        let outbox = self.environment.links.link_mut(node, host).outbox.as_mut()?;
        Some((outbox, now))
    }

    /// Looks after a connection that takes nothing, until it does or is to be cut.
    pub(super) fn watch(&mut self, from: usize, to: usize) {
        let paused = self.nodes[from].paused;
        let clock = self.nodes[from].clock;
        let link = self.environment.links.link_mut(from, to);
        let Some(at) = link.outbox.as_ref().and_then(Outbox::cut_at) else { return };
        if !std::mem::replace(&mut link.watched, true) {
            // Its clock may stand still meanwhile, and so may the process.
            let latest = self.now + WATCH;
            let soonest = if paused { latest } else { self.now + 1 };
            let at = clock.when(at).clamp(soonest, latest);
            self.queue.push(at, Event::Own(Happening::Watched { from, to }));
        }
    }

    /// Cuts a connection that has taken nothing for too long. What it took before still arrives,
    /// and then its end.
    pub(super) fn watched(&mut self, from: usize, to: usize) {
        let (now, local) = (self.now, self.nodes[from].read(self.now));
        let works = self.nodes[from].machine.is_some() && !self.nodes[from].paused;
        let link = self.environment.links.link_mut(from, to);
        link.watched = false;
        let is_due = link.outbox.as_ref().and_then(Outbox::cut_at).is_some_and(|at| at <= local);
        if !(works && is_due) {
            return self.watch(from, to);
        }
        if let Some(number) = link.hang_up() {
            let (sent, nth) = (now, link.begun);
            let end = Piece { from, to, number, sent, nth, is_whole: false, bytes: Vec::new() };
            link.held.push_back(end);
        }
        self.redial(from, to);
    }
}

/// The longest wait of a process before it dials again.
const REDIAL: u64 = 50_000_000;

/// The longest time between two looks at a connection that takes nothing.
const WATCH: u64 = 1_000_000_000;

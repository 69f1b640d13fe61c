//! Carries out what a step asks for: saves ballots, and gives frames to the outboxes.

use super::{
    environment::{Heard, QuorumEnvironment},
    happening::{Event, Happening},
};
use crate::{
    draw::Stream,
    simulator::{CheckerSet, Simulator, WorldState, world_state},
    span::nanos,
};
use election_core::{
    Input,
    quorum::{self, Action, Audience, Ballot, Message, Peer},
};

impl Simulator<QuorumEnvironment> {
    /// A step has asked for this.
    pub(super) fn request(&mut self, node: usize, action: &Action) {
        let world = world_state!(self);
        let verdict = self.checkers.asked(&world, node, action);
        self.verdict(verdict);
        self.nodes[node].state.asked += 1;
    }

    pub(super) fn carry_out(&mut self, node: usize, action: Action) {
        match action {
            Action::Save(ballot) => self.save(node, ballot),
            Action::Send { to: Audience::All, message } => {
                for place in 0..self.environment.places(node) {
                    self.send(node, Peer::new(place), &message);
                }
            }
            Action::Send { to: Audience::One(peer), message } => self.send(node, peer, &message),
        }
        if !self.environment.crashes.is_empty() {
            self.crash_at_the_boundary(node);
        }
    }

    /// The driver of a service has no outbox here: it writes to its sockets.
    fn send(&mut self, from: usize, to: Peer, message: &Message) {
        let Some(to) = self.environment.host(from, to) else { return };
        let now = self.nodes[from].read(self.now);
        if let Some(outbox) = &mut self.environment.links.link_mut(from, to).outbox {
            outbox.push(message, now);
            self.pump(from, to);
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
        self.note_lists(node);
        self.trace.saved(now, node, epoch, matches!(saved, quorum::Event::Saved(_)));
        self.hand_over(node, saved);
    }

    /// Hands an event in while the checkers watch.
    pub(super) fn hand_over(&mut self, node: usize, event: quorum::Event) {
        if !self.lives(node) {
            return;
        }
        // The driver of a service hands it in when it takes it.
        if self.services[node].is_none() {
            let world = world_state!(self);
            self.checkers.heard(&world, &Heard { node, event: &event });
        }
        self.input(node, Input::Event(event));
    }
}

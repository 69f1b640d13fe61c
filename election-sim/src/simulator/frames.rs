//! The network between the nodes: the frames of the user's apps, and what happens to them.
//!
//! Frames are datagrams: each is lost, duplicated, delayed and overtaken independently. Every draw
//! is keyed by the link and the frame's number on it. A severed link drops what is sent. A clogged
//! link holds frames back and finally delivers all of them, like a connection whose lost packets
//! are sent again.

use super::{Environment, Simulator, cuts::Cuts, net::Frame};
use crate::{draw::Stream, fault::FrameFault, queue::Event, span::nanos};

impl<S: Environment> Simulator<S> {
    pub(crate) fn send_frame(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        if to >= self.nodes.len() {
            return;
        }
        let link = from * self.nodes.len() + to;
        self.net.sent[link] += 1;
        let (place, nth) = (link as u64, self.net.sent[link]);
        let frame = Frame { from, to, bytes, sent: self.now };
        if !self.net.cuts.is_open(from, to) {
            return self.trace.frame_sent(self.now, &frame, Some("the way is cut"));
        }
        if self.net.cuts.is_clogged(from, to) {
            self.trace.frame_sent(self.now, &frame, None);
            return self.net.held.push(frame);
        }
        let met = self.net.cuts.odds.iter().find(|(index, _, ppm)| {
            self.draw.chance(Stream::Frame, place, (nth << 16) + *index as u64, *ppm)
        });
        let mut at = self.now + self.draw.between(Stream::Travel, place, nth, self.latency);
        let fault = met.map(|(_, fault, _)| *fault);
        let lost = (fault == Some(FrameFault::Lost)).then_some("lost");
        self.trace.frame_sent(self.now, &frame, lost);
        match fault {
            Some(FrameFault::Lost) => return,
            Some(FrameFault::Twice) => {
                let again = self.draw.between(Stream::Travel, place, !nth, self.latency);
                let slot = self.net.keep(frame.clone());
                self.queue.push(self.now + again, Event::Frame(slot));
            }
            Some(FrameFault::Late(most)) => {
                at += self.draw.between(Stream::Late, place, nth, (0, nanos(most)));
            }
            None => {}
        }
        let slot = self.net.keep(frame);
        self.queue.push(at, Event::Frame(slot));
    }

    pub(crate) fn arrive_frame(&mut self, slot: usize) {
        let Some(frame) = self.net.frames[slot].take() else { return };
        self.net.free.push(slot);
        let down = !self.lives(frame.to);
        self.trace.frame_arrived(self.now, &frame, down.then_some("nobody is up"));
        if down {
            return;
        }
        let there = &mut self.nodes[frame.to];
        if there.paused {
            there.frames.push_back(frame);
        } else {
            self.hand_in(&frame);
        }
    }

    pub(crate) fn hand_in(&mut self, frame: &Frame) {
        if let Some(service) = &mut self.services[frame.to] {
            service.receive_frame(frame.from, frame.bytes.clone());
            return self.run_service(frame.to);
        }
        self.run_app(frame.to, |app, context| app.received(frame.from, &frame.bytes, context));
    }

    /// Recomputes which network faults are in force.
    pub(super) fn recompute_net(&mut self) {
        let faults = self.schedule.faults.iter().zip(&self.active).enumerate();
        let in_force = faults.filter(|(_, (_, active))| **active);
        self.net.cuts = Cuts::of(in_force.map(|(index, (fault, _))| (index, &fault.kind)));
        for frame in std::mem::take(&mut self.net.held) {
            if self.net.cuts.is_clogged(frame.from, frame.to) {
                self.net.held.push(frame);
            } else {
                let slot = self.net.keep(frame);
                self.queue.push(self.now, Event::Frame(slot));
            }
        }
    }
}

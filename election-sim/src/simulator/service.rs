//! Nodes that run real code around their machine: a driver, and what a user runs on it.
//!
//! Such a process is polled when something has come for it or one of its timers is due. What it has
//! done by the time it waits again takes effect in order and at that instant.

use super::{CheckerSet, Environment, Simulator, WorldState, world_state};
use crate::{
    app::{Write, WriteError},
    deed::{Deed, Effect, Moment, Rest, Step},
    draw::Stream,
    fault::{Fault, FaultKind},
    queue::Event,
    span::nanos,
};
use election_core::Protocol;

/// How long a supervisor waits before it starts a process again that has ended.
const RESTART: u64 = 1_000_000_000;
/// The most calls after which a process stops in the middle of a run: about as many as a run has.
const LONGEST_RUN: u64 = 20;

impl<S: Environment> Simulator<S> {
    /// The ids of the nodes.
    #[cfg(feature = "service")]
    pub(crate) fn names(&self) -> Vec<String> {
        self.schedule.nodes.iter().map(|member| member.name.clone()).collect()
    }

    /// Lets the process of this node run, unless it is paused.
    pub(crate) fn run_service(&mut self, node: usize) {
        let stall = self.nodes[node].stall.take();
        let stall =
            stall.map(|after| (after, self.nodes[node].clock.read(self.end_of_pause(node))));
        let there = &mut self.nodes[node];
        if there.paused && stall.is_none() {
            return;
        }
        let Some(mut service) = self.services[node].take() else { return };
        there.latest = there.read(self.now);
        let mut moment = Moment {
            now: there.latest,
            stall,
            elapsed: self.now,
            draw: self.draw,
            drawn: there.drawn,
            sent: there.sent,
            resource: std::mem::take(&mut self.resource),
            read: self.trace.is_written_down(),
        };
        let (deeds, wake_at) = service.run(&mut moment);
        self.resource = moment.resource;
        there.drawn = moment.drawn;
        there.wake_at = wake_at;
        self.services[node] = Some(service);
        self.set_timer(node);
        self.follow(node, deeds, Step::default(), false);
    }

    /// What a process has done takes effect, as far as it lives to see it. `late`: it has stopped since
    /// it found out whether it leads, and only a fence helps.
    fn follow(&mut self, node: usize, deeds: Vec<Deed<S::Machine>>, mut step: Step, late: bool) {
        let life = self.nodes[node].life;
        let mut deeds = deeds.into_iter().peekable();
        while let Some(deed) = deeds.next() {
            match deed {
                Deed::Took(input) => {
                    S::takes(self, node, &input);
                    step.extends = self.before_step(node, &input);
                }
                Deed::Stepped(machine, change) => {
                    (step.taken, step.last) = (true, machine.is_finished());
                    if self.nodes[node].machine.replace(*machine).is_none() {
                        let world = world_state!(self);
                        self.checkers.born(&world, node);
                        S::elector_born(self, node);
                    }
                    self.after_step(node, std::mem::take(&mut step.extends), change);
                }
                Deed::Requested(action) => S::requested(self, node, &action),
                Deed::Acted(action, at) => S::perform(self, node, action, at),
                Deed::Did(Effect::Wrote(order)) => self.write_of_app(node, order, late),
                Deed::Did(Effect::SentFrame(to, bytes)) => self.send_frame(node, to, bytes),
                Deed::Did(Effect::Socket(deed)) => S::socket(self, node, deed),
                Deed::Did(Effect::Noted(words)) => self.trace.noted(self.now, node, words),
                Deed::Did(Effect::Stalled(until)) => {
                    self.trace.noted(self.now, node, "stands still here".to_owned());
                    step.taken = false; // what holds of a step may not hold so much later
                    if is_over(deeds.peek()) {
                        self.end_step(node, &mut step);
                    }
                    self.stalled[node] = Some(Rest { until, step, deeds: deeds.collect() });
                    return;
                }
                Deed::Did(Effect::Ended) => {
                    self.kill(node);
                    self.queue.push(self.now + RESTART, Event::Restart { node, life });
                }
            }
            if self.violation.is_some() || !self.lives(node) {
                return;
            }
            if is_over(deeds.peek()) {
                self.end_step(node, &mut step);
            }
        }
    }

    fn end_step(&mut self, node: usize, step: &mut Step) {
        if std::mem::take(&mut step.taken) {
            let world = world_state!(self);
            let verdict = self.checkers.stepped(&world, node);
            self.verdict(verdict);
        }
        if std::mem::take(&mut step.last) {
            self.nodes[node].machine = None;
            self.elector_ended(node);
        }
    }

    /// A process is paused from now on: as it waits for something, or as soon as it runs again and in
    /// the middle of that.
    pub(super) fn pause_service(&mut self, node: usize) {
        let (place, nth) = (node as u64, self.events);
        if self.services[node].is_some() && self.draw.chance(Stream::Stall, place, nth, 500_000) {
            let after = self.draw.between(Stream::Stall, place, !nth, (1, LONGEST_RUN));
            self.nodes[node].stall = Some(after);
        }
    }

    /// A process that was paused goes on, with what it was about to do.
    pub(super) fn resume_service(&mut self, node: usize) {
        self.nodes[node].stall = None;
        if let Some(Rest { until, step, deeds }) = self.stalled[node].take() {
            self.trace.noted(self.now, node, "goes on".to_owned());
            // The rate of its clock may have changed meanwhile, and it never goes back.
            self.nodes[node].latest = self.nodes[node].read(self.now).max(until);
            self.follow(node, deeds, step, true);
        }
        self.run_service(node);
    }

    /// When a process that is paused goes on, by the schedule.
    fn end_of_pause(&self, node: usize) -> u64 {
        let pauses = self.schedule.faults.iter().filter(
            |fault| matches!(fault.kind, FaultKind::Pause(n) | FaultKind::Suspend(n) if n == node),
        );
        let healed = self.schedule.heal.as_ref().filter(|heal| heal.core.contains(&node));
        let span = |fault: &Fault| {
            let (at, end) = (nanos(fault.at), nanos(fault.at.saturating_add(fault.lasts)));
            let heal = healed.map(|heal| nanos(heal.at)).filter(|heal| (at..end).contains(heal));
            (at, heal.unwrap_or(end))
        };
        let spans: Vec<_> = pauses.map(span).collect();
        let mut end = self.now;
        // One pause may begin within another.
        while let Some((_, later)) = spans.iter().find(|(at, ends)| *at <= end && *ends > end) {
            end = *later;
        }
        end
    }

    /// Tells the process that sent a write what became of it. Another life does not wait for it.
    pub(super) fn answer_write(&mut self, write: &Write, verdict: Result<(), WriteError>) {
        if let Some(service) = &mut self.services[write.node] {
            service.receive_verdict(write.nth, verdict);
            self.run_service(write.node);
        }
    }

    /// A supervisor starts a process again that has ended by itself.
    pub(crate) fn restart(&mut self, node: usize, life: u32) {
        let there = &self.nodes[node];
        if there.life == life && !self.lives(node) && !self.is_down(node) {
            self.start(node);
        }
    }
}

/// Whether a step is over, what it has asked for being under way, if this comes next.
fn is_over<P: Protocol>(next: Option<&Deed<P>>) -> bool {
    matches!(next, None | Some(Deed::Took(_) | Deed::Stepped(..)))
}

//! Processes: how they begin and end, how they take inputs, and what follows from each step.

use super::{
    CheckerSet, Environment, EventOf, LostLeadership, Node, Simulator, Told, Work, WorldState,
    world_state,
};
use crate::{
    app::{App, Context, Needs, Order, Orders},
    draw::Stream,
    fault::FaultKind,
    queue::Event,
    text::node_name,
    trace::{Fate, short},
};
use election_core::{Change, Epoch, Input, Protocol, Timestamp};
use std::time::Duration;

/// The invariant of every app.
const ACTS_ONLY_WHILE_LEADING: &str = "acts only while leading";

impl<S: Environment> Simulator<S> {
    /// Starts a process on this node, as a new incarnation.
    pub(crate) fn start(&mut self, node: usize) {
        let there = &mut self.nodes[node];
        there.start_due = there.paused;
        if there.start_due {
            return;
        }
        self.nodes[node].life += 1;
        let Some(machine) = S::birth(self, node) else { return };
        self.services[node] = S::service(self, node);
        let there = &mut self.nodes[node];
        // A service starts its elector when it likes.
        there.machine = self.services[node].is_none().then_some(machine);
        there.inbox.clear();
        there.app_due = false;
        (there.asked, there.lost) = Default::default();
        there.frames.clear();
        there.latest = Timestamp::ZERO;
        self.apps[node] = self.workload.app(node);
        let fate = if self.nodes[node].life == 1 { Fate::First } else { Fate::Born };
        self.trace.met(self.now, node, fate);
        if self.services[node].is_some() {
            self.run_service(node);
        } else {
            let world = world_state!(self);
            self.checkers.born(&world, node);
            self.run_app(node, |app, context| app.started(context));
            S::born(self, node);
            self.step(node, Input::Tick);
        }
        if self.any(|what| *what == FaultKind::Unhealthy(node)) {
            self.set_health(node, false);
        }
    }

    /// A random word for this life of a node.
    pub(crate) fn word(&self, stream: Stream, node: usize, nth: u64) -> u64 {
        let place = ((node as u64) << 32) | u64::from(self.nodes[node].life);
        self.draw.word(stream, place, nth)
    }

    /// The number that tells this life of a node from every other.
    pub(crate) fn incarnation(&self, node: usize) -> u128 {
        let high = self.word(Stream::Incarnation, node, 0);
        let low = self.word(Stream::Incarnation, node, 1);
        (u128::from(high) << 64) | u128::from(low)
    }

    /// Ends the process and its leader work.
    pub(crate) fn kill(&mut self, node: usize) {
        let there = &mut self.nodes[node];
        there.start_due = false;
        let elector = there.machine.take();
        if elector.is_none() && self.services[node].is_none() {
            return;
        }
        there.inbox.clear();
        there.work = None;
        there.wake_at = None;
        self.apps[node] = None;
        self.services[node] = None;
        self.stalled[node] = None;
        there.stall = None;
        self.queue.set_timer(node, u64::MAX);
        self.trace.met(self.now, node, Fate::Died);
        if elector.is_some() {
            self.elector_ended(node);
        }
        S::died(self, node);
    }

    pub(super) fn elector_ended(&mut self, node: usize) {
        let world = world_state!(self);
        self.checkers.died(&world, node);
    }

    /// Whether a process runs on this node. Its elector may have ended, or not begun.
    pub(crate) fn lives(&self, node: usize) -> bool {
        self.nodes[node].machine.is_some() || self.services[node].is_some()
    }

    /// The machine `onto` becomes a copy of the machine `from` as it is now, incarnation and clock
    /// included, and both go on. Only the connections are not copied: answers to questions that
    /// were under way do not reach the copy. A user's app starts anew on the copy.
    pub(crate) fn clone_process(&mut self, from: usize, onto: usize) {
        // The state of a service cannot be copied.
        if self.nodes[from].machine.is_none() || from == onto || self.services[from].is_some() {
            return;
        }
        self.kill(onto);
        let original = &self.nodes[from];
        let reading = original.clock.read(self.now);
        let machine = original.machine.clone();
        let (latest, wake_at, work) = (original.latest, original.wake_at, original.work);
        let copy = &mut self.nodes[onto];
        copy.life += 1;
        copy.machine = machine;
        (copy.latest, copy.wake_at, copy.work) = (latest, wake_at, work);
        copy.clock.set(self.now, reading);
        copy.app_due = false;
        (copy.asked, copy.lost) = Default::default();
        let life = copy.life;
        S::cloned(self, from, onto);
        self.trace.met(self.now, onto, Fate::Cloned);
        let world = world_state!(self);
        self.checkers.cloned(&world, from, onto);
        if let Some(work) = work.filter(|work| work.told) {
            let (at, epoch) = (self.nodes[onto].clock.when(work.stop_by), work.epoch.get());
            self.queue.push(at.max(self.now), Event::Stop { node: onto, life, epoch });
        }
        self.apps[onto] = self.workload.app(onto);
        self.run_app(onto, |app, context| app.started(context));
        self.set_timer(onto);
    }

    /// Reports the node's health, by its operator or the node itself. A paused process takes the
    /// report when it goes on.
    pub(crate) fn set_health(&mut self, node: usize, healthy: bool) {
        self.input(node, Input::Event(S::health(healthy)));
    }

    /// Hands the input in if the node is still in this life.
    pub(crate) fn notify(&mut self, node: usize, life: u32, input: Input<EventOf<S>>) {
        if self.nodes[node].life == life {
            self.input(node, input);
        }
    }

    /// Hands an input to a process, or to its inbox while it is paused.
    pub(crate) fn input(&mut self, node: usize, input: Input<EventOf<S>>) {
        let there = &mut self.nodes[node];
        if let Some(service) = &mut self.services[node] {
            service.receive(input);
            return self.run_service(node);
        }
        if there.machine.is_none() {
            return;
        }
        if !there.paused {
            return self.step(node, input);
        }
        if let (Some(Input::Event(last)), Input::Event(next)) = (there.inbox.back_mut(), &input) {
            if S::coalesces(last, next) {
                return;
            }
        }
        there.inbox.push_back(input);
    }

    /// A paused process goes on: a due deadline goes before the inbox.
    pub(crate) fn resume(&mut self, node: usize) {
        if self.services[node].is_some() {
            self.resume_service(node);
        }
        loop {
            if self.nodes[node].paused || !self.lives(node) || self.violation.is_some() {
                return;
            }
            let there = &mut self.nodes[node];
            let local = there.clock.read(self.now);
            if there.wake_at.is_some_and(|at| at <= local) {
                self.timer(node);
                continue;
            }
            let Some(input) = there.inbox.pop_front() else { break };
            self.step(node, input);
        }
        self.set_timer(node);
        while let Some(frame) = self.nodes[node].frames.pop_front() {
            self.hand_in(&frame);
        }
        if std::mem::take(&mut self.nodes[node].app_due) {
            self.run_app(node, |app, context| app.tick(context));
        }
    }

    pub(crate) fn timer(&mut self, node: usize) {
        if self.services[node].is_some() {
            self.run_service(node);
        } else if !self.nodes[node].paused {
            self.step(node, Input::Tick);
        }
    }

    /// One step of the real state machine, and everything that follows from it at the same instant.
    fn step(&mut self, node: usize, input: Input<EventOf<S>>) {
        let extends = self.before_step(node, &input);
        let there = &mut self.nodes[node];
        let local = there.read(self.now);
        let Some(machine) = there.machine.as_mut() else { return };
        there.latest = local;
        let step = machine.step(local, input);
        there.wake_at = step.wake_at;
        let finished = machine.is_finished();
        self.after_step(node, extends, step.change);
        S::stepped(self, node);
        if let Some(action) = step.action {
            S::requested(self, node, &action);
            S::perform(self, node, action, local);
        }
        self.set_timer(node);
        let world = world_state!(self);
        let verdict = self.checkers.stepped(&world, node);
        self.verdict(verdict);
        if finished {
            self.kill(node);
        }
    }

    /// The machine is about to get this input. Returns whether it may move the end of a leadership.
    pub(super) fn before_step(&mut self, node: usize, input: &Input<EventOf<S>>) -> bool {
        self.tell_checkers(node, input);
        if let Input::Stopped(epoch) = input {
            self.nodes[node].work.take_if(|work| work.epoch == *epoch);
            self.trace.stopped(self.now, node, *epoch);
        }
        matches!(input, Input::Event(event) if S::extends(event))
    }

    /// The machine has taken a step.
    pub(super) fn after_step(&mut self, node: usize, extends: bool, change: Option<Change>) {
        let there = &mut self.nodes[node];
        let work = there.work.as_mut().filter(|work| extends && change.is_none() && !work.told);
        if let (Some(work), Some(machine)) = (work, &there.machine) {
            if let Some(tenure) = machine.tenure(there.latest) {
                work.stop_by = tenure.stop_by;
            }
        }
        match change {
            Some(change) => self.changed(node, &change),
            None if extends && S::WRITES_WHEN_EXTENDED => self.write_as_leader(node),
            None => {}
        }
    }

    fn tell_checkers(&mut self, node: usize, input: &Input<EventOf<S>>) {
        let world = world_state!(self);
        let told = match input {
            Input::Tick => return,
            Input::Stopped(epoch) => return self.checkers.stopped(&world, node, *epoch),
            Input::Resign => Some(Told::Resign),
            Input::Withdraw => Some(Told::Withdraw),
            Input::Event(event) => S::told(event),
        };
        if let Some(told) = told {
            self.checkers.told(&world, node, told);
        }
    }

    /// Sets the timer of a node, whose clock may have changed its rate.
    pub(super) fn set_timer(&mut self, node: usize) {
        let there = &self.nodes[node];
        let at = match there.wake_at {
            Some(at) if self.lives(node) && (!there.paused || there.stall.is_some()) => {
                there.clock.when(at).max(self.now)
            }
            _ => u64::MAX,
        };
        self.queue.set_timer(node, at);
    }

    fn changed(&mut self, node: usize, change: &Change) {
        self.trace.changed(self.now, node, change);
        let there = &mut self.nodes[node];
        match change {
            Change::Elected(tenure) => {
                there.work =
                    Some(Work { epoch: tenure.term.epoch, stop_by: tenure.stop_by, told: false });
            }
            Change::Lost { term, stop_by, reason, .. } => {
                if let Some(work) = there.work.as_mut() {
                    work.stop_by = *stop_by;
                    work.told = true;
                }
                let forced = there.clock.when(*stop_by).max(self.now);
                there.lost = Some(LostLeadership {
                    epoch: term.epoch,
                    at: Duration::from_nanos(self.now),
                    why: *reason,
                    stop_by: Duration::from_nanos(forced),
                });
                let epoch = term.epoch.get();
                // An app says itself when its work has ended; the hard stop ends it if it does not.
                let takes = || self.draw.between(Stream::Work, node as u64, epoch, self.stop);
                let at = match self.apps[node] {
                    Some(_) => forced,
                    None => forced.min(self.now.saturating_add(takes())),
                };
                // The work of a service ends when its last guard is dropped.
                if self.services[node].is_none() {
                    self.queue.push(at, Event::Stop { node, life: there.life, epoch });
                }
            }
            Change::Followed { .. } | Change::Vacant | Change::Alert(_) => {}
        }
        let world = world_state!(self);
        let verdict = self.checkers.changed(&world, node, change);
        self.verdict(verdict);
        if matches!(change, Change::Elected(_)) {
            self.elections += 1;
            self.write_as_leader(node);
        }
        self.run_app(node, |app, context| app.changed(change, context));
    }

    /// The app's own timer fires.
    pub(crate) fn app_tick(&mut self, node: usize, life: u32, turn: u64) {
        let there = &mut self.nodes[node];
        if (there.life, there.turn) != (life, turn) {
            return;
        }
        if there.paused {
            there.app_due = true;
        } else {
            self.run_app(node, |app, context| app.tick(context));
        }
    }

    /// Calls the app of a node, and does what it asks for.
    pub(crate) fn run_app(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut dyn App, &mut Context<'_>),
    ) {
        let Some(mut app) = self.apps[node].take() else { return };
        let there = &mut self.nodes[node];
        let now = there.clock.read(self.now);
        let tenure = there.machine.as_ref().and_then(|machine| machine.tenure(now));
        let lead = tenure.map(|tenure| tenure.term.epoch);
        let mut orders = Orders::default();
        let (draw, drawn, resource) = (self.draw, &mut there.drawn, &self.resource);
        let (asked, elapsed) = (&there.asked, Duration::from_nanos(self.now));
        let read = self.trace.is_written_down();
        let orders_of = &mut orders;
        act(
            &mut *app,
            &mut Context {
                node,
                now,
                lead,
                asked,
                elapsed,
                resource,
                draw,
                drawn,
                orders: orders_of,
                read,
            },
        );
        self.apps[node] = Some(app);
        for words in std::mem::take(&mut orders.notes) {
            self.trace.noted(self.now, node, words);
        }
        if let Some(span) = orders.wake_in {
            let there = &mut self.nodes[node];
            there.turn += 1;
            let at = there.clock.when(now + span).max(self.now);
            self.queue.push(at, Event::App { node, life: there.life, turn: there.turn });
        }
        for order in orders.writes {
            self.write_of_app(node, order, false);
        }
        for (to, bytes) in orders.frames {
            self.send_frame(node, to, bytes);
        }
        let life = self.nodes[node].life;
        // The app's messages to its own elector go through the mailbox, not into the step in
        // progress.
        let stopped = orders.stopped.map(|epoch| Event::Stop { node, life, epoch: epoch.get() });
        let resign = orders.resign.then_some(Event::Resign { node, life });
        let health = orders.health.map(|healthy| Event::Health { node, life, healthy });
        for event in [stopped, resign, health].into_iter().flatten() {
            self.queue.push(self.now, event);
        }
    }

    /// A write of the user's code leaves for the resource. `late`: the process stood still between its
    /// decision and this write; no check of its own could have prevented it, so the run does not fail.
    pub(super) fn write_of_app(&mut self, node: usize, order: Order, late: bool) {
        let there = &self.nodes[node];
        let now = there.clock.read(self.now);
        let tenure = there.machine.as_ref().and_then(|machine| machine.tenure(now));
        let lead = tenure.map(|tenure| tenure.term.epoch);
        if !late {
            self.judge_write(node, lead, &order);
        }
        let token = order.needs.token();
        let led = token.is_some() && lead == token;
        self.send_write(node, token, led, order.what);
    }

    /// Whether the process, which leads under `lead`, may send this write now.
    fn judge_write(&mut self, node: usize, lead: Option<Epoch>, order: &Order) {
        let there = &self.nodes[node];
        let now = there.clock.read(self.now);
        let may = match order.needs {
            Needs::Nothing(_) => true,
            Needs::Leading(epoch) => lead == Some(epoch),
            Needs::Stopping(epoch) => {
                let stops = |work: &Work| work.epoch == epoch && now < work.stop_by;
                lead == Some(epoch) || there.work.as_ref().is_some_and(stops)
            }
        };
        if let Some(epoch) = order.needs.token().filter(|_| !may) {
            let who = node_name(node);
            let (what, under) = (&order.what, short(epoch));
            let mut why = why_not(there, order, epoch);
            // Nobody sees what a service asks.
            if self.services[node].is_none() {
                why += &last_asked(there);
            }
            self.fails(
                ACTS_ONLY_WHILE_LEADING,
                format!("{who} writes {what:?} under {under}: {why}"),
            );
        }
    }

    /// Leader work has ended. If it is stuck, this is reported later.
    pub(crate) fn stop_work(&mut self, node: usize, life: u32, epoch: Epoch) {
        let there = &self.nodes[node];
        let here = there.life == life && there.work.is_some_and(|work| work.epoch == epoch);
        if here && !there.stuck {
            self.input(node, Input::Stopped(epoch));
        }
    }
}

fn seconds(at: Duration) -> String {
    format!("{:.3}s", at.as_secs_f64())
}

/// Why this process may not send a write under this epoch now, and what it was told of that.
fn why_not<S: Environment>(there: &Node<S>, order: &Order, epoch: Epoch) -> String {
    let under = short(epoch);
    let mut text = match there.lost.filter(|lost| lost.epoch == epoch) {
        Some(lost) => format!("it lost {under} at {} ({})", seconds(lost.at), lost.why),
        None if there.work.is_some_and(|work| work.epoch == epoch) => {
            format!("its belief in {under} has run out by its own clock")
        }
        None => format!("this process never led under {under}"),
    };
    if let (Needs::Stopping(_), Some(lost)) = (order.needs, there.lost) {
        text += &format!(", its hard stop was at {}", seconds(lost.stop_by));
    }
    text
}

/// When the app last asked whether it leads, and what it was told.
fn last_asked<S: Environment>(there: &Node<S>) -> String {
    match there.asked.get() {
        None => ", and never asked whether it leads".to_owned(),
        Some(asked) => {
            let (at, answer) = (seconds(asked.at), asked.lead.map_or("no".to_owned(), short));
            format!(", and last asked whether it leads at {at} (the answer: {answer})")
        }
    }
}

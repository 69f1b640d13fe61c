//! Processes: how they begin and end, take inputs, and what follows from each of their steps.

use crate::{
    app::{App, Hands, Orders},
    check::{Scene, Told, scene},
    draw::Stream,
    fault::What,
    node::Work,
    queue::Event,
    table::candidate,
    trace::Note,
    world::{World, wake},
};
use election_core::{
    Change, Epoch, Input, Protocol, Timestamp,
    lease::{self, Action, Lease, Role},
};

impl World {
    /// Starts a process on this node, as a new incarnation.
    pub(crate) fn start(&mut self, node: usize) {
        let member = &self.schedule.nodes[node];
        let role = if member.observer { Role::Observer } else { Role::Candidate };
        let Ok(config) = self.schedule.timing.config(role) else { return };
        let there = &mut self.nodes[node];
        there.life += 1;
        let place = ((node as u64) << 32) | u64::from(there.life);
        let high = self.draw.word(Stream::Incarnation, place, 0);
        let low = self.draw.word(Stream::Incarnation, place, 1);
        let number = (u128::from(high) << 64) | u128::from(low);
        there.candidate = candidate(&member.name, number);
        let seed = self.draw.word(Stream::Jitter, place, 0);
        there.lease = Some(Lease::new(config, there.candidate.clone(), seed));
        there.inbox.clear();
        there.app_due = false;
        there.frames.clear();
        there.latest = Timestamp::ZERO;
        self.apps[node] = self.rig.app.as_ref().map(|make| make(node));
        self.trace.note(self.now, node, Note::Born);
        let scene = scene!(self);
        self.checks.born(&scene, node);
        self.run_app(node, |app, hands| app.started(hands));
        self.step(node, Input::Tick);
        if self
            .schedule
            .faults
            .iter()
            .zip(&self.active)
            .any(|(fault, active)| *active && fault.what == What::Unhealthy(node))
        {
            self.set_health(node, false);
        }
    }

    /// Ends the process, and its leader work with it.
    pub(crate) fn kill(&mut self, node: usize) {
        let there = &mut self.nodes[node];
        if there.lease.take().is_none() {
            return;
        }
        there.inbox.clear();
        there.work = None;
        there.wake_at = None;
        self.apps[node] = None;
        self.queue.set_timer(node, u64::MAX);
        self.trace.note(self.now, node, Note::Died);
        let scene = scene!(self);
        self.checks.died(&scene, node);
    }

    pub(crate) fn resign(&mut self, node: usize) {
        self.tell(node, Told::Resign, Input::Resign);
    }

    pub(crate) fn withdraw(&mut self, node: usize) {
        self.tell(node, Told::Withdraw, Input::Withdraw);
    }

    pub(crate) fn set_health(&mut self, node: usize, healthy: bool) {
        let event = lease::Event::Health(healthy);
        self.tell(node, Told::Healthy(healthy), Input::Event(event));
    }

    /// An operator's word, which a paused process takes when it goes on.
    fn tell(&mut self, node: usize, _: Told, input: Input<lease::Event>) {
        if self.nodes[node].lease.is_some() {
            self.input(node, input);
        }
    }

    pub(crate) fn notify(&mut self, node: usize, life: u32, input: Input<lease::Event>) {
        if self.nodes[node].life == life && !self.deaf {
            self.input(node, input);
        }
    }

    /// Hands an input to a process, or to its inbox while it is paused.
    pub(crate) fn input(&mut self, node: usize, input: Input<lease::Event>) {
        let there = &mut self.nodes[node];
        if there.lease.is_none() {
            return;
        }
        if there.paused {
            // Wake-ups that nobody takes become one, as in every driver's mailbox.
            if there.inbox.back() != Some(&Input::Event(wake())) || input != Input::Event(wake()) {
                there.inbox.push_back(input);
            }
        } else {
            self.step(node, input);
        }
    }

    /// A paused process goes on: a deadline that is due goes before the inbox.
    pub(crate) fn resume(&mut self, node: usize) {
        loop {
            let there = &mut self.nodes[node];
            if there.paused || there.lease.is_none() || self.violation.is_some() {
                return;
            }
            let local = there.clock.read(self.now);
            if there.wake_at.is_some_and(|at| at <= local) {
                self.step(node, Input::Tick);
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
            self.run_app(node, |app, hands| app.tick(hands));
        }
    }

    pub(crate) fn timer(&mut self, node: usize) {
        if !self.nodes[node].paused {
            self.step(node, Input::Tick);
        }
    }

    /// One step of the real state machine, and everything that follows from it at once.
    fn step(&mut self, node: usize, input: Input<lease::Event>) {
        let scene = scene!(self);
        match &input {
            Input::Stopped(epoch) => self.checks.stopped(&scene, node, *epoch),
            Input::Resign => self.checks.told(&scene, node, Told::Resign),
            Input::Event(lease::Event::Wake) => self.checks.told(&scene, node, Told::Wake),
            Input::Withdraw => self.checks.told(&scene, node, Told::Withdraw),
            Input::Event(lease::Event::Health(healthy)) => {
                self.checks.told(&scene, node, Told::Healthy(*healthy));
            }
            _ => {}
        }
        let there = &mut self.nodes[node];
        let local = there.read(self.now);
        let Some(lease) = there.lease.as_mut() else { return };
        let answered = matches!(input, Input::Event(lease::Event::Answer { .. }));
        if let Input::Stopped(epoch) = input {
            there.work.take_if(|work| work.epoch == epoch);
        }
        there.latest = local;
        let step = lease.step(local, input);
        there.wake_at = step.wake_at;
        if answered && step.change.is_none() {
            if let Some(work) = there.work.as_mut().filter(|work| !work.told) {
                if let Some(tenure) = lease.tenure(local) {
                    work.stop_by = tenure.stop_by;
                }
            }
        }
        let finished = lease.is_finished();
        if let Some(change) = step.change {
            self.changed(node, &change);
        } else if answered && self.apps[node].is_none() {
            self.write_as_leader(node);
        }
        if let Some(Action::Query { ticket, query, deadline }) = step.action {
            self.ask(node, ticket, query, local, deadline);
        }
        self.set_timer(node);
        let scene = scene!(self);
        let verdict = self.checks.stepped(&scene, node);
        self.verdict(verdict);
        if finished {
            self.kill(node);
        }
    }

    fn set_timer(&mut self, node: usize) {
        let there = &self.nodes[node];
        let at = match there.wake_at {
            Some(at) if there.lease.is_some() && !there.paused => {
                there.clock.when(at).max(self.now)
            }
            _ => u64::MAX,
        };
        self.queue.set_timer(node, at);
    }

    /// The clock of a node runs differently from now on: its timer comes at another true time.
    pub(crate) fn clock_changed(&mut self, node: usize) {
        self.set_timer(node);
    }

    fn changed(&mut self, node: usize, change: &Change) {
        self.trace.changed(self.now, node, change);
        let there = &mut self.nodes[node];
        match change {
            Change::Elected(tenure) => {
                there.work =
                    Some(Work { epoch: tenure.term.epoch, stop_by: tenure.stop_by, told: false });
            }
            Change::Lost { term, stop_by, .. } => {
                if let Some(work) = there.work.as_mut() {
                    work.stop_by = *stop_by;
                    work.told = true;
                }
                let forced = there.clock.when(*stop_by).max(self.now);
                let epoch = term.epoch.get();
                let takes = self.draw.between(Stream::Work, node as u64, epoch, self.stop);
                let at = forced.min(self.now.saturating_add(takes));
                self.queue.push(at, Event::Stop { node, life: there.life, epoch });
            }
            Change::Followed { .. } | Change::Vacant | Change::Fault(_) => {}
        }
        let scene = scene!(self);
        let verdict = self.checks.changed(&scene, node, change);
        self.verdict(verdict);
        if matches!(change, Change::Elected(_)) {
            self.elections += 1;
            if self.apps[node].is_none() {
                self.write_as_leader(node);
            }
        }
        self.run_app(node, |app, hands| app.changed(change, hands));
    }

    /// Without an app of the user's, whoever leads writes after every answer, so that the
    /// resource has something to fence.
    fn write_as_leader(&mut self, node: usize) {
        let work = self.nodes[node].work.filter(|work| !work.told);
        if let Some(work) = work {
            self.send_write(node, work.epoch, String::new());
        }
    }

    /// The app's own timer.
    pub(crate) fn app_tick(&mut self, node: usize, life: u32, turn: u64) {
        let there = &mut self.nodes[node];
        if (there.life, there.turn) != (life, turn) {
            return;
        }
        if there.paused {
            there.app_due = true;
        } else {
            self.run_app(node, |app, hands| app.tick(hands));
        }
    }

    /// Lets the app of a node do something, and does what it asks for.
    pub(crate) fn run_app(&mut self, node: usize, act: impl FnOnce(&mut dyn App, &mut Hands<'_>)) {
        let Some(mut app) = self.apps[node].take() else { return };
        let there = &mut self.nodes[node];
        let now = there.clock.read(self.now);
        let tenure = there.lease.as_ref().and_then(|lease| lease.tenure(now));
        let lead = tenure.map(|tenure| tenure.term.epoch);
        let mut orders = Orders::default();
        let (draw, drawn, resource) = (self.draw, &mut there.drawn, &self.resource);
        act(&mut *app, &mut Hands { node, now, lead, resource, draw, drawn, orders: &mut orders });
        self.apps[node] = Some(app);
        if let Some(span) = orders.wake_in {
            let there = &mut self.nodes[node];
            there.turn += 1;
            let at = there.clock.when(now + span).max(self.now);
            self.queue.push(at, Event::App { node, life: there.life, turn: there.turn });
        }
        for (token, what) in orders.writes {
            self.send_write(node, token, what);
        }
        for (to, bytes) in orders.frames {
            self.send_frame(node, to, bytes);
        }
        let life = self.nodes[node].life;
        // What it tells its own elector goes through the mailbox, not into the step in progress.
        let stopped = orders.stopped.map(|epoch| Event::Stop { node, life, epoch: epoch.get() });
        let resign = orders.resign.then_some(Event::Resign { node, life });
        let health = orders.health.map(|healthy| Event::Health { node, life, healthy });
        for event in [stopped, resign, health].into_iter().flatten() {
            self.queue.push(self.now, event);
        }
    }

    /// A word from an app to its own elector, if that is still the same life.
    pub(crate) fn heed_app(&mut self, node: usize, life: u32, input: Input<lease::Event>) {
        if self.nodes[node].life == life {
            self.input(node, input);
        }
    }

    /// Leader work has come to its end, unless it is stuck: then it is reported later.
    pub(crate) fn stop_work(&mut self, node: usize, life: u32, epoch: Epoch) {
        let there = &self.nodes[node];
        let here = there.life == life && there.work.is_some_and(|work| work.epoch == epoch);
        if here && !there.stuck {
            self.input(node, Input::Stopped(epoch));
        }
    }
}

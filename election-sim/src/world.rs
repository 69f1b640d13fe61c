//! The world: virtual time, the nodes, the database between them, and the checkers that watch.
//!
//! A run is a function of its [`Schedule`]. The world hands the real state machines what happened
//! and does what they ask, in the order of `election_core::drive`: publish the change, start the
//! action, wait for the deadline or the inbox.

use crate::{
    check::{Answered, Checks, Scene, Told, Violation},
    clock::Clock,
    database::{Database, Statement, between, nanos},
    draw::{Draw, Stream},
    fault::{Fate, Fault, What},
    node::{Node, Work},
    queue::{Event, Next, Queue},
    schedule::{Engine, Impossible, Schedule},
    table::candidate,
    trace::{Note, Trace},
};
use election_core::{
    Change, Epoch, Input, Protocol, Timestamp,
    lease::{Action, Config, Failure, Lease, Query, Role, Ticket},
};

/// The parts of the world that checkers may see, borrowed apart from the checkers themselves.
macro_rules! scene {
    ($world:ident) => {
        Scene {
            now: $world.now,
            nodes: &$world.nodes,
            config: &$world.config,
            begin_ms: $world.database.step_ms,
        }
    };
}

/// A run in progress.
#[derive(Debug)]
pub struct World {
    pub(crate) schedule: Schedule,
    pub(crate) now: u64,
    end: u64,
    pub(crate) queue: Queue,
    pub(crate) nodes: Vec<Node>,
    pub(crate) database: Database,
    pub(crate) draw: Draw,
    config: Config,
    checks: Checks,
    pub(crate) trace: Trace,
    /// Which of the schedule's faults are in force.
    pub(crate) active: Vec<bool>,
    pub(crate) deaf: bool,
    /// What met which statement by chance, so that the schedule can be made explicit.
    pub(crate) fates: Vec<(usize, u64, Fate)>,
    odds: Vec<(usize, Fate, u32)>,
    latency: (u64, u64),
    stop: (u64, u64),
    notices: u64,
    pub(crate) events: u64,
    pub(crate) violation: Option<Violation>,
}

impl World {
    /// The world of this schedule, before anything has happened.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn new(schedule: Schedule) -> Result<Self, Impossible> {
        schedule.check()?;
        let config = schedule.timing.config(Role::Candidate)?;
        let contract = schedule.contract();
        let draw = Draw::new(schedule.seed);
        let looks_back = schedule.faults.iter().any(|fault| {
            matches!(
                fault.what,
                What::Failover(_)
                    | What::Odds(Fate::Stale(_), _)
                    | What::Statement(_, _, Fate::Stale(_))
            )
        });
        let mut world = Self {
            now: 0,
            end: nanos(schedule.horizon),
            queue: Queue::new(schedule.nodes.len()),
            nodes: Vec::with_capacity(schedule.nodes.len()),
            database: Database::new(&schedule, looks_back),
            draw,
            checks: Checks::new(schedule.nodes.len(), contract),
            trace: Trace::new(),
            active: vec![false; schedule.faults.len()],
            deaf: false,
            fates: Vec::new(),
            odds: Vec::new(),
            latency: between(schedule.latency),
            stop: between(schedule.stop),
            notices: 0,
            events: 0,
            violation: None,
            config,
            schedule,
        };
        world.populate();
        Ok(world)
    }

    fn populate(&mut self) {
        for (node, member) in self.schedule.nodes.iter().enumerate() {
            self.nodes.push(Node {
                lease: None,
                life: 0,
                candidate: candidate(&member.name, node as u128),
                clock: Clock::new(nanos(member.offset), member.ppm),
                ppm: member.ppm,
                paused: false,
                inbox: std::collections::VecDeque::new(),
                wake_at: None,
                work: None,
                stuck: false,
                requests_cut: false,
                replies_cut: false,
                asked: 0,
                ticket: None,
            });
        }
        for (index, fault) in self.schedule.faults.iter().enumerate() {
            self.queue.push(nanos(fault.at), Event::Begin(index));
        }
        if let Some(heal) = &self.schedule.heal {
            self.queue.push(nanos(heal.at), Event::Heal);
            self.queue.push(nanos(heal.at).saturating_add(nanos(heal.within)), Event::Deadline);
        }
        for node in 0..self.nodes.len() {
            self.start(node);
        }
    }

    /// Plays on to the end, or to the first violation.
    pub fn run(&mut self) -> Option<&Violation> {
        while self.advance() {}
        self.violation.as_ref()
    }

    /// How many events have happened.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Writes down what happens from now on.
    pub fn write_down(&mut self) {
        let faults = self.schedule.faults.iter().map(|fault| format!("{:?}", fault.what));
        self.trace.write_down(faults.collect());
    }

    /// What has been written down.
    pub fn take_lines(&mut self) -> Vec<crate::trace::Line> {
        self.trace.take_lines()
    }

    /// Lets one thing happen. False if nothing more does.
    pub(crate) fn advance(&mut self) -> bool {
        if self.violation.is_some() {
            return false;
        }
        let Some((at, next)) = self.queue.pop().filter(|(at, _)| *at <= self.end) else {
            self.now = self.end;
            return false;
        };
        self.now = at;
        self.events += 1;
        match next {
            Next::Timer(node) => self.timer(node),
            Next::Event(event) => self.happen(event),
        }
        self.judge_database();
        true
    }

    fn happen(&mut self, event: Event) {
        let (now, queue) = (self.now, &mut self.queue);
        match event {
            Event::Begin(fault) => self.begin(fault),
            Event::End(fault) => self.end_fault(fault),
            Event::Heal => self.heal(),
            Event::Deadline => self.due(),
            Event::Arrive(slot) => self.database.arrive(slot, now, queue),
            Event::Execute(slot) => self.database.execute(slot, now, queue),
            Event::LockTimeout(slot, nth) => self.database.lock_timeout(slot, nth, now, queue),
            Event::Commit(id) => self.database.commit(id, now, queue),
            Event::Reply(slot) => self.send_reply(slot),
            Event::Deliver(slot) => self.deliver(slot),
            Event::Stop { node, life, epoch } => self.stop_work(node, life, Epoch::new(epoch)),
            Event::Wake { node, life } => self.notify(node, life, Input::Event(wake())),
            Event::AskResign { node, life, epoch } => {
                let event = election_core::lease::Event::ResignRequested(Epoch::new(epoch));
                self.notify(node, life, Input::Event(event));
            }
            Event::Storm(fault) => self.storm(fault),
            Event::App { .. } => {}
        }
    }

    // ---- processes ----

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
        self.trace.note(self.now, node, Note::Born);
        let scene = scene!(self);
        self.checks.born(&scene, node);
        self.step(node, Input::Tick);
        if self.schedule.faults.iter().zip(&self.active).any(|(fault, active)| {
            *active && fault.what == What::Unhealthy(node)
        }) {
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
        let event = election_core::lease::Event::Health(healthy);
        self.tell(node, Told::Healthy(healthy), Input::Event(event));
    }

    /// An operator's word, which a paused process takes when it goes on.
    fn tell(&mut self, node: usize, _: Told, input: Input<election_core::lease::Event>) {
        if self.nodes[node].lease.is_some() {
            self.input(node, input);
        }
    }

    fn notify(&mut self, node: usize, life: u32, input: Input<election_core::lease::Event>) {
        if self.nodes[node].life == life && !self.deaf {
            self.input(node, input);
        }
    }

    /// Hands an input to a process, or to its inbox while it is paused.
    pub(crate) fn input(&mut self, node: usize, input: Input<election_core::lease::Event>) {
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
    }

    fn timer(&mut self, node: usize) {
        if !self.nodes[node].paused {
            self.step(node, Input::Tick);
        }
    }

    /// One step of the real state machine, and everything that follows from it at once.
    fn step(&mut self, node: usize, input: Input<election_core::lease::Event>) {
        let scene = scene!(self);
        match &input {
            Input::Stopped(epoch) => self.checks.stopped(&scene, node, *epoch),
            Input::Resign => self.checks.told(&scene, node, Told::Resign),
            Input::Withdraw => self.checks.told(&scene, node, Told::Withdraw),
            Input::Event(election_core::lease::Event::Health(healthy)) => {
                self.checks.told(&scene, node, Told::Healthy(*healthy));
            }
            _ => {}
        }
        let there = &mut self.nodes[node];
        let local = there.clock.read(self.now);
        let Some(lease) = there.lease.as_mut() else { return };
        let answered = matches!(input, Input::Event(election_core::lease::Event::Answer { .. }));
        if let Input::Stopped(epoch) = input {
            there.work.take_if(|work| work.epoch == epoch);
        }
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
            Change::Followed { .. } | Change::Vacant => {}
        }
        let scene = scene!(self);
        let verdict = self.checks.changed(&scene, node, change);
        self.verdict(verdict);
    }

    /// Leader work has come to its end, unless it is stuck: then it is reported later.
    fn stop_work(&mut self, node: usize, life: u32, epoch: Epoch) {
        let there = &self.nodes[node];
        let here = there.life == life && there.work.is_some_and(|work| work.epoch == epoch);
        if here && !there.stuck {
            self.input(node, Input::Stopped(epoch));
        }
    }

    // ---- statements ----

    fn ask(
        &mut self,
        node: usize,
        ticket: Ticket,
        query: Query,
        asked: Timestamp,
        deadline: Timestamp,
    ) {
        self.trace.asked(self.now, node, &query);
        let scene = scene!(self);
        let verdict = self.checks.asked(&scene, node, &query);
        self.verdict(verdict);
        let there = &mut self.nodes[node];
        there.asked += 1;
        there.ticket = Some(ticket);
        let (nth, cut) = (there.asked, there.requests_cut);
        let (life, who) = (there.life, there.candidate.clone());
        let fate = self.fate(node, nth);
        if cut || fate == Some(Fate::Lost) {
            return;
        }
        let statement = Statement {
            node,
            life,
            nth,
            who,
            ticket,
            query,
            asked,
            deadline,
            fate,
            clock_ms: 0,
            snapshot: None,
            answer: Err(Failure::Ambiguous),
            replies: 0,
        };
        let slot = self.database.accept(statement);
        let late = match fate {
            Some(Fate::Late(by)) => nanos(by),
            _ => 0,
        };
        let travel = self.draw.between(Stream::Request, node as u64, nth, self.latency);
        let at = self.now + travel + late + self.database.slow;
        self.queue.push(at, Event::Arrive(slot));
    }

    /// What befalls a statement: what the schedule says of this very one, or else by chance.
    fn fate(&mut self, node: usize, nth: u64) -> Option<Fate> {
        if self.schedule.faults.is_empty() {
            return None;
        }
        let explicit = self.schedule.faults.iter().find_map(|fault| match fault.what {
            What::Statement(n, at, fate) if (n, at) == (node, nth) => Some(fate),
            _ => None,
        });
        if explicit.is_some() {
            return explicit;
        }
        let place = node as u64;
        let (_, fate, _) = *self.odds.iter().find(|(index, _, ppm)| {
            self.draw.chance(Stream::Odds, place, (nth << 16) + *index as u64, *ppm)
        })?;
        let upto = |most| {
            let most = nanos(most);
            let drawn = self.draw.between(Stream::Late, place, nth, (most / 16, most));
            std::time::Duration::from_nanos(drawn)
        };
        let fate = match fate {
            Fate::Late(most) => Fate::Late(upto(most)),
            Fate::Stalled(most) => Fate::Stalled(upto(most)),
            Fate::Slow(most) => Fate::Slow(upto(most)),
            Fate::Stale(most) => Fate::Stale(upto(most)),
            other => other,
        };
        self.fates.push((node, nth, fate));
        Some(fate)
    }

    /// The database has answered: the answer sets out on its way back.
    fn send_reply(&mut self, slot: usize) {
        let Some(statement) = self.database.statement(slot) else { return };
        let (node, nth) = (statement.node as u64, statement.nth);
        let twin = u64::from(statement.replies) << 56;
        let travel = self.draw.between(Stream::Reply, node, nth ^ twin, self.latency);
        self.queue.push(self.now + travel, Event::Deliver(slot));
    }

    fn deliver(&mut self, slot: usize) {
        let Some(statement) = self.database.take_reply(slot) else { return };
        let node = statement.node;
        let there = &self.nodes[node];
        if there.life != statement.life || there.lease.is_none() || there.replies_cut {
            return;
        }
        let local = there.clock.read(self.now);
        let late = local >= statement.deadline;
        // A driver may have dropped the question, and may not.
        if late && self.draw.chance(Stream::Late, node as u64, !statement.nth, 500_000) {
            return;
        }
        self.trace.answered(self.now, node, &statement.query, &statement.answer);
        let Statement { ticket, answer: result, .. } = statement;
        let current = !late && !there.paused && there.ticket == Some(ticket);
        let scene = scene!(self);
        let answered =
            Answered { node, query: &statement.query, asked: statement.asked, current, result: &result };
        self.checks.answered(&scene, &answered);
        self.input(node, Input::Event(election_core::lease::Event::Answer { ticket, result }));
    }

    /// Shows the checkers what statements did, and lets the database notify.
    fn judge_database(&mut self) {
        if self.database.done.is_empty() && self.database.spent.is_empty() {
            return;
        }
        let mut done = std::mem::take(&mut self.database.done);
        for done in done.drain(..) {
            let Some(statement) = self.database.statement(done.slot) else { continue };
            let scene = scene!(self);
            let verdict = self.checks.done(&scene, statement, &done);
            let resigned = matches!(statement.query, Query::Resign { .. });
            if done.before != done.after {
                self.trace.wrote(self.now, statement.node, done.after.term, done.after.held);
            }
            self.verdict(verdict);
            if resigned && done.before.held && !done.after.held {
                self.notify_all();
            }
        }
        self.database.done = done;
        while let Some(slot) = self.database.spent.pop() {
            self.database.forget(slot);
        }
    }

    fn notify_all(&mut self) {
        if self.schedule.engine != Engine::Postgres || self.deaf {
            return;
        }
        self.notices += 1;
        for node in 0..self.nodes.len() {
            let travel = self.draw.between(Stream::Notice, node as u64, self.notices, self.latency);
            let life = self.nodes[node].life;
            self.queue.push(self.now + travel, Event::Wake { node, life });
        }
    }

    pub(crate) fn ask_resign(&mut self) {
        let term = self.database.table.leader().term;
        self.database.table.request_resignation(Epoch::new(term));
        if self.schedule.engine != Engine::Postgres || self.deaf {
            return;
        }
        self.notices += 1;
        for node in 0..self.nodes.len() {
            let travel = self.draw.between(Stream::Notice, node as u64, self.notices, self.latency);
            let life = self.nodes[node].life;
            self.queue.push(self.now + travel, Event::AskResign { node, life, epoch: term });
        }
    }

    // ---- judgement ----

    fn due(&mut self) {
        if let Some(heal) = &self.schedule.heal {
            let scene = scene!(self);
            let verdict = self.checks.due(&scene, heal);
            self.verdict(verdict);
        }
    }

    fn verdict(&mut self, verdict: Result<(), Violation>) {
        if let (Err(violation), None) = (verdict, &self.violation) {
            self.violation = Some(violation);
        }
    }

    /// The faults that may still strike by chance.
    pub(crate) fn set_odds(&mut self) {
        let active = self.schedule.faults.iter().zip(&self.active).enumerate();
        self.odds = active
            .filter_map(|(index, (Fault { what, .. }, active))| match what {
                What::Odds(fate, ppm) if *active => Some((index, *fate, *ppm)),
                _ => None,
            })
            .collect();
    }
}

fn wake() -> election_core::lease::Event {
    election_core::lease::Event::Wake
}

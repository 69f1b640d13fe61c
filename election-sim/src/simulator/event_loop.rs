//! The simulator: virtual time, the nodes, the world between them, and the checkers that watch.
//!
//! A run is a function of its [`Schedule`]. The simulator tells the real state machines what
//! happened and does what they ask, in the order of `election_core::drive`: publish the change,
//! start the action, wait for the deadline or the inbox.

use super::{CheckerSet, Environment, Node, Violation, WorldState, net::Net, world_state};
use crate::{
    app::{App, Resource, Write, WriteError},
    clock::Clock,
    deed::{Process, Rest},
    draw::{Draw, Stream},
    fault::Fault,
    panics,
    queue::{Event, Next, Queue},
    schedule::{Schedule, ScheduleError},
    span::{between, nanos},
    text::node_name,
    trace::Trace,
    workload::{EachWrite, Seen as _, View, Workload},
};
use election_core::{Epoch, Input};
use std::{fmt, sync::Arc, time::Duration};

/// Of so many writes of a user's code one is lost, and of another one the answer.
const UNSURE: u64 = 100;

/// A run in progress.
pub(crate) struct Simulator<S: Environment> {
    pub(crate) schedule: Schedule,
    pub(crate) now: u64,
    /// The processes have started.
    began: bool,
    end: u64,
    pub(crate) queue: Queue<S::Happening>,
    pub(crate) nodes: Vec<Node<S>>,
    /// What only this protocol has between its nodes.
    pub(crate) environment: S,
    pub(crate) draw: Draw,
    pub(crate) checkers: S::Checkers,
    pub(crate) trace: Trace,
    /// For each fault of the schedule, whether it is in force.
    pub(crate) active: Vec<bool>,
    /// The chance faults that took effect, so that the schedule can be made explicit.
    pub(crate) chances: Vec<Fault>,
    pub(crate) latency: (u64, u64),
    pub(crate) stop: (u64, u64),
    act: (u64, u64),
    pub(crate) events: u64,
    pub(crate) violation: Option<Violation>,
    pub(crate) elections: u64,
    pub(crate) workload: Arc<Workload>,
    pub(crate) apps: Vec<Option<Box<dyn App>>>,
    pub(crate) services: Vec<Option<Box<dyn Process<S::Machine>>>>,
    /// What a service that has stopped in the middle of a run is about to do.
    pub(super) stalled: Vec<Option<Rest<S::Machine>>>,
    pub(crate) resource: Resource,
    pub(crate) net: Net,
    /// The writes under way.
    writes: Vec<Option<Write>>,
    free_writes: Vec<usize>,
    /// For each `sometimes` condition of the workload, whether it has come true.
    pub(crate) reached: Vec<bool>,
    /// The conditions of each write.
    each_write: Vec<EachWrite>,
}

impl<S: Environment> fmt::Debug for Simulator<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("now", &Duration::from_nanos(self.now))
            .field("nodes", &self.nodes)
            .field("violation", &self.violation)
            .finish_non_exhaustive()
    }
}

impl<S: Environment> Simulator<S> {
    /// The world of this schedule, before anything has happened.
    pub(crate) fn new(schedule: Schedule, workload: Arc<Workload>) -> Result<Self, ScheduleError> {
        schedule.check()?;
        let environment = S::new(&schedule)?;
        let mut simulator = Self {
            now: 0,
            began: false,
            end: nanos(schedule.horizon),
            queue: Queue::new(schedule.nodes.len()),
            nodes: Vec::with_capacity(schedule.nodes.len()),
            draw: Draw::new(schedule.seed),
            checkers: S::Checkers::new(&schedule),
            trace: Trace::new(),
            active: vec![false; schedule.faults.len()],
            chances: Vec::new(),
            latency: between(schedule.latency),
            stop: between(schedule.stop),
            act: between(schedule.act),
            events: 0,
            violation: None,
            elections: 0,
            apps: schedule.nodes.iter().map(|_| None).collect(),
            services: schedule.nodes.iter().map(|_| None).collect(),
            stalled: schedule.nodes.iter().map(|_| None).collect(),
            resource: if workload.unfenced { Resource::unfenced() } else { Resource::default() },
            writes: Vec::new(),
            free_writes: Vec::new(),
            net: Net::new(schedule.nodes.len(), workload.runs_code()),
            reached: vec![false; workload.sometimes.len()],
            each_write: workload.each_write.iter().map(|(_, make)| make()).collect(),
            workload,
            environment,
            schedule,
        };
        simulator.populate();
        Ok(simulator)
    }

    fn populate(&mut self) {
        for (node, member) in self.schedule.nodes.iter().enumerate() {
            let state = self.environment.state(&self.schedule, node);
            let clock = Clock::new(nanos(member.offset), member.ppm);
            self.nodes.push(Node::new(state, clock, member.ppm));
        }
        for (index, fault) in self.schedule.faults.iter().enumerate() {
            self.queue.push(nanos(fault.at), Event::Begin(index));
        }
        if let Some(heal) = &self.schedule.heal {
            self.queue.push(nanos(heal.at), Event::Heal);
            // Just after the deadline: until the very end of the promised time nobody is late.
            let due = nanos(heal.at).saturating_add(nanos(heal.within)).saturating_add(1);
            self.queue.push(due, Event::Deadline);
        }
    }

    /// A panic of the user's code fails the run.
    fn catch(&mut self, run: impl FnOnce(&mut Self)) {
        if let Err(words) = panics::caught(|| run(self)) {
            let at = Duration::from_nanos(self.now);
            self.verdict(Err(Violation { check: panics::CHECK.into(), at, what: words }));
        }
    }

    /// Plays on to the end, or to the first violation.
    pub(crate) fn run(&mut self) -> Option<&Violation> {
        self.catch(Self::play);
        self.violation.as_ref()
    }

    fn play(&mut self) {
        self.begin_all();
        while self.advance() {}
        self.judge_end();
    }

    /// Starts the processes, unless they have started.
    pub(crate) fn begin_all(&mut self) {
        if !std::mem::replace(&mut self.began, true) {
            (0..self.nodes.len()).for_each(|node| self.start(node));
        }
    }

    /// Judges the end.
    pub(crate) fn judge_end(&mut self) {
        if self.violation.is_none() {
            self.due();
        }
    }

    /// Lets one thing happen. Returns false if nothing is left.
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
        self.trace.passed(at);
        match next {
            Next::Timer(node) => self.timer(node),
            Next::Event(event) => self.happen(event),
        }
        S::settle(self);
        self.judge_rig();
        true
    }

    fn happen(&mut self, event: Event<S::Happening>) {
        match event {
            Event::Begin(fault) => self.begin(fault),
            Event::End(fault) => self.end_fault(fault),
            Event::Heal => self.heal(),
            Event::Deadline => self.due(),
            Event::Stop { node, life, epoch } => self.stop_work(node, life, Epoch::new(epoch)),
            Event::App { node, life, turn } => self.app_tick(node, life, turn),
            Event::Restart { node, life } => self.restart(node, life),
            Event::Resign { node, life } => self.notify(node, life, Input::Resign),
            Event::Health { node, life, healthy } => {
                self.notify(node, life, Input::Event(S::health(healthy)));
            }
            Event::Frame(slot) => self.arrive_frame(slot),
            Event::Write(slot) => self.arrive_write(slot),
            Event::Own(what) => S::happen(self, what),
        }
    }

    /// Records what happens from now on.
    pub(crate) fn write_down(&mut self) {
        let faults = self.schedule.faults.iter();
        self.trace.write_down(faults.map(|fault| fault.kind.to_string()).collect());
    }

    fn due(&mut self) {
        let Some(heal) = &self.schedule.heal else { return };
        let world = world_state!(self);
        let verdict = self.checkers.due(&world, heal);
        self.verdict(verdict);
    }

    pub(crate) fn verdict(&mut self, verdict: Result<(), Violation>) {
        if let (Err(violation), None) = (verdict, &self.violation) {
            self.violation = Some(violation);
        }
    }

    /// Evaluates the user's own conditions.
    fn judge_rig(&mut self) {
        if self.workload.always.is_empty() && self.workload.sometimes.is_empty() {
            return;
        }
        let workload = Arc::clone(&self.workload);
        let mut reached = std::mem::take(&mut self.reached);
        let view = View { world: self };
        let broken = workload.always.iter().find(|(_, holds)| !holds(&view));
        for (reached, (_, holds)) in reached.iter_mut().zip(&workload.sometimes) {
            *reached = *reached || holds(&view);
        }
        self.reached = reached;
        if let Some((name, _)) = broken {
            self.fails(name, "a condition of `always`".into());
        }
    }

    /// The run violates a condition of the user's app.
    pub(crate) fn fails(&mut self, check: &str, what: String) {
        let at = Duration::from_nanos(self.now);
        self.verdict(Err(Violation { check: check.into(), at, what }));
    }

    /// If the user brings no app, the leader writes now and then, so that the resource has
    /// something to fence.
    pub(crate) fn write_as_leader(&mut self, node: usize) {
        let work = self.nodes[node].work.filter(|work| !work.told);
        if let (Some(work), false) = (work, self.workload.runs_code()) {
            self.send_write(node, Some(work.epoch), true, String::new());
        }
    }

    /// A write leaves for the resource.
    pub(crate) fn send_write(
        &mut self,
        node: usize,
        token: Option<Epoch>,
        led: bool,
        what: String,
    ) {
        let there = &mut self.nodes[node];
        there.sent += 1;
        let (life, sent) = (there.life, there.sent);
        let now = Duration::from_nanos(self.now);
        let write = Write {
            node,
            life,
            token,
            sent: now,
            arrived: now,
            led,
            led_on_arrival: led,
            what,
            nth: sent,
            own: !self.workload.runs_code(),
        };
        self.trace.write_sent(self.now, &write);
        let slot = self.free_writes.pop().unwrap_or_else(|| {
            self.writes.push(None);
            self.writes.len() - 1
        });
        let travel = self.draw.between(Stream::Act, node as u64, sent, self.act);
        self.writes[slot] = Some(write);
        self.queue.push(self.now + travel, Event::Write(slot));
    }

    fn arrive_write(&mut self, slot: usize) {
        let Some(mut write) = self.writes[slot].take() else { return };
        self.free_writes.push(slot);
        let answer =
            match self.draw.between(Stream::Fate, write.node as u64, write.nth, (1, UNSURE)) {
                1 if !write.own => {
                    self.trace.write_lost(self.now, &write);
                    return self.answer_write(&write, Err(WriteError::Unknown));
                }
                2 => Err(WriteError::Unknown),
                _ => Ok(()),
            };
        if !write.own {
            write.arrived = Duration::from_nanos(self.now);
            write.led_on_arrival = write.token.is_some() && self.leads(write.node) == write.token;
        }
        let highest = self.resource.highest();
        let served = self.resource.take(write.clone());
        self.trace.write_arrived(self.now, &write, highest, (served, answer.is_ok()));
        let refused = if served { Ok(()) } else { Err(WriteError::Refused) };
        self.answer_write(&write, answer.and(refused));
        if served && !self.workload.unfenced {
            let world = world_state!(self);
            let verdict = self.checkers.served(&world, &write);
            self.verdict(verdict);
        }
        if served && !write.own {
            self.judge_served(&write);
        }
    }

    fn judge_served(&mut self, write: &Write) {
        let workload = Arc::clone(&self.workload);
        for ((name, _), holds) in workload.each_write.iter().zip(&mut self.each_write) {
            if !holds(write) {
                let what = format!("write {:?} of {}", write.what, node_name(write.node));
                return self.fails(name, what);
            }
        }
    }
}

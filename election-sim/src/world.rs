//! The world: virtual time, the nodes, the database between them, and the checkers that watch.
//!
//! A run is a function of its [`Schedule`]. The world hands the real state machines what happened
//! and does what they ask, in the order of `election_core::drive`: publish the change, start the
//! action, wait for the deadline or the inbox.

use crate::{
    app::{App, Resource, Write},
    check::{Checks, Scene, Violation, scene},
    clock::Clock,
    database::{Database, between, nanos},
    draw::Draw,
    fault::{Fate, Fault, What},
    net::Net,
    node::Node,
    queue::{Event, Next, Queue},
    rig::{Rig, View},
    schedule::{Impossible, Schedule},
    table::candidate,
    trace::{Line, Trace},
};
use election_core::{
    Epoch, Input, Timestamp,
    lease::{self, Config, Role},
};
use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};

/// A run in progress.
pub struct World {
    pub(crate) schedule: Schedule,
    pub(crate) now: u64,
    end: u64,
    pub(crate) queue: Queue,
    pub(crate) nodes: Vec<Node>,
    pub(crate) database: Database,
    pub(crate) draw: Draw,
    pub(crate) config: Config,
    pub(crate) checks: Checks,
    pub(crate) trace: Trace,
    /// Which of the schedule's faults are in force.
    pub(crate) active: Vec<bool>,
    pub(crate) deaf: bool,
    /// What met which statement by chance, so that the schedule can be made explicit.
    pub(crate) fates: Vec<(usize, u64, Fate)>,
    pub(crate) odds: Vec<(usize, Fate, u32)>,
    pub(crate) latency: (u64, u64),
    pub(crate) stop: (u64, u64),
    pub(crate) act: (u64, u64),
    pub(crate) notices: u64,
    pub(crate) events: u64,
    pub(crate) violation: Option<Violation>,
    pub(crate) elections: u64,
    pub(crate) rig: Arc<Rig>,
    pub(crate) apps: Vec<Option<Box<dyn App>>>,
    pub(crate) resource: Resource,
    pub(crate) net: Net,
    /// Writes that are on their way.
    pub(crate) writes: Vec<Option<Write>>,
    pub(crate) free_writes: Vec<usize>,
    /// Which of the rig's `sometimes` have come true.
    pub(crate) reached: Vec<bool>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("now", &Duration::from_nanos(self.now))
            .field("nodes", &self.nodes)
            .field("violation", &self.violation)
            .finish_non_exhaustive()
    }
}

impl World {
    /// The world of this schedule, before anything has happened.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn new(schedule: Schedule) -> Result<Self, Impossible> {
        Self::with(schedule, Arc::default())
    }

    /// The same, with a user's app and conditions.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn with(schedule: Schedule, rig: Arc<Rig>) -> Result<Self, Impossible> {
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
            act: between(schedule.act),
            notices: 0,
            events: 0,
            violation: None,
            elections: 0,
            apps: schedule.nodes.iter().map(|_| None).collect(),
            resource: if rig.unfenced { Resource::unfenced() } else { Resource::default() },
            writes: Vec::new(),
            free_writes: Vec::new(),
            net: Net::new(schedule.nodes.len(), rig.app.is_some()),
            reached: vec![false; rig.sometimes.len()],
            rig,
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
                latest: Timestamp::ZERO,
                paused: false,
                frames: VecDeque::new(),
                inbox: VecDeque::new(),
                wake_at: None,
                work: None,
                stuck: false,
                requests_cut: false,
                replies_cut: false,
                asked: 0,
                ticket: None,
                sent: 0,
                drawn: 0,
                turn: 0,
                app_due: false,
            });
        }
        for (index, fault) in self.schedule.faults.iter().enumerate() {
            self.queue.push(nanos(fault.at), Event::Begin(index));
        }
        if let Some(heal) = &self.schedule.heal {
            self.queue.push(nanos(heal.at), Event::Heal);
            // Just after: to the very end of the time promised nobody is late.
            let due = nanos(heal.at).saturating_add(nanos(heal.within)).saturating_add(1);
            self.queue.push(due, Event::Deadline);
        }
        for node in 0..self.nodes.len() {
            self.start(node);
        }
    }

    /// Plays on to the end, or to the first violation.
    pub fn run(&mut self) -> Option<&Violation> {
        while self.advance() {}
        if self.violation.is_none() {
            self.due();
        }
        self.violation.as_ref()
    }

    /// What conditions see of it.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View { world: self }
    }

    /// How many events have happened.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Writes down what happens from now on.
    pub fn write_down(&mut self) {
        let faults = self.schedule.faults.iter().map(|fault| crate::scn::describe(&fault.what));
        self.trace.write_down(faults.collect());
    }

    /// What has been written down.
    pub fn take_lines(&mut self) -> Vec<Line> {
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
        self.trace.passed(at);
        match next {
            Next::Timer(node) => self.timer(node),
            Next::Event(event) => self.happen(event),
        }
        self.judge_database();
        self.judge_rig();
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
            Event::Deliver(slot) => self.deliver(slot),
            Event::Stop { node, life, epoch } => self.stop_work(node, life, Epoch::new(epoch)),
            Event::Wake { node, life } => self.notify(node, life, Input::Event(wake())),
            Event::AskResign { node, life, epoch } => {
                let event = lease::Event::ResignRequested(Epoch::new(epoch));
                self.notify(node, life, Input::Event(event));
            }
            Event::Storm(fault) => self.storm(fault),
            Event::App { node, life, turn } => self.app_tick(node, life, turn),
            Event::Resign { node, life } => self.heed_app(node, life, Input::Resign),
            Event::Health { node, life, healthy } => {
                self.heed_app(node, life, Input::Event(lease::Event::Health(healthy)));
            }
            Event::Frame(slot) => self.arrive_frame(slot),
            Event::Write(slot) => self.arrive_write(slot),
        }
    }

    fn due(&mut self) {
        let Some(heal) = &self.schedule.heal else { return };
        let scene = scene!(self);
        let verdict = self.checks.due(&scene, heal);
        self.verdict(verdict);
    }

    pub(crate) fn verdict(&mut self, verdict: Result<(), Violation>) {
        if let (Err(violation), None) = (verdict, &self.violation) {
            self.violation = Some(violation);
        }
    }

    /// Asks the user's own conditions.
    fn judge_rig(&mut self) {
        if self.rig.always.is_empty() && self.rig.sometimes.is_empty() {
            return;
        }
        let rig = Arc::clone(&self.rig);
        let view = View { world: self };
        let broken = rig.always.iter().find(|(_, holds)| !holds(&view));
        let mut reached = std::mem::take(&mut self.reached);
        let view = View { world: self };
        for (reached, (_, holds)) in reached.iter_mut().zip(&rig.sometimes) {
            *reached = *reached || holds(&view);
        }
        self.reached = reached;
        if let Some((name, _)) = broken {
            self.verdict(Err(Violation {
                check: name.clone(),
                at: Duration::from_nanos(self.now),
                what: "the condition does not hold".into(),
            }));
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

pub(crate) fn wake() -> lease::Event {
    lease::Event::Wake
}

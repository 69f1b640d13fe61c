//! What the lease adds to the simulator: the database, and what a node needs to talk to it.

use super::{
    client::{Asked, Desk},
    database::Database,
    happening::Happening,
    statement::{Done, Statement},
};
#[cfg(feature = "service")]
use crate::{
    deed::Process,
    service::{LeasePart, Life, Part},
};
use crate::{
    draw::Stream,
    fault::{FaultKind, StatementFault},
    schedule::{Engine, Schedule, ScheduleError},
    simulator::{Environment, Simulator, Told},
    table::candidate,
};
use election_core::{
    Candidate, Epoch, Input, Namespace, Timestamp,
    lease::{Action, Answer, Config, Event, Failure, Lease, Query, Registration, Role, Ticket},
    register::Client,
};

/// The lease's part of a world.
#[derive(Debug)]
pub(crate) struct LeaseEnvironment {
    pub(crate) config: Config,
    pub(crate) database: Database,
    pub(super) deaf: bool,
    pub(super) odds: Vec<(usize, StatementFault, u32)>,
    pub(super) notices: u64,
    /// Where questions wait that go over a shared connection.
    pub(super) asked: Option<Vec<Statement>>,
}

/// The lease's part of a node.
#[derive(Debug)]
pub(crate) struct LeaseNodeState {
    pub(crate) candidate: Candidate,
    pub(super) requests_cut: bool,
    pub(super) replies_cut: bool,
    /// The number of statements sent, over all lives.
    pub(super) asked: u64,
    /// The newest question.
    pub(super) ticket: Option<Ticket>,
    /// What it has for a register.
    pub(super) desk: Option<Desk>,
}

/// An answer that is about to enter the state machine.
pub(crate) struct Answered<'a> {
    pub(crate) node: usize,
    pub(crate) query: &'a Query,
    pub(crate) asked: Timestamp,
    /// No newer question was asked, and the deadline has not come.
    pub(crate) current: bool,
    pub(crate) result: &'a Result<Answer, Failure>,
}

/// A statement that has taken effect in the database, or has had none.
pub(crate) struct Effect<'a> {
    pub(crate) statement: &'a Statement,
    pub(crate) done: &'a Done,
}

impl Environment for LeaseEnvironment {
    type Machine = Lease;
    type NodeState = LeaseNodeState;
    type Happening = Happening;
    type Asked = Query;
    type Heard<'a> = Answered<'a>;
    type Done<'a> = Effect<'a>;

    /// A leader whose database refuses every statement at once asks most often: it repeats a renewal
    /// after only a few milliseconds at first.
    const MOST_QUESTIONS: u32 = 400;
    const WRITES_WHEN_EXTENDED: bool = true;

    fn new(schedule: &Schedule) -> Result<Self, ScheduleError> {
        Ok(Self {
            config: schedule.timing.config(Role::Candidate)?,
            database: Database::new(schedule),
            deaf: false,
            odds: Vec::new(),
            notices: 0,
            asked: None,
        })
    }

    fn state(&self, schedule: &Schedule, node: usize) -> LeaseNodeState {
        LeaseNodeState {
            candidate: candidate(&schedule.nodes[node].name, node as u128),
            requests_cut: false,
            replies_cut: false,
            asked: 0,
            ticket: None,
            desk: None,
        }
    }

    fn birth(simulator: &mut Simulator<Self>, node: usize) -> Option<Lease> {
        let member = &simulator.schedule.nodes[node];
        let role = if member.observer { Role::Observer } else { Role::Candidate };
        let config = simulator.schedule.timing_of(node).config(role).ok()?;
        let candidate = candidate(&member.name, simulator.incarnation(node));
        let state = &mut simulator.nodes[node].state;
        state.candidate = candidate.clone();
        state.desk = (simulator.schedule.engine == Engine::Register).then(|| {
            let namespace = Namespace::default();
            let who = Registration { namespace, candidate: candidate.clone(), label: None };
            Desk::new(Client::new(who, config.drift()))
        });
        Some(Lease::new(config, candidate, simulator.word(Stream::Jitter, node, 0)))
    }

    #[cfg(feature = "service")]
    fn service(simulator: &mut Simulator<Self>, node: usize) -> Option<Box<dyn Process<Lease>>> {
        let make = simulator.workload.service()?.clone();
        let (schedule, member) = (&simulator.schedule, &simulator.schedule.nodes[node]);
        let role = if member.observer { Role::Observer } else { Role::Candidate };
        Some(Box::new(make(Life {
            node,
            life: simulator.nodes[node].life,
            names: simulator.names(),
            candidate: simulator.nodes[node].state.candidate.clone(),
            part: Part::Lease(LeasePart {
                config: schedule.timing_of(node).builder(role).ok()?,
                notifies: schedule.engine.notifies(),
            }),
        })))
    }

    fn born(_: &mut Simulator<Self>, _: usize) {}

    fn died(_: &mut Simulator<Self>, _: usize) {}

    fn cloned(simulator: &mut Simulator<Self>, from: usize, onto: usize) {
        let candidate = simulator.nodes[from].state.candidate.clone();
        let copy = &mut simulator.nodes[onto].state;
        (copy.candidate, copy.ticket) = (candidate, None);
    }

    fn requested(simulator: &mut Simulator<Self>, node: usize, action: &Action) {
        let Action::Query { ticket, query, .. } = action;
        simulator.nodes[node].state.ticket = Some(*ticket);
        simulator.requested(node, query);
    }

    fn perform(simulator: &mut Simulator<Self>, node: usize, action: Action, at: Timestamp) {
        let Action::Query { ticket, query, deadline } = action;
        simulator.ask(node, Asked { ticket, query, asked: at, deadline });
    }

    fn happen(simulator: &mut Simulator<Self>, what: Happening) {
        let (now, queue) = (simulator.now, &mut simulator.queue);
        let database = &mut simulator.environment.database;
        match what {
            Happening::Arrive(slot) => database.arrive(slot, now, queue),
            Happening::Execute(slot) => database.execute(slot, now, queue),
            Happening::LockTimeout(slot, nth) => database.lock_timeout(slot, nth, now, queue),
            Happening::Commit(id) => database.commit(id, now, queue),
            Happening::Deliver(slot) => simulator.deliver(slot),
            Happening::Resigned { node, life, epoch } => {
                simulator.hear(node, life, Event::Resigned(Epoch::new(epoch)));
            }
            Happening::Woken { node, life } => simulator.hear(node, life, Event::Wake),
            Happening::Storm(fault) => simulator.storm(fault),
        }
    }

    fn settle(simulator: &mut Simulator<Self>) {
        simulator.judge_database();
    }

    fn begin(simulator: &mut Simulator<Self>, index: usize, kind: &FaultKind) {
        simulator.begin_database_fault(index, kind);
    }

    fn recompute(simulator: &mut Simulator<Self>, kind: &FaultKind) {
        simulator.recompute_database_fault(kind);
    }

    fn health(healthy: bool) -> Event {
        Event::Health(healthy)
    }

    fn told(event: &Event) -> Option<Told> {
        match event {
            Event::Wake | Event::Resigned(_) => Some(Told::Wake),
            Event::Health(healthy) => Some(Told::Healthy(*healthy)),
            Event::Answer { .. } => None,
        }
    }

    fn extends(event: &Event) -> bool {
        matches!(event, Event::Answer { .. })
    }

    /// Wake-ups that wait in the inbox become one, as in every driver's mailbox.
    fn coalesces(last: &mut Event, next: &Event) -> bool {
        match (&*last, next) {
            (Event::Wake | Event::Resigned(_), Event::Wake) => true,
            (Event::Wake, Event::Resigned(_)) => {
                last.clone_from(next);
                true
            }
            (Event::Resigned(one), Event::Resigned(other)) => {
                *last = Event::Resigned(*one.max(other));
                true
            }
            _ => false,
        }
    }
}

impl Simulator<LeaseEnvironment> {
    /// Delivers a notification, unless notifications are being lost.
    fn hear(&mut self, node: usize, life: u32, event: Event) {
        if !self.environment.deaf {
            self.notify(node, life, Input::Event(event));
        }
    }
}

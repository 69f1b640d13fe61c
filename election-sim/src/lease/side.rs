//! What the lease brings to the stage: the database, and what a node has to talk to it with.

use super::{
    database::Database,
    happening::Happening,
    statement::{Done, Statement},
};
use crate::{
    check::{LeaseChecks, Told},
    draw::Stream,
    fault::{Fate, What},
    schedule::{Impossible, Schedule},
    stage::{Side, Stage},
    table::candidate,
};
use election_core::{
    Candidate, Epoch, Input, Timestamp,
    lease::{Action, Answer, Config, Event, Failure, Lease, Query, Role, Ticket},
};

/// The lease's part of a world.
#[derive(Debug)]
pub(crate) struct LeaseSide {
    pub(crate) config: Config,
    pub(crate) database: Database,
    pub(super) deaf: bool,
    pub(super) odds: Vec<(usize, Fate, u32)>,
    pub(super) notices: u64,
}

/// A node's part of it.
#[derive(Debug)]
pub(crate) struct LeaseKit {
    pub(crate) candidate: Candidate,
    pub(super) requests_cut: bool,
    pub(super) replies_cut: bool,
    /// Statements sent, over all lives.
    pub(super) asked: u64,
    /// The newest question.
    pub(super) ticket: Option<Ticket>,
}

/// An answer on its way into the state machine.
pub(crate) struct Answered<'a> {
    pub(crate) node: usize,
    pub(crate) query: &'a Query,
    pub(crate) asked: Timestamp,
    /// Nobody has asked anything since, and the deadline has not come.
    pub(crate) current: bool,
    pub(crate) result: &'a Result<Answer, Failure>,
}

/// A statement that has taken effect in the database, or none.
pub(crate) struct Effect<'a> {
    pub(crate) statement: &'a Statement,
    pub(crate) done: &'a Done,
}

impl Side for LeaseSide {
    type Machine = Lease;
    type Kit = LeaseKit;
    type Happening = Happening;
    type Asked = Query;
    type Heard<'a> = Answered<'a>;
    type Done<'a> = Effect<'a>;
    type Checks = LeaseChecks;

    const WRITES_WHEN_EXTENDED: bool = true;

    fn new(schedule: &Schedule) -> Result<Self, Impossible> {
        Ok(Self {
            config: schedule.timing.config(Role::Candidate)?,
            database: Database::new(schedule),
            deaf: false,
            odds: Vec::new(),
            notices: 0,
        })
    }

    fn kit(&self, schedule: &Schedule, node: usize) -> LeaseKit {
        LeaseKit {
            candidate: candidate(&schedule.nodes[node].name, node as u128),
            requests_cut: false,
            replies_cut: false,
            asked: 0,
            ticket: None,
        }
    }

    fn birth(stage: &mut Stage<Self>, node: usize) -> Option<Lease> {
        let member = &stage.schedule.nodes[node];
        let role = if member.observer { Role::Observer } else { Role::Candidate };
        let config = stage.schedule.timing.config(role).ok()?;
        let candidate = candidate(&member.name, stage.incarnation(node));
        stage.nodes[node].kit.candidate = candidate.clone();
        Some(Lease::new(config, candidate, stage.word(Stream::Jitter, node, 0)))
    }

    fn born(_: &mut Stage<Self>, _: usize) {}

    fn died(_: &mut Stage<Self>, _: usize) {}

    fn cloned(stage: &mut Stage<Self>, from: usize, onto: usize) {
        let candidate = stage.nodes[from].kit.candidate.clone();
        let copy = &mut stage.nodes[onto].kit;
        (copy.candidate, copy.ticket) = (candidate, None);
    }

    fn perform(stage: &mut Stage<Self>, node: usize, action: Action, at: Timestamp) {
        let Action::Query { ticket, query, deadline } = action;
        stage.ask(node, ticket, query, at, deadline);
    }

    fn happen(stage: &mut Stage<Self>, what: Happening) {
        let (now, queue) = (stage.now, &mut stage.queue);
        let database = &mut stage.side.database;
        match what {
            Happening::Arrive(slot) => database.arrive(slot, now, queue),
            Happening::Execute(slot) => database.execute(slot, now, queue),
            Happening::LockTimeout(slot, nth) => database.lock_timeout(slot, nth, now, queue),
            Happening::Commit(id) => database.commit(id, now, queue),
            Happening::Deliver(slot) => stage.deliver(slot),
            Happening::Resigned { node, life, epoch } => {
                stage.hear(node, life, Event::Resigned(Epoch::new(epoch)));
            }
            Happening::Woken { node, life } => stage.hear(node, life, Event::Wake),
            Happening::Storm(fault) => stage.storm(fault),
        }
    }

    fn settle(stage: &mut Stage<Self>) {
        stage.judge_database();
    }

    fn begin(stage: &mut Stage<Self>, index: usize, what: &What) {
        stage.strike(index, what);
    }

    fn end(_: &mut Stage<Self>, _: &What) {}

    fn recompute(stage: &mut Stage<Self>, what: &What) {
        stage.recompute_lease(what);
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

    /// Wake-ups that nobody takes become one, as in every driver's mailbox.
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

impl Stage<LeaseSide> {
    /// A notification arrives, if notifications do.
    fn hear(&mut self, node: usize, life: u32, event: Event) {
        if !self.side.deaf {
            self.notify(node, life, Input::Event(event));
        }
    }
}

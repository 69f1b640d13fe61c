//! Many elections among the same processes, which share their connections to the database.
//!
//! Each election is a world of its own, with its row, its machines and its checkers. The worlds play one schedule in
//! step, and what they share is what the elections of a process share: its [`Connection`]. Faults of a process, of its
//! connection or of the database befall all elections at once, those of a row or of one elector as a rule one. So
//! every invariant of one election is one of each, and there is another: an election that no fault has hit keeps its
//! leader ([`KEEPS`]).

mod connection;
mod flight;

use super::environment::LeaseEnvironment;
use crate::{
    draw::{Draw, mix},
    fault::{Fault, FaultKind},
    queue::{Event, Next, Queue},
    schedule::{Engine, Schedule, ScheduleError},
    simulator::{Environment as _, Simulator, Violation},
    span::nanos,
    workload::Workload,
};
use connection::Connection;
use election_core::sql::Dialect;
use flight::Flight;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// The invariant of elections that share a connection with others.
pub(crate) const KEEPS: &str = "an election without faults keeps its leader";

/// Many elections in progress.
pub(crate) struct Many {
    worlds: Vec<Simulator<LeaseEnvironment>>,
    /// Of each process.
    connections: Vec<Connection>,
    /// The processes that may have something to do.
    awake: BTreeSet<usize>,
    /// The statements under way, by number.
    flights: BTreeMap<u64, Flight>,
    /// The travels of statements. There is a timer for each world, when its next thing happens, and after these one
    /// for each connection, when its patience ends.
    queue: Queue<Travel>,
    engine: Engine,
    draw: Draw,
    now: u64,
    end: u64,
    /// The worlds that no fault hits, if all faults hit single elections.
    calm: Vec<usize>,
    violated: Option<usize>,
}

/// What travels between a process and the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Travel {
    Arrive(u64),
    Reply(u64),
}

impl fmt::Debug for Many {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Many").field("shown", self.shown()).finish_non_exhaustive()
    }
}

impl Many {
    pub(crate) fn new(
        schedule: &Schedule,
        workload: &Arc<Workload>,
    ) -> Result<Self, ScheduleError> {
        let (count, engine) = (schedule.elections, schedule.engine);
        let mut worlds = Vec::with_capacity(count);
        for election in 0..count {
            let seed =
                if election == 0 { schedule.seed } else { mix(schedule.seed ^ election as u64) };
            let mut own = Schedule { seed, ..schedule.clone() };
            own.faults
                .retain(|fault| !befalls_one(&fault.kind, engine) || hits(fault, election, count));
            let mut world = Simulator::<LeaseEnvironment>::new(own, Arc::clone(workload))?;
            world.environment.asked = Some(Vec::new());
            worlds.push(world);
        }
        let untouched = |world: &Simulator<_>| world.schedule.faults.is_empty();
        let single = schedule.faults.iter().all(|fault| befalls_one(&fault.kind, engine));
        let calm = (0..count).filter(|it| single && untouched(&worlds[*it])).collect();
        let dialect = match engine {
            Engine::Register => return Err(ScheduleError::SharedRegister),
            Engine::Postgres => Dialect::Postgres,
            Engine::MySql => Dialect::MySql,
            Engine::Sqlite => Dialect::Sqlite,
        };
        let connections = schedule.nodes.iter().map(|_| Connection::new(dialect)).collect();
        Ok(Self {
            worlds,
            connections,
            awake: BTreeSet::new(),
            flights: BTreeMap::new(),
            queue: Queue::new(count + schedule.nodes.len()),
            engine,
            draw: Draw::new(schedule.seed),
            now: 0,
            end: nanos(schedule.horizon),
            calm,
            violated: None,
        })
    }

    /// Plays on to the end, or to the first violation.
    pub(crate) fn run(&mut self) -> Option<&Violation> {
        for world in 0..self.worlds.len() {
            self.worlds[world].begin_all();
            self.collect(world);
        }
        self.connections_go_on();
        while self.violated.is_none() && self.advance() {}
        if self.violated.is_none() {
            self.judge_end();
        }
        self.violated.and_then(|world| self.worlds[world].violation.as_ref())
    }

    /// Lets one thing happen. Returns false if nothing is left.
    fn advance(&mut self) -> bool {
        let Some((at, next)) = self.queue.pop().filter(|(at, _)| *at <= self.end) else {
            return false;
        };
        self.now = at;
        match next {
            Next::Event(Event::Own(Travel::Arrive(number))) => self.arrive(number),
            Next::Event(Event::Own(Travel::Reply(number))) => self.reply(number),
            Next::Timer(world) if world < self.worlds.len() => {
                self.worlds[world].advance();
                self.collect(world);
                if world == 0 {
                    // A process may have been paused, or go on.
                    self.awake.extend(0..self.connections.len());
                }
            }
            Next::Timer(patience) => drop(self.awake.insert(patience - self.worlds.len())),
            Next::Event(_) => {}
        }
        self.connections_go_on();
        true
    }

    fn connections_go_on(&mut self) {
        while let Some(process) = self.awake.pop_first() {
            self.go_on(process);
        }
    }

    /// The world to whose election something happens from outside, at this time.
    fn world_now(&mut self, world: usize) -> &mut Simulator<LeaseEnvironment> {
        let it = &mut self.worlds[world];
        it.now = self.now;
        it.trace.passed(self.now);
        it
    }

    /// Takes what a world has for others, after something has happened in it.
    fn collect(&mut self, world: usize) {
        let it = &mut self.worlds[world];
        LeaseEnvironment::settle(it);
        let asked = it.environment.asked.as_mut().map(std::mem::take).unwrap_or_default();
        let parts = std::mem::take(&mut it.environment.database.parts);
        for slot in parts {
            if let Some(statement) = self.worlds[world].environment.database.take_part(slot) {
                self.part_is_done(statement);
            }
        }
        for statement in asked {
            self.awake.insert(statement.node);
            self.connections[statement.node].ask(world, statement);
        }
        self.queue.set_timer(world, self.worlds[world].queue.due());
        if self.violated.is_none() && self.worlds[world].violation.is_some() {
            self.violated = Some(world);
        }
    }

    /// Judges the end.
    fn judge_end(&mut self) {
        for world in 0..self.worlds.len() {
            self.world_now(world).now = self.end;
            let it = &mut self.worlds[world];
            it.judge_end();
            if self.calm.contains(&world) && it.elections > 1 {
                it.fails(KEEPS, format!("it has had {} leaders", it.elections));
            }
            if it.violation.is_some() {
                self.violated = Some(world);
                return;
            }
        }
    }

    /// The election that is shown: the one in which something was violated, or the first.
    pub(crate) fn shown(&self) -> &Simulator<LeaseEnvironment> {
        &self.worlds[self.violated.unwrap_or(0)]
    }

    pub(crate) fn shown_mut(&mut self) -> &mut Simulator<LeaseEnvironment> {
        &mut self.worlds[self.violated.unwrap_or(0)]
    }

    pub(crate) fn worlds(&self) -> &[Simulator<LeaseEnvironment>] {
        &self.worlds
    }

    pub(crate) fn worlds_mut(&mut self) -> &mut [Simulator<LeaseEnvironment>] {
        &mut self.worlds
    }

    /// Takes everything that chance did to statements: the first world draws it.
    pub(crate) fn take_chances(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.worlds[0].chances)
    }
}

/// Whether a fault hits one row, or one elector of a process.
pub(crate) fn befalls_one(kind: &FaultKind, engine: Engine) -> bool {
    match kind {
        FaultKind::Lock | FaultKind::Fence => engine != Engine::Sqlite, // it has one lock for all
        FaultKind::Resign(_)
        | FaultKind::Unhealthy(_)
        | FaultKind::Withdraw(_)
        | FaultKind::Stuck(_)
        | FaultKind::Storm(_)
        | FaultKind::AskResign => true,
        _ => false,
    }
}

/// Whether a fault of one election hits this one: it may hit all. Its time decides, so that it hits the same if other
/// faults are left out.
fn hits(fault: &Fault, election: usize, count: usize) -> bool {
    let drawn = mix(nanos(fault.at)) % (count as u64 + 1);
    drawn == count as u64 || drawn == election as u64
}

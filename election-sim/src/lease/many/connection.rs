//! The shared connection of one process: what waits for it, and what is under way.

use super::{Many, Travel, flight::Flight, flight::Question};
use crate::{
    draw::Stream, fault::StatementFault, lease::statement::Statement, queue::Event, span::nanos,
};
use election_core::{
    Namespace, Timestamp,
    lease::{Answer, Failure, Registration, Role},
    sql::{Asked, Concern, Dialect, Queue},
};

/// The connection of the latest life of a process.
#[derive(Debug)]
pub(super) struct Connection {
    dialect: Dialect,
    life: u32,
    waiting: Queue<(usize, Statement)>,
    under_way: Option<u64>,
    /// The number of statements sent, over all lives.
    sent: u64,
}

impl Connection {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, life: 0, waiting: Queue::new(), under_way: None, sent: 0 }
    }

    /// An election of this process asks. The first question of a life opens a connection.
    pub(super) fn ask(&mut self, election: usize, statement: Statement) {
        if statement.life > self.life {
            let sent = self.sent;
            *self = Self { life: statement.life, sent, ..Self::new(self.dialect) };
        }
        let registration = Registration {
            namespace: name(election),
            candidate: statement.who.clone(),
            label: None,
        };
        // As the driver's: an answer that comes later is of no use.
        let until = statement.asked + statement.deadline.since(statement.asked) * 3 / 4;
        let query = statement.query.clone();
        self.waiting.push(Asked { registration, query, until, asker: (election, statement) });
    }
}

/// The name of an election.
fn name(election: usize) -> Namespace {
    Namespace::new(&format!("e{election}")).unwrap_or_else(|why| panic!("e{election}: {why}"))
}

impl Many {
    /// A process, unless it is paused, takes what has come and sends what waits.
    pub(super) fn go_on(&mut self, process: usize) {
        loop {
            let there = &self.worlds[0].nodes[process];
            if there.paused {
                return;
            }
            let local = there.clock.read(self.now);
            let number = self.connections[process].under_way;
            let Some(number) = number else {
                if self.send(process, local) {
                    continue;
                }
                return;
            };
            let Some(flight) = self.flights.get_mut(&number) else { return };
            if flight.arrived {
                let result = flight.result();
                let questions = std::mem::take(&mut flight.questions);
                let sent = flight.sent;
                self.flights.remove(&number);
                self.conclude(process, questions, result, (sent, local));
            } else if local >= flight.deadline {
                flight.abandoned = true;
                let (questions, sent) = (flight.questions.clone(), flight.sent);
                self.conclude(process, questions, Err(Failure::Ambiguous), (sent, local));
            } else {
                let at = there.clock.when(flight.deadline).max(self.now + 1);
                return self.queue.set_timer(self.worlds.len() + process, at);
            }
        }
    }

    /// Sends those whose turn it is. Returns false if nobody waits.
    fn send(&mut self, process: usize, local: Timestamp) -> bool {
        let worlds = &self.worlds;
        let connection = &mut self.connections[process];
        let waits = |(world, statement): &(usize, Statement)| {
            let there = &worlds[*world].nodes[process];
            let asks = there.life == statement.life && there.machine.is_some();
            asks && there.state.ticket == Some(statement.ticket) && local < statement.deadline
        };
        let mut questions = connection.waiting.next(local, waits);
        if questions.is_empty() {
            return false;
        }
        connection.sent += 1;
        let nth = connection.sent;
        for asked in &mut questions {
            asked.asker.1.sent = self.now;
        }
        let patience = self.worlds[0].schedule.timing_of(process).config(Role::Candidate);
        let patience = patience.map(|config| config.attempt_timeout()).unwrap_or_default();
        let fault = self.world_now(0).fault(process, nth);
        let times = (local, local + patience);
        let flight = Flight::new((process, nth), questions, fault, times);
        let number = (nth << 16) | process as u64;
        self.flights.insert(number, flight);
        self.connections[process].under_way = Some(number);
        if self.worlds[0].nodes[process].state.requests_cut || fault == Some(StatementFault::Lost) {
            return true;
        }
        let late = match fault {
            Some(StatementFault::Late(by)) => nanos(by),
            _ => 0,
        };
        let world = &self.worlds[0];
        let travel = self.draw.between(Stream::Request, process as u64, nth, world.latency);
        let at = self.now + travel + late + world.environment.database.slow;
        self.queue.push(at, Event::Own(Travel::Arrive(number)));
        true
    }

    /// An answer has come to the process, if it still waits for it.
    pub(super) fn reply(&mut self, number: u64) {
        let Some(flight) = self.flights.get_mut(&number) else { return };
        let process = flight.process;
        if self.connections[process].under_way != Some(number) {
            self.flights.remove(&number);
        } else if !self.worlds[0].nodes[process].state.replies_cut {
            flight.arrived = true;
            self.awake.insert(process);
        }
    }

    /// Hands out what has become of a statement.
    fn conclude(
        &mut self,
        process: usize,
        questions: Vec<Question>,
        result: Result<Vec<Option<Answer>>, Failure>,
        (sent, local): (Timestamp, Timestamp),
    ) {
        let connection = &mut self.connections[process];
        connection.under_way = None;
        self.queue.set_timer(self.worlds.len() + process, u64::MAX);
        let told: Vec<_> = match result {
            Ok(answers) => {
                let answered = connection.waiting.answered(questions, answers).into_iter();
                answered.map(|(asked, answer)| (asked, Ok(answer))).collect()
            }
            Err(why) => {
                let concern = match why {
                    // SQLite has one lock for all.
                    Failure::Conflict if connection.dialect != Dialect::Sqlite => Concern::Lock,
                    Failure::Fatal => Concern::Row,
                    Failure::Conflict | Failure::Transient | Failure::Ambiguous => Concern::All,
                };
                let failed = connection.waiting.failed(questions, concern, sent, local).into_iter();
                failed.map(|asked| (asked, Err(why))).collect()
            }
        };
        for (asked, result) in told {
            let (world, statement) = asked.asker;
            self.world_now(world).hand_over(&statement, result);
            self.collect(world);
        }
    }
}

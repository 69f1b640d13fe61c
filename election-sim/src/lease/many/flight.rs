//! A statement of a shared connection on its way, and what the database makes of its parts.

use super::{Many, Travel};
use crate::{
    draw::Stream,
    fault::StatementFault,
    lease::statement::{Part, Statement},
    queue::Event,
    schedule::Engine,
    span::nanos,
};
use election_core::{
    Timestamp,
    lease::{Answer, Failure},
    sql::Asked,
};

/// A question of one election, and which it is.
pub(super) type Question = Asked<(usize, Statement)>;

/// Of so many parts of a statement one is left out because somebody holds its row's lock for a moment.
const LEFT_OUT: u32 = 10_000; // parts per million

#[derive(Debug)]
pub(super) struct Flight {
    pub(super) process: usize,
    /// The number of the process's statements before it.
    pub(super) nth: u64,
    pub(super) questions: Vec<Question>,
    pub(super) fault: Option<StatementFault>,
    /// When it was sent, and until when the process waits, by the process's clock.
    pub(super) sent: Timestamp,
    pub(super) deadline: Timestamp,
    results: Vec<Result<Option<Answer>, Failure>>,
    /// How many parts the database has not done with.
    left: usize,
    /// The process has its answer, once it goes on.
    pub(super) arrived: bool,
    /// The process waits no longer.
    pub(super) abandoned: bool,
}

impl Flight {
    pub(super) fn new(
        (process, nth): (usize, u64),
        questions: Vec<Question>,
        fault: Option<StatementFault>,
        (sent, deadline): (Timestamp, Timestamp),
    ) -> Self {
        let count = questions.len();
        Self {
            process,
            nth,
            questions,
            fault,
            sent,
            deadline,
            results: vec![Ok(None); count],
            left: 0,
            arrived: false,
            abandoned: false,
        }
    }

    /// The answer to the whole: one error is that of all, and says what holds for all.
    pub(super) fn result(&mut self) -> Result<Vec<Option<Answer>>, Failure> {
        let results = std::mem::take(&mut self.results);
        let executed = results.iter().any(Result::is_ok);
        let all: Result<Vec<_>, _> = results.into_iter().collect();
        all.map_err(|why| if executed { Failure::Ambiguous } else { why })
    }
}

impl Many {
    /// A statement has come over the network. Its parts execute one after the other.
    pub(super) fn arrive(&mut self, number: u64) {
        let Some(flight) = self.flights.get_mut(&number) else { return };
        let refused = match flight.fault {
            Some(StatementFault::Refused) => Some(Failure::Transient),
            Some(StatementFault::Fatal) => Some(Failure::Fatal),
            Some(StatementFault::Locked) => Some(Failure::Conflict),
            Some(StatementFault::Aborted) => Some(Failure::Ambiguous),
            _ => None,
        };
        if let Some(why) = refused {
            flight.results.fill(Err(why));
            return self.answer(number);
        }
        let of_parts = flight.fault.filter(|fault| {
            use StatementFault::{Phantom, Stale, Stalled, Unknown};
            matches!(fault, Phantom | Stale(_) | Stalled(_) | Unknown)
        });
        let merged = flight.questions.len() > 1;
        let (process, nth) = (flight.process as u64, flight.nth);
        let skips = merged && self.engine != Engine::Sqlite;
        let parts: Vec<_> =
            flight.questions.iter().map(|it| it.asker.clone()).enumerate().collect();
        flight.left = parts.len();
        for (place, (world, mut statement)) in parts {
            let drawn = (nth << 16) | place as u64;
            if merged && self.draw.chance(Stream::Skip, process, drawn, LEFT_OUT) {
                self.is_done(number, place, Ok(None));
                continue;
            }
            let part = Part { statement: number, place, skips, skipped: false };
            (statement.part, statement.fault) = (Some(part), of_parts);
            let it = self.world_now(world);
            let (now, queue) = (it.now, &mut it.queue);
            let slot = it.environment.database.accept(statement);
            it.environment.database.arrive(slot, now, queue);
            self.collect(world);
        }
    }

    pub(super) fn part_is_done(&mut self, statement: Statement) {
        let Some(part) = statement.part else { return };
        let result = if part.skipped { Ok(None) } else { statement.answer.map(Some) };
        self.is_done(part.statement, part.place, result);
    }

    fn is_done(&mut self, number: u64, place: usize, result: Result<Option<Answer>, Failure>) {
        let Some(flight) = self.flights.get_mut(&number) else { return };
        flight.results[place] = result;
        flight.left -= 1;
        if flight.left == 0 {
            self.answer(number);
        }
    }

    /// The database has done with a statement.
    fn answer(&mut self, number: u64) {
        let Some(flight) = self.flights.get(&number) else { return };
        if flight.abandoned {
            self.flights.remove(&number);
            return;
        }
        let late = match flight.fault {
            Some(StatementFault::Unanswered) => return,
            Some(StatementFault::Slow(by)) => nanos(by),
            _ => 0,
        };
        let world = &self.worlds[0];
        let travel =
            self.draw.between(Stream::Reply, flight.process as u64, flight.nth, world.latency);
        let at = self.now + world.environment.database.slow + late + travel;
        self.queue.push(at, Event::Own(Travel::Reply(number)));
    }
}

//! The database around the table: when statements execute, and what becomes of their answers.
//!
//! The [`Table`](crate::table::Table) says what a statement means; this file adds what goes wrong
//! with it. A statement reads the database's clock when it begins. If it then waits for a lock or a
//! disk, it executes with a clock that has stood still. It outlives the client that sent it.

use super::{
    client::Listed,
    happening::{Event, Happening, Queue},
    history::state_at,
    statement::{Done, Stand, Statement},
};
use crate::{
    draw::{Draw, Stream},
    fault::{FaultKind, StatementFault},
    schedule::{Engine, Schedule},
    span::{between, nanos},
    table::{Leader, Table},
};
use election_core::lease::{Answer, Failure, Query, Row};
use std::collections::VecDeque;

/// What the database's clock reads when the world begins, in milliseconds.
pub(crate) const BEGIN_MS: i64 = 1_000_000_000;

/// The slot of no statement: the database itself holds the lock.
pub(super) const NOBODY: usize = usize::MAX;

/// How long the row is out of reach after a write was taken back.
pub(super) const RECOVERY: u64 = 2_000_000;

#[derive(Debug)]
pub(super) struct Staged {
    pub(super) id: u64,
    pub(super) slot: usize,
    pub(super) leader: Leader,
    pub(super) before: Stand,
}

#[derive(Debug)]
pub(crate) struct Database {
    engine: Engine,
    lock_timeout: Option<u64>,
    commit: (u64, u64),
    latency: (u64, u64),
    draw: Draw,
    pub(crate) table: Table,
    /// What its clock read when the world began, plus all steps.
    pub(crate) step_ms: i64,
    slots: Vec<Option<Statement>>,
    free: Vec<usize>,
    /// A write between its execution and its commit, which holds the row's lock.
    pub(super) staged: Option<Staged>,
    pub(super) stagings: u64,
    pub(super) waiting: VecDeque<usize>,
    pub(super) parked: Vec<usize>,
    /// The number of crashes: a statement that began before a crash never executes after it.
    pub(super) crashes: u64,
    /// When a replica took over last: what was sent before does not reach it.
    pub(super) promoted: u64,
    pub(crate) refusing: bool,
    pub(crate) hanging: bool,
    pub(crate) locked: bool,
    pub(crate) fenced: bool,
    pub(crate) slow: u64,
    /// Every state of the row with its start time, if a fault will look back.
    pub(super) history: Option<Vec<(u64, Leader)>>,
    pub(crate) done: Vec<Done>,
    /// Statements without further answers; they are removed once the checkers have judged them.
    pub(crate) spent: Vec<usize>,
    /// Parts of statements for many that the database has done with.
    pub(super) parts: Vec<usize>,
    /// The register's list of candidates.
    listed: Listed,
}

impl Database {
    pub(crate) fn new(schedule: &Schedule) -> Self {
        let looks_back = schedule.faults.iter().any(|fault| {
            matches!(
                fault.kind,
                FaultKind::Failover(_)
                    | FaultKind::Promote(..)
                    | FaultKind::Odds(StatementFault::Stale(_), _)
                    | FaultKind::Statement(_, _, StatementFault::Stale(_))
            )
        });
        Self {
            engine: schedule.engine,
            lock_timeout: schedule.lock_timeout.map(nanos),
            commit: between(schedule.commit),
            latency: between(schedule.latency),
            draw: Draw::new(schedule.seed),
            table: Table::new(),
            step_ms: BEGIN_MS,
            slots: Vec::new(),
            free: Vec::new(),
            staged: None,
            stagings: 0,
            waiting: VecDeque::new(),
            parked: Vec::new(),
            crashes: 0,
            promoted: 0,
            refusing: false,
            hanging: false,
            locked: false,
            fenced: false,
            slow: 0,
            history: looks_back.then(Vec::new),
            done: Vec::new(),
            spent: Vec::new(),
            parts: Vec::new(),
            listed: Listed::default(),
        }
    }

    /// What the database's clock reads.
    pub(crate) fn clock_ms(&self, now: u64) -> i64 {
        i64::try_from(now / 1_000_000).unwrap_or(i64::MAX).saturating_add(self.step_ms)
    }

    pub(crate) fn step_clock(&mut self, by_ms: i64) {
        self.step_ms = self.step_ms.saturating_add(by_ms);
    }

    pub(crate) fn accept(&mut self, statement: Statement) -> usize {
        if let Some(slot) = self.free.pop() {
            self.slots[slot] = Some(statement);
            return slot;
        }
        self.slots.push(Some(statement));
        self.slots.len() - 1
    }

    pub(crate) fn statement(&self, slot: usize) -> Option<&Statement> {
        self.slots.get(slot)?.as_ref()
    }

    /// Takes the next answer out of a statement.
    pub(crate) fn take_answer(&mut self, slot: usize) -> Option<Result<Answer, Failure>> {
        let statement = self.slots.get_mut(slot)?.as_mut()?;
        statement.replies -= 1;
        if statement.replies > 0 {
            return Some(statement.answer.clone());
        }
        Some(std::mem::replace(&mut statement.answer, Err(Failure::Ambiguous)))
    }

    /// Takes a statement whose answer is about to be delivered.
    pub(crate) fn take(&mut self, slot: usize) -> Option<Statement> {
        self.slots.get_mut(slot)?.take()
    }

    /// Forgets a statement, unless one of its answers is still to come.
    pub(crate) fn let_go(&mut self, slot: usize, statement: Statement) {
        if statement.replies == 0 {
            self.free.push(slot);
        } else {
            self.slots[slot] = Some(statement);
        }
    }

    fn forget(&mut self, slot: usize) {
        self.slots[slot] = None;
        self.free.push(slot);
    }

    /// Takes the part of a statement for many that the database has done with.
    pub(super) fn take_part(&mut self, slot: usize) -> Option<Statement> {
        let statement = self.take(slot)?;
        self.free.push(slot);
        Some(statement)
    }

    /// Forgets the statements without further answers.
    pub(crate) fn forget_spent(&mut self) {
        while let Some(slot) = self.spent.pop() {
            self.forget(slot);
        }
    }

    /// A statement has come over the network.
    pub(crate) fn arrive(&mut self, slot: usize, now: u64, queue: &mut Queue) {
        let clock_ms = self.clock_ms(now);
        let (refusing, hanging, crashes) = (self.refusing, self.hanging, self.crashes);
        let promoted = self.promoted;
        if self.staged.as_ref().is_some_and(|staged| staged.slot == NOBODY) {
            return queue.push(now + RECOVERY, Event::Own(Happening::Arrive(slot))); // closed
        }
        let Some(statement) = self.slots[slot].as_mut() else { return };
        statement.clock_ms = clock_ms;
        statement.began = now;
        statement.crashes = crashes;
        let failure = match statement.fault {
            _ if refusing => Some(Failure::Transient),
            Some(StatementFault::Refused) => Some(Failure::Transient),
            _ if statement.sent < promoted => Some(Failure::Ambiguous),
            Some(StatementFault::Fatal) => Some(Failure::Fatal),
            Some(StatementFault::Locked) => Some(Failure::Conflict),
            Some(StatementFault::Aborted) => Some(Failure::Ambiguous),
            _ => None,
        };
        if let Some(failure) = failure {
            return self.fail(slot, failure, now, queue);
        }
        if hanging {
            return self.parked.push(slot);
        }
        match statement.fault {
            Some(StatementFault::Stalled(by)) => {
                queue.push(now + nanos(by), Event::Own(Happening::Execute(slot)));
            }
            _ => self.execute(slot, now, queue),
        }
    }

    /// A statement executes: at once, or when it gets the lock.
    pub(crate) fn execute(&mut self, slot: usize, now: u64, queue: &mut Queue) {
        let Some(statement) = self.slots[slot].as_ref() else { return };
        if self.refusing || statement.crashes != self.crashes {
            return self.fail(slot, Failure::Ambiguous, now, queue);
        }
        if !self.must_wait(statement) {
            return self.perform(slot, now, queue);
        }
        if statement.part.is_some_and(|part| part.skips) {
            return self.skip(slot);
        }
        let answers_from_it = self.engine == Engine::Postgres;
        let snapshot = answers_from_it.then(|| Box::new(self.row(statement.clock_ms)));
        let nth = statement.nth;
        if let Some(statement) = self.slots[slot].as_mut() {
            statement.snapshot = snapshot;
        }
        self.waiting.push_back(slot);
        if let Some(timeout) = self.lock_timeout {
            queue.push(now + timeout, Event::Own(Happening::LockTimeout(slot, nth)));
        }
    }

    /// A part of a statement for many does not wait for a lock.
    fn skip(&mut self, slot: usize) {
        if let Some(part) = self.slots[slot].as_mut().and_then(|it| it.part.as_mut()) {
            part.skipped = true;
        }
        self.parts.push(slot);
    }

    fn row(&self, clock_ms: i64) -> Row {
        self.table.leader().row(&self.table.server(), clock_ms)
    }

    fn must_wait(&self, statement: &Statement) -> bool {
        let taken = self.locked || self.staged.is_some();
        if let Some(operation) = &statement.operation {
            // Nobody can lock a register.
            return operation.writes_leader() && self.staged.is_some();
        }
        match &statement.query {
            Query::Observe | Query::Others => false,
            Query::Register { .. } | Query::Unregister => {
                self.engine == Engine::Sqlite && (taken || self.fenced)
            }
            Query::Renew { .. } | Query::Resign { .. } => {
                taken || (self.fenced && self.engine == Engine::Sqlite)
            }
            Query::Attempt { ttl, clock_step, .. } if self.engine == Engine::Postgres => {
                let (asked, at) = ((*ttl, *clock_step), self.table.server());
                let free = self.table.leader().is_free(asked, &at, statement.clock_ms);
                (taken || self.fenced) && free
            }
            Query::Attempt { .. } | Query::TakeOver { .. } => taken || self.fenced,
        }
    }

    /// A statement has waited for the lock as long as the database allows.
    pub(crate) fn lock_timeout(&mut self, slot: usize, nth: u64, now: u64, queue: &mut Queue) {
        let same = self.statement(slot).is_some_and(|statement| statement.nth == nth);
        let place = self.waiting.iter().position(|waiting| *waiting == slot);
        if let Some(place) = place.filter(|_| same) {
            self.waiting.remove(place);
            self.fail(slot, Failure::Conflict, now, queue);
        }
    }

    pub(super) fn fail(&mut self, slot: usize, failure: Failure, now: u64, queue: &mut Queue) {
        if let Some(statement) = self.slots[slot].as_mut() {
            statement.answer = Err(failure);
        }
        self.reply(slot, now, queue);
    }

    fn perform(&mut self, slot: usize, now: u64, queue: &mut Queue) {
        if self.engine == Engine::Register {
            return self.operate(slot, now, queue);
        }
        let Some(statement) = self.slots[slot].as_mut() else { return };
        let (query, clock_ms, nth) = (&statement.query, statement.clock_ms, statement.nth);
        if matches!(query, Query::Register { .. } | Query::Unregister | Query::Others) {
            statement.answer = Ok(self.table.run(&statement.who, None, query, clock_ms));
            return self.reply(slot, now, queue);
        }
        if let (Query::Observe, Some(StatementFault::Stale(by))) = (query, statement.fault) {
            let then = now.saturating_sub(nanos(by));
            let blank = Leader::default();
            let leader = state_at(self.history.as_deref(), then, &blank);
            let row = leader.row(&self.table.server(), clock_ms);
            statement.answer = Ok(Answer::Seen(row));
            return self.reply(slot, now, queue);
        }
        if matches!(query, Query::Observe) {
            statement.answer = Ok(self.table.run(&statement.who, None, query, clock_ms));
            return self.reply(slot, now, queue);
        }
        // What is known of the server is written at once, and by a statement of its own.
        let mut server = self.table.server();
        if matches!(query, Query::Attempt { .. }) {
            server.found(clock_ms);
            self.table.set_server(server);
        }
        let before = Stand::of(self.table.leader(), &statement.who);
        let delay = self.draw.between(Stream::Commit, statement.node as u64, nth, self.commit);
        let phantom = statement.fault == Some(StatementFault::Phantom);
        let mut staged = (delay > 0 || phantom).then(|| self.table.leader().clone());
        let leader = staged.as_mut().unwrap_or_else(|| self.table.leader_mut());
        let answer = leader.run(&statement.who, None, query, &server, clock_ms);
        let after = Stand::of(leader, &statement.who);
        let raced = matches!(answer, Answer::Seen(_)).then(|| statement.snapshot.take()).flatten();
        statement.answer = Ok(raced.map_or(answer, |row| Answer::Seen(*row)));
        let wrote = before != after;
        match staged {
            Some(leader) if wrote && delay > 0 && !phantom => {
                self.stage((slot, leader, before), now + delay, queue);
            }
            _ if phantom => {
                self.recover(now, queue);
                self.reply(slot, now, queue);
            }
            _ => self.finish(slot, before, now, queue),
        }
    }

    /// An operation on a register executes.
    fn operate(&mut self, slot: usize, now: u64, queue: &mut Queue) {
        let Some(statement) = self.slots[slot].as_mut() else { return };
        let Some(operation) = &statement.operation else { return };
        statement.answer = Ok(Answer::Listed); // what it says is the reply
        if !operation.is_of_leader() {
            statement.reply = Some(self.listed.run(operation));
            return self.reply(slot, now, queue);
        }
        let before = Stand::of(self.table.leader(), &statement.who);
        let mut leader = match statement.fault {
            Some(StatementFault::Stale(by)) if !operation.writes_leader() => {
                let then = now.saturating_sub(nanos(by));
                state_at(self.history.as_deref(), then, &Leader::default()).clone()
            }
            _ => self.table.leader().clone(),
        };
        statement.reply = Some(operation.run(&mut leader));
        if !operation.writes_leader() || leader == *self.table.leader() {
            return self.reply(slot, now, queue);
        }
        let (node, nth) = (statement.node as u64, statement.nth);
        let delay = self.draw.between(Stream::Commit, node, nth, self.commit);
        self.stage((slot, leader, before), now + delay, queue);
    }

    /// A write is under way, and is committed at this time.
    fn stage(
        &mut self,
        (slot, leader, before): (usize, Leader, Stand),
        at: u64,
        queue: &mut Queue,
    ) {
        self.stagings += 1;
        self.staged = Some(Staged { id: self.stagings, slot, leader, before });
        queue.push(at, Event::Own(Happening::Commit(self.stagings)));
    }

    /// The write in progress is committed.
    pub(crate) fn commit(&mut self, id: u64, now: u64, queue: &mut Queue) {
        let Some(mut staged) = self.staged.take_if(|staged| staged.id == id) else { return };
        if self.engine == Engine::Register {
            staged.leader.lasts_from(self.clock_ms(now)); // it goes by no clock
        }
        *self.table.leader_mut() = staged.leader;
        self.finish(staged.slot, staged.before, now, queue);
        self.let_in(now, queue);
    }

    fn finish(&mut self, slot: usize, before: Stand, now: u64, queue: &mut Queue) {
        if let Some(history) = &mut self.history {
            history.push((now, self.table.leader().clone()));
        }
        let Some(statement) = self.slots.get_mut(slot).and_then(Option::as_mut) else { return };
        let after = Stand::of(self.table.leader(), &statement.who);
        self.done.push(Done { slot, before, after });
        if statement.fault == Some(StatementFault::Unknown) {
            statement.answer = Err(Failure::Ambiguous);
        }
        self.reply(slot, now, queue);
    }

    fn reply(&mut self, slot: usize, now: u64, queue: &mut Queue) {
        let Some(statement) = self.slots[slot].as_mut() else { return };
        if statement.part.is_some() {
            return self.parts.push(slot);
        }
        let late = match statement.fault {
            Some(StatementFault::Slow(by)) => nanos(by),
            _ => 0,
        };
        statement.replies = match statement.fault {
            Some(StatementFault::Unanswered) => 0,
            Some(StatementFault::Twice) => 2,
            _ => 1,
        };
        if statement.replies == 0 {
            self.spent.push(slot);
        }
        let (node, nth, replies) = (statement.node as u64, statement.nth, statement.replies);
        for copy in 0..replies {
            let place = nth ^ (u64::from(copy) << 56);
            let travel = self.draw.between(Stream::Reply, node, place, self.latency);
            queue.push(now + self.slow + late + travel, Event::Own(Happening::Deliver(slot)));
        }
    }

    /// Lets the statements that wait for the lock have it, in order, until one of them holds it.
    pub(crate) fn let_in(&mut self, now: u64, queue: &mut Queue) {
        for _ in 0..self.waiting.len() {
            let Some(slot) = self.waiting.pop_front() else { return };
            let waits = self.statement(slot).is_some_and(|statement| self.must_wait_on(statement));
            if waits {
                self.waiting.push_back(slot);
            } else {
                self.perform(slot, now, queue);
            }
        }
    }

    /// Whether a statement that already waits must go on waiting: it has chosen its row, and keeps
    /// it even if the row no longer looks free.
    fn must_wait_on(&self, statement: &Statement) -> bool {
        self.locked
            || self.staged.is_some()
            || (self.fenced
                && (self.engine == Engine::Sqlite
                    || !matches!(statement.query, Query::Renew { .. } | Query::Resign { .. })))
    }
}

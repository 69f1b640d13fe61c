//! Statements and their answers, notifications and writes: everything that travels.

use crate::{
    app::Write,
    check::{Answered, Scene, scene},
    database::nanos,
    draw::Stream,
    fault::{Fate, What},
    queue::Event,
    schedule::Engine,
    statement::Statement,
    world::World,
};
use election_core::{
    Epoch, Input, Timestamp,
    lease::{self, Answer, Failure, Query, Ticket},
};
use std::time::Duration;

impl World {
    pub(crate) fn ask(
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
            sent: self.now,
            began: 0,
            clock_ms: 0,
            crashes: 0,
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
            Duration::from_nanos(drawn)
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

    /// An answer arrives where the question came from, if anybody is still there.
    pub(crate) fn deliver(&mut self, slot: usize) {
        let Some(answer) = self.database.take_answer(slot) else { return };
        if let Some((node, ticket)) = self.receive(slot, &answer) {
            self.database.let_go(slot);
            self.input(node, Input::Event(lease::Event::Answer { ticket, result: answer }));
        } else {
            self.database.let_go(slot);
        }
    }

    /// Who takes an answer, if it gets through.
    fn receive(
        &mut self,
        slot: usize,
        answer: &Result<Answer, Failure>,
    ) -> Option<(usize, Ticket)> {
        let statement = self.database.statement(slot)?;
        let (node, ticket) = (statement.node, statement.ticket);
        let there = &self.nodes[node];
        if there.life != statement.life || there.lease.is_none() || there.replies_cut {
            return None;
        }
        let late = there.read(self.now) >= statement.deadline;
        // A driver may have dropped the question, and may not.
        if late && self.draw.chance(Stream::Late, node as u64, !statement.nth, 500_000) {
            return None;
        }
        self.trace.answered(self.now, statement, answer);
        let current = !late && !there.paused && there.ticket == Some(ticket);
        let scene = scene!(self);
        let answered = Answered {
            node,
            query: &statement.query,
            asked: statement.asked,
            current,
            result: answer,
        };
        self.checks.answered(&scene, &answered);
        Some((node, ticket))
    }

    /// Shows the checkers what statements did, and lets the database notify.
    pub(crate) fn judge_database(&mut self) {
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
        self.database.forget_spent();
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

    /// A write sets out for the resource.
    pub(crate) fn send_write(&mut self, node: usize, token: Epoch, what: String) {
        let there = &mut self.nodes[node];
        there.sent += 1;
        let (life, sent) = (there.life, there.sent);
        let write = Write { node, life, token, sent: Duration::from_nanos(self.now), what };
        let slot = self.free_writes.pop().unwrap_or_else(|| {
            self.writes.push(None);
            self.writes.len() - 1
        });
        let travel = self.draw.between(Stream::Act, node as u64, sent, self.act);
        self.writes[slot] = Some(write);
        self.queue.push(self.now + travel, Event::Write(slot));
    }

    pub(crate) fn arrive_write(&mut self, slot: usize) {
        let Some(write) = self.writes[slot].take() else { return };
        self.free_writes.push(slot);
        let served = self.resource.take(write.clone());
        self.trace.write_arrived(self.now, &write, served);
        if served && !self.rig.unfenced {
            let scene = scene!(self);
            let verdict = self.checks.served(&scene, &write);
            self.verdict(verdict);
        }
    }
}

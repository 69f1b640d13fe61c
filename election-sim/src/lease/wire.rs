//! Everything that travels to and from the database: statements, their answers, and notifications.

use super::{
    client::{Asked, Operation},
    environment::{Answered, Effect, LeaseEnvironment},
    happening::{Event, Happening},
    statement::Statement,
};
use crate::{
    draw::Stream,
    fault::{Fault, FaultKind, StatementFault},
    schedule::Engine,
    simulator::{CheckerSet, Simulator, WorldState, world_state},
    span::nanos,
};
use election_core::{
    Input,
    lease::{self, Answer, Failure, Query, Ticket},
};
use std::time::Duration;

impl Simulator<LeaseEnvironment> {
    pub(super) fn requested(&mut self, node: usize, query: &Query) {
        self.trace.asked(self.now, node, query);
        let world = world_state!(self);
        let verdict = self.checkers.asked(&world, node, query);
        self.verdict(verdict);
    }

    pub(super) fn ask(&mut self, node: usize, asked: Asked) {
        if self.schedule.engine == Engine::Register {
            self.ask_register(node, asked);
        } else {
            self.send(node, asked, None);
        }
    }

    /// Sends a statement, or an operation on a register.
    pub(super) fn send(&mut self, node: usize, asked: Asked, operation: Option<Operation>) {
        let Asked { ticket, query, asked, deadline } = asked;
        let there = &mut self.nodes[node];
        there.state.asked += 1;
        let (nth, cut) = (there.state.asked, there.state.requests_cut);
        let (life, who) = (there.life, there.state.candidate.clone());
        let mut statement = Statement {
            node,
            life,
            nth,
            who,
            ticket,
            query,
            asked,
            deadline,
            fault: None,
            sent: self.now,
            began: 0,
            clock_ms: 0,
            crashes: 0,
            snapshot: None,
            answer: Err(Failure::Ambiguous),
            replies: 0,
            part: None,
            operation,
            reply: None,
        };
        if let Some(shared) = &mut self.environment.asked {
            return shared.push(statement);
        }
        let fault = self.fault(node, nth);
        if cut || fault == Some(StatementFault::Lost) {
            return;
        }
        statement.fault = fault;
        let slot = self.environment.database.accept(statement);
        let late = match fault {
            Some(StatementFault::Late(by)) => nanos(by),
            _ => 0,
        };
        let travel = self.draw.between(Stream::Request, node as u64, nth, self.latency);
        let at = self.now + travel + late + self.environment.database.slow;
        self.queue.push(at, Event::Own(Happening::Arrive(slot)));
    }

    /// The fault of a statement: the schedule's fault for this very statement, or else one by
    /// chance.
    pub(super) fn fault(&mut self, node: usize, nth: u64) -> Option<StatementFault> {
        if self.schedule.faults.is_empty() {
            return None;
        }
        let explicit = self.schedule.faults.iter().find_map(|fault| match fault.kind {
            FaultKind::Statement(n, at, fault) if (n, at) == (node, nth) => Some(fault),
            _ => None,
        });
        if explicit.is_some() {
            return explicit;
        }
        let place = node as u64;
        let (_, fault, _) = *self.environment.odds.iter().find(|(index, _, ppm)| {
            self.draw.chance(Stream::Odds, place, (nth << 16) + *index as u64, *ppm)
        })?;
        let upto = |most| {
            let most = nanos(most);
            let drawn = self.draw.between(Stream::Late, place, nth, (most / 16, most));
            Duration::from_nanos(drawn)
        };
        let fault = fault.map_span(upto);
        let kind = FaultKind::Statement(node, nth, fault);
        self.chances.push(Fault { at: Duration::ZERO, lasts: Duration::ZERO, kind });
        Some(fault)
    }

    /// Delivers an answer to the process that asked, if it still exists.
    pub(super) fn deliver(&mut self, slot: usize) {
        let Some(answer) = self.environment.database.take_answer(slot) else { return };
        let Some(statement) = self.environment.database.take(slot) else { return };
        if statement.operation.is_some() {
            let reply = statement.reply.clone().ok_or(Failure::Ambiguous);
            self.operated(&statement, answer.and(reply));
            return self.environment.database.let_go(slot, statement);
        }
        let receiver = self.receive(&statement, &answer);
        self.environment.database.let_go(slot, statement);
        if let Some((node, ticket)) = receiver {
            self.input(node, Input::Event(lease::Event::Answer { ticket, result: answer }));
        }
    }

    /// The same for an answer that came over a shared connection.
    pub(super) fn hand_over(&mut self, statement: &Statement, result: Result<Answer, Failure>) {
        if let Some((node, ticket)) = self.receive(statement, &result) {
            self.input(node, Input::Event(lease::Event::Answer { ticket, result }));
        }
    }

    /// The process that takes an answer, if the answer gets through.
    pub(super) fn receive(
        &mut self,
        statement: &Statement,
        answer: &Result<Answer, Failure>,
    ) -> Option<(usize, Ticket)> {
        let (node, ticket) = (statement.node, statement.ticket);
        let there = &self.nodes[node];
        if there.life != statement.life || there.machine.is_none() || there.state.replies_cut {
            return None;
        }
        if let Some(service) = &self.services[node] {
            let result = answer.clone();
            if !service.awaits(&lease::Event::Answer { ticket, result }) {
                return None;
            }
        }
        let late = there.read(self.now) >= statement.deadline;
        // A driver may have dropped the question, or not. A real one decides by itself.
        let modelled = self.services[node].is_none();
        if modelled && late && self.draw.chance(Stream::Late, node as u64, !statement.nth, 500_000)
        {
            return None;
        }
        self.trace.answered(self.now, statement, answer);
        let current = !late && !there.paused && there.state.ticket == Some(ticket);
        let world = world_state!(self);
        let answered = Answered {
            node,
            query: &statement.query,
            asked: statement.asked,
            current,
            result: answer,
        };
        self.checkers.heard(&world, &answered);
        Some((node, ticket))
    }

    /// Shows the checkers what statements did, and lets the database notify.
    pub(super) fn judge_database(&mut self) {
        if self.environment.database.done.is_empty() && self.environment.database.spent.is_empty() {
            return;
        }
        let mut done = std::mem::take(&mut self.environment.database.done);
        for done in done.drain(..) {
            let Some(statement) = self.environment.database.statement(done.slot) else { continue };
            let world = world_state!(self);
            let verdict = self.checkers.done(&world, &Effect { statement, done: &done });
            let resigned = matches!(statement.query, Query::Resign { .. });
            if done.before != done.after {
                self.trace.wrote(self.now, statement.node, done.after.term, done.after.held);
            }
            self.verdict(verdict);
            if self.schedule.engine == Engine::Register {
                if done.before != done.after {
                    self.tell_everybody(|node, life| Happening::Woken { node, life });
                }
            } else if resigned && done.before.held && !done.after.held {
                let epoch = done.before.term;
                self.tell_everybody(|node, life| Happening::Resigned { node, life, epoch });
            }
        }
        self.environment.database.done = done;
        self.environment.database.forget_spent();
    }

    /// Sends a notification to every process, if the engine has notifications.
    pub(super) fn tell_everybody(&mut self, what: impl Fn(usize, u32) -> Happening) {
        if !self.schedule.engine.notifies() || self.environment.deaf {
            return;
        }
        self.environment.notices += 1;
        for node in 0..self.nodes.len() {
            let nth = self.environment.notices;
            let travel = self.draw.between(Stream::Notice, node as u64, nth, self.latency);
            let life = self.nodes[node].life;
            self.queue.push(self.now + travel, Event::Own(what(node, life)));
        }
    }
}

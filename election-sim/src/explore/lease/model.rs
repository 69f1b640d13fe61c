//! The lease as a model: real machines, the real table, and everything that can happen between
//! them.

use super::{
    facts::ProcessFacts,
    names::{Cast, place},
    parts::Parts,
    process::Process,
    row::Row,
    scope::{Scope, ScopeError},
    state::State,
    statement::{Phase, Statement, StatementFacts, plain},
};
use crate::explore::{books::step, memo::Memo, model::Broken};
use election_core::{
    Epoch, Input, Random,
    lease::{Config, Event, Failure, Surroundings, Ticket},
};
use std::time::Duration;

/// The lease in one scope.
pub struct Lease {
    pub(super) scope: Scope,
    pub(super) config: Config,
    pub(super) around: Surroundings,
    pub(super) cast: Cast,
    /// By rate: how much of its own time passes for a clock in one unit.
    pub(super) steps: Vec<Duration>,
    pub(super) processes: Parts<Process>,
    pub(super) statements: Parts<Statement>,
    pub(super) rows: Parts<Row>,
    /// What a process does, by the input it is told.
    stepped: Memo,
    did: Vec<Result<Did, Broken>>,
    executed: Memo,
    effects: Vec<Result<(u32, u32), Broken>>,
    abandoned: Memo,
    pub(super) aged: [Memo; 3],
    pub(super) broken: Vec<Broken>,
}

/// The result of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Did {
    pub(super) process: u32,
    /// The statement that the process sends; zero for none.
    pub(super) query: u32,
    /// The epoch that the process begins to lead; zero for none.
    elected: u8,
    pub(super) awaits: bool,
}

/// Inputs of a process other than answers: numbers that no statement has.
pub(super) mod told {
    pub(crate) const TICK: u32 = u32::MAX;
    pub(crate) const RESIGN: u32 = u32::MAX - 1;
    pub(crate) const STOPPED: u32 = u32::MAX - 2;
    pub(crate) const WITHDRAW: u32 = u32::MAX - 3;
    pub(crate) const ILL: u32 = u32::MAX - 4;
    pub(crate) const WELL: u32 = u32::MAX - 5;
    pub(crate) const WAKE: u32 = u32::MAX - 6;
    pub(crate) const START: u32 = u32::MAX - 7;
    pub(crate) const CRASH: u32 = u32::MAX - 8;
    pub(crate) const RUMOUR: u32 = u32::MAX - 9;
}

/// Added to a statement's number: the sender learns that the statement has failed.
pub(super) const FAILED: u32 = 1 << 31;
/// Added to a statement's number: the sender learns that the outcome is unknown.
pub(super) const UNKNOWN: u32 = 1 << 30;
/// The number of no statement.
pub(super) const GONE: u32 = 0;

impl Lease {
    /// The model of this scope.
    ///
    /// # Errors
    /// If the world is impossible, or the model cannot hold it.
    pub fn new(scope: Scope) -> Result<Self, ScopeError> {
        let config = scope.config()?;
        let steps = scope.rates.iter().map(|ppm| step(scope.unit, *ppm));
        Ok(Self {
            config,
            around: Surroundings {
                draws: Random::constant(0),
                list: false,
                row_loss: false,
                clock_back: scope.often.back > 0 || !scope.clock_step().is_zero(),
            },
            cast: Cast::new(scope.nodes),
            steps: steps.collect(),
            processes: Parts::new(),
            statements: Parts::new(),
            rows: Parts::new(),
            stepped: Memo::default(),
            did: Vec::new(),
            executed: Memo::default(),
            effects: Vec::new(),
            abandoned: Memo::default(),
            aged: Default::default(),
            broken: Vec::new(),
            scope,
        })
    }

    /// How many different processes, statements and rows the search has met.
    #[must_use]
    pub fn parts(&self) -> [usize; 3] {
        [self.processes.len(), self.statements.len(), self.rows.len()]
    }

    pub(super) fn process(&mut self, process: Process) -> u32 {
        let unit = self.steps[usize::from(process.rate)];
        let around = &self.around;
        let facts = |part: &Process| part.facts(unit, around);
        self.processes.number(process, self.scope.nodes, &self.cast, facts)
    }

    pub(super) fn statement(&mut self, statement: Option<Statement>) -> u32 {
        let Some(statement) = statement else { return GONE };
        self.statements.number(statement, self.scope.nodes, &self.cast, Statement::facts)
    }

    pub(super) fn row(&mut self, row: Row) -> u32 {
        let unit_ms = self.unit_ms();
        self.rows.number(row, self.scope.nodes, &self.cast, |row| row.facts(unit_ms))
    }

    pub(super) fn unit_ms(&self) -> i64 {
        ms(self.scope.unit)
    }

    /// After how long a history outlasts all that an earlier one has granted.
    pub(super) fn proof_ms(&self) -> i64 {
        ms(self.config.ttl().max(self.config.at_least_for()) + self.scope.clock_step())
    }

    pub(super) fn longest_ms(&self) -> i64 {
        self.unit_ms() * i64::from(self.scope.lock_wait)
    }

    pub(super) fn node(&self, state: &State, node: u8) -> ProcessFacts {
        self.processes.facts(state.nodes[usize::from(node)]).own
    }

    pub(super) fn slot(&self, state: &State, slot: u8) -> Option<StatementFacts> {
        let number = state.statements[usize::from(slot)];
        (number != GONE).then(|| self.statements.facts(number).own)
    }

    /// What a process does when it gets an input: an answer, or one of [`told`].
    pub(super) fn did(&mut self, process: u32, told: u32) -> Result<Did, Broken> {
        if let Some(known) = self.stepped.get(process, told) {
            return self.did[known as usize].clone();
        }
        let did = self.work_out(process, told);
        let known = u32::try_from(self.did.len()).unwrap_or(u32::MAX);
        self.did.push(did.clone());
        self.stepped.set(process, told, known);
        did
    }

    /// The same, if it was computed before.
    pub(super) fn known(&self, process: u32, told: u32) -> Option<&Did> {
        let known = self.stepped.get(process, told)?;
        self.did[known as usize].as_ref().ok()
    }

    fn work_out(&mut self, process: u32, told: u32) -> Result<Did, Broken> {
        let mut there = self.processes.get(process).clone();
        let input = match told {
            told::START => {
                let (node, life) = place(&there.who);
                there.start(self.cast.of(node, life + 1), &self.config, &self.around);
                Input::Tick
            }
            told::CRASH => {
                there.life = None;
                let process = self.process(there);
                return Ok(Did { process, query: GONE, elected: 0, awaits: false });
            }
            told::TICK => Input::Tick,
            told::RESIGN => Input::Resign,
            told::STOPPED => Input::Stopped(there.work().map_or(Epoch::NONE, |work| work.epoch)),
            told::WITHDRAW => Input::Withdraw,
            told::ILL => Input::Event(Event::Health(false)),
            told::WELL => Input::Event(Event::Health(true)),
            told::WAKE => Input::Event(Event::Wake),
            told::RUMOUR => Input::Event(Event::Resigned(there.follows())),
            answer => {
                let statement = self.statements.get(answer & !(FAILED | UNKNOWN));
                let ticket = there.life.as_ref().map(|life| life.ticket(statement.current));
                let result = match &statement.phase {
                    _ if answer & FAILED != 0 => Err(Failure::Transient),
                    Phase::Answered(result) if answer & UNKNOWN == 0 => result.clone(),
                    _ => Err(Failure::Ambiguous),
                };
                let ticket = ticket.unwrap_or(Ticket::NONE);
                Input::Event(Event::Answer { ticket, result })
            }
        };
        let stepped = there.step(input, &self.around)?;
        let sent = stepped.query.map(|query| Statement {
            who: there.who.clone(),
            current: true,
            phase: Phase::Sent(plain(query)),
        });
        let elected = stepped.elected.map_or(0, |epoch| u8::try_from(epoch.get()).unwrap_or(255));
        let query = self.statement(sent);
        let process = self.process(there);
        Ok(Did { process, query, elected, awaits: stepped.awaits })
    }

    /// Gives an input to a process, with everything that follows at the same instant.
    pub(super) fn tell(&mut self, state: &State, node: u8, told: u32) -> Result<State, Broken> {
        let mut next = *state;
        let here = usize::from(node);
        let did = self.did(state.nodes[here], told)?;
        next.nodes[here] = did.process;
        if did.query != GONE || !did.awaits {
            self.abandon(&mut next, node);
        }
        if did.query != GONE {
            let free = next.statements.iter().position(|number| *number == GONE);
            next.statements[free.unwrap_or(0)] = did.query;
        }
        if !self.processes.facts(did.process).own.runs {
            self.forget_answers(&mut next);
            next.paused &= !(1 << node);
        }
        if did.elected > 0 {
            if did.elected <= next.led && !self.scope.is_beyond() {
                let (led, epoch) = (next.led, did.elected);
                return Err(Broken::new(
                    "tokens-increase",
                    format_args!("{epoch} is led after {led}"),
                ));
            }
            next.led = next.led.max(did.elected);
        }
        self.dense(&mut next);
        self.exclusion(&next)?;
        Ok(next)
    }

    /// The process on this node no longer waits for an answer.
    fn abandon(&mut self, state: &mut State, node: u8) {
        for slot in 0..state.statements.len() {
            let number = state.statements[slot];
            if number == GONE {
                continue;
            }
            let facts = self.statements.facts(number).own;
            if facts.node == node && facts.current {
                state.statements[slot] = self.abandoned(number);
            }
        }
    }

    pub(super) fn abandoned(&mut self, number: u32) -> u32 {
        if let Some(known) = self.abandoned.get(number, 0) {
            return known;
        }
        let statement = self.statements.get(number).abandoned();
        let to = self.statement(statement);
        self.abandoned.set(number, 0, to);
        to
    }

    /// Drops the answers to a process that has ended.
    pub(super) fn forget_answers(&self, state: &mut State) {
        for number in &mut state.statements {
            if *number == GONE {
                continue;
            }
            let facts = self.statements.facts(*number).own;
            let node = self.processes.facts(state.nodes[usize::from(facts.node)]).own;
            if facts.answered && (!node.runs || node.life != facts.life) {
                *number = GONE;
            }
        }
    }

    pub(super) fn execute(&mut self, state: &State, slot: u8) -> Result<State, Broken> {
        let here = usize::from(slot);
        let (row, number) = (state.row, state.statements[here]);
        let known = match self.executed.get(row, number) {
            Some(known) => known,
            None => {
                let mut to = self.rows.get(row).clone();
                let answered = self.statements.get(number).execute(&mut to);
                let effect = answered.map(|answered| {
                    let kept = if answered.current { Some(answered) } else { answered.abandoned() };
                    (self.row(to), self.statement(kept))
                });
                self.effects.push(effect);
                let known = u32::try_from(self.effects.len() - 1).unwrap_or(u32::MAX);
                self.executed.set(row, number, known);
                known
            }
        };
        let (to, answer) = self.effects[known as usize].clone()?;
        let mut next = *state;
        next.row = to;
        next.statements[here] = answer;
        self.forget_answers(&mut next);
        if self.rows.get(to).leader != self.rows.get(row).leader && !self.scope.is_beyond() {
            self.covered(&next)?;
        }
        self.dense(&mut next);
        Ok(next)
    }

    /// As long as the holder's work may run, its lease has not ended.
    fn covered(&self, state: &State) -> Result<(), Broken> {
        let row = self.rows.facts(state.row).own;
        let Some((node, life)) = row.holder else { return Ok(()) };
        let there = self.node(state, node);
        match there.work {
            Some((epoch, stops)) if there.life == life && epoch == row.term && stops > row.ends => {
                let late = stops - row.ends;
                Err(Broken::new(
                    "row-outlasts-work",
                    format_args!("node {node} may work {late} too long"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// At most one process may work.
    pub(super) fn exclusion(&self, state: &State) -> Result<(), Broken> {
        if self.scope.is_beyond() {
            return Ok(());
        }
        let nodes = &state.nodes[..self.scope.nodes];
        let works = |number: &&u32| self.processes.facts(**number).own.works;
        if nodes.iter().filter(works).count() <= 1 {
            return Ok(());
        }
        let who = |number: &u32| self.processes.facts(*number).own.work.map(|work| work.0);
        let epochs: Vec<_> = nodes.iter().map(who).collect();
        Err(Broken::new("exclusion", format_args!("two may act; by node, on {epochs:?}")))
    }
}

/// In whole milliseconds.
pub(super) fn ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

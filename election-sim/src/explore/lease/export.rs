//! Turns a counterexample into a schedule that the simulator plays.
//!
//! The model calls processes at whole units of time and freely decides the fate of each statement.
//! A schedule has latencies, random delays, and faults. So in the schedule every node stands still
//! except for a moment after each unit, statements travel in no time, and the fate that a statement
//! had in the model becomes a fault of that very statement. The model can do some things that a
//! schedule cannot express, for example a statement that arrives late *and* is answered late. So
//! the exporter plays the schedule. It exports only a schedule that shows the same violation,
//! shrunk as far as possible.

use super::{
    model::{GONE, Lease, ms, told},
    names::MOST_NODES,
    scope::SLOTS,
    state::{Move, State},
};
use crate::{
    Fault, FaultKind,
    explore::{
        Counterexample, Model as _,
        exported::{Exported, first},
    },
    fault::StatementFault,
    schedule::{Engine, Member, Schedule},
    span::DurationRange,
    text::node_name,
    trace::LineKind,
    workload::Workload,
};
use std::{sync::Arc, time::Duration};

/// Looks for a schedule that shows the violation of a counterexample.
///
/// The model draws no delays and a world does, so the exporter tries seeds until one draws short
/// delays where they matter.
pub fn export(model: &mut Lease, found: &Counterexample<Move>) -> Exported {
    let recording = Recording::of(model, found);
    let paces = [
        Pace { offset: LATEST, pauses: true },
        Pace { offset: Duration::ZERO, pauses: true },
        Pace { offset: Duration::ZERO, pauses: false },
    ];
    let tries = (0..SEEDS).flat_map(|seed| paces.map(|pace| (seed, pace)));
    let schedules = tries.filter_map(|(seed, pace)| recording.schedule(model, pace, seed));
    first(schedules, &found.broken)
}

/// The longest delay that the machine draws for a lease of the shortest ttl.
const LATEST: Duration = Duration::from_millis(2);
/// The time between two things that happen at one instant of the model.
const APART: Duration = Duration::from_micros(10);
const SEEDS: u64 = 2_000;

/// How model time becomes true time.
#[derive(Clone, Copy)]
struct Pace {
    /// Instants of the model happen this much later, after all random delays have passed.
    offset: Duration,
    /// Nodes stand still between instants.
    pauses: bool,
}

/// When something happened: the number of units, and the number of earlier things at that instant.
type When = (u32, u32);

#[derive(Clone, Debug)]
struct Asked {
    node: usize,
    at: When,
    begun: Option<When>,
    executed: Option<When>,
    answered: Option<When>,
    fault: Option<StatementFault>,
}

/// What happened to which node, and when.
struct Recording {
    start: State,
    asked: Vec<Asked>,
    faults: Vec<(When, Option<When>, FaultKind)>,
    end: When,
    /// Since when nothing reaches the replica.
    behind: Option<When>,
}

impl Recording {
    fn of(model: &mut Lease, found: &Counterexample<Move>) -> Self {
        let start = model.starts()[found.start];
        let mut recording =
            Self { start, asked: Vec::new(), faults: Vec::new(), end: (0, 0), behind: None };
        let mut state = start;
        let mut under_way = [None; SLOTS];
        for what in &found.path {
            recording.write_down(model, &state, *what, &mut under_way);
            match *what {
                Move::Pass(units) => recording.end = (recording.end.0 + u32::from(units), 0),
                _ => recording.end.1 += 1,
            }
            let Ok(next) = model.after(&state, what) else { break };
            recording.look(model, (&state, &next), *what, &mut under_way);
            state = next;
        }
        recording
    }

    /// Records what a move does to statements under way, and which fault this is.
    fn write_down(
        &mut self,
        model: &Lease,
        state: &State,
        what: Move,
        under_way: &mut [Option<usize>; SLOTS],
    ) {
        let now = self.end;
        let at = |slot: u8| usize::from(slot);
        let ends = |slot: u8, under_way: &mut [Option<usize>; SLOTS]| under_way[at(slot)].take();
        match what {
            Move::Execute(slot) => self.note(under_way[at(slot)], |asked| asked.executed = Some(now)),
            Move::Begin(slot) => self.note(under_way[at(slot)], |asked| asked.begun = Some(now)),
            Move::Deliver(slot) => {
                self.note(ends(slot, under_way), |asked| asked.answered = Some(now));
            }
            Move::DeliverTwice(slot) => self.note(under_way[at(slot)], |asked| {
                asked.answered = Some(now);
                asked.fault = Some(StatementFault::Twice);
            }),
            Move::Fail(slot) => {
                self.note(ends(slot, under_way), |asked| asked.fault = Some(StatementFault::Refused));
            }
            Move::Doubt(slot) => {
                let answered = model.slot(state, slot).is_some_and(|there| there.answered);
                let fault = if answered { StatementFault::Unknown } else { StatementFault::Aborted };
                self.note(ends(slot, under_way), |asked| asked.fault = Some(fault));
            }
            Move::Lose(slot) => {
                ends(slot, under_way);
            }
            Move::Crash(node) => self.begins(FaultKind::Crash(node.into())),
            Move::Withdraw(node) => self.begins(FaultKind::Withdraw(node.into())),
            Move::Start(node) => self.ends(|fault| {
                matches!(fault, FaultKind::Crash(n) | FaultKind::Withdraw(n) if *n == usize::from(node))
            }),
            Move::Health(node, false) => self.begins(FaultKind::Unhealthy(node.into())),
            Move::Health(node, true) => {
                self.ends(|fault| *fault == FaultKind::Unhealthy(node.into()));
            }
            Move::Resign(node) => self.begins(FaultKind::Resign(node.into())),
            Move::Wake(node) | Move::Rumour(node) => {
                self.begins(FaultKind::Storm(node.into()));
                self.ends(|fault| *fault == FaultKind::Storm(node.into()));
            }
            Move::Pause(node) => self.begins(FaultKind::Pause(node.into())),
            Move::Resume(node) => self.ends(|fault| *fault == FaultKind::Pause(node.into())),
            Move::Stopped(node) => self.ends(|fault| *fault == FaultKind::Stuck(node.into())),
            Move::Request => self.begins(FaultKind::AskResign),
            Move::Back | Move::Ahead => {
                let half = i64::try_from(model.config.ttl().as_millis() / 2).unwrap_or(0);
                self.begins(FaultKind::Step(if what == Move::Back { -half } else { half }));
            }
            Move::Behind => self.behind = Some(now),
            Move::Promote(leases) => {
                let from = self.behind.unwrap_or(now);
                let ends = model.scope.unit * now.0 + APART * now.1;
                let behind = ends.saturating_sub(model.scope.unit * from.0 + APART * from.1);
                let ahead_ms = i64::from(leases) * ms(model.config.ttl());
                self.begins(FaultKind::Promote(behind, ahead_ms));
            }
            Move::Tick(_) | Move::Pass(_) => {}
        }
    }

    /// Records what became different: a question was asked, or work has to stop.
    fn look(
        &mut self,
        model: &Lease,
        (before, after): (&State, &State),
        what: Move,
        under_way: &mut [Option<usize>; SLOTS],
    ) {
        for (slot, number) in after.statements.iter().enumerate() {
            if *number == GONE {
                under_way[slot] = None;
            }
        }
        let Some((node, told)) = told_by(model, before, what) else { return };
        let asks =
            model.known(before.nodes[usize::from(node)], told).is_some_and(|did| did.query != GONE);
        let mut slots = 0..u8::try_from(SLOTS).unwrap_or(0);
        let current = slots.find(|slot| {
            model.slot(after, *slot).is_some_and(|there| there.node == node && there.current)
        });
        if let (true, Some(slot)) = (asks, current) {
            under_way[usize::from(slot)] = Some(self.asked.len());
            let at = (self.end.0, self.end.1 - 1);
            let node = usize::from(node);
            self.asked.push(Asked {
                node,
                at,
                begun: None,
                executed: None,
                answered: None,
                fault: None,
            });
        }
        let stops = |state: &State| model.node(state, node).stops;
        if stops(after) && !stops(before) {
            self.begins(FaultKind::Stuck(node.into()));
        }
    }

    fn note(&mut self, asked: Option<usize>, change: impl FnOnce(&mut Asked)) {
        if let Some(asked) = asked.and_then(|asked| self.asked.get_mut(asked)) {
            change(asked);
        }
    }

    fn begins(&mut self, what: FaultKind) {
        self.faults.push((self.end, None, what));
    }

    fn ends(&mut self, is: impl Fn(&FaultKind) -> bool) {
        let end = self.end;
        let open =
            |(_, ends, what): &&mut (When, Option<When>, FaultKind)| ends.is_none() && is(what);
        if let Some((_, ends, _)) = self.faults.iter_mut().rev().find(open) {
            *ends = Some(end);
        }
    }

    /// The schedule. It gives the fate of every question to the question's number in the simulated
    /// world, where processes also register on the list of candidates.
    fn schedule(&self, model: &Lease, pace: Pace, seed: u64) -> Option<Schedule> {
        let mut schedule = Schedule { seed, ..self.bare(model, pace) };
        let mut asked_before = [0_usize; MOST_NODES];
        for asked in &self.asked {
            let nth = asked_before[asked.node];
            asked_before[asked.node] += 1;
            let Some(fault) = asked.fault(|when| self.true_time(model, pace, when)) else {
                continue;
            };
            let number = number_in_the_world(&schedule, pace, asked.node, nth)?;
            let what = FaultKind::Statement(asked.node, number, fault);
            schedule.faults.push(Fault { at: Duration::ZERO, lasts: Duration::ZERO, kind: what });
        }
        Some(schedule)
    }

    fn true_time(&self, model: &Lease, pace: Pace, (units, nth): When) -> Duration {
        model.scope.unit * units + pace.offset + APART * nth
    }

    /// The schedule without the fates of statements.
    fn bare(&self, model: &Lease, pace: Pace) -> Schedule {
        let nodes = model.scope.nodes;
        let horizon = self.true_time(model, pace, (self.end.0, self.end.1 + 2));
        let mut faults = Vec::new();
        for node in 0..nodes {
            if pace.offset > Duration::ZERO {
                // The node's first life ends before anything happens.
                let crash = FaultKind::Crash(node);
                faults.push(Fault { at: Duration::ZERO, lasts: pace.offset, kind: crash });
                let lost = FaultKind::Statement(node, 1, StatementFault::Lost);
                faults.push(Fault { at: Duration::ZERO, lasts: Duration::ZERO, kind: lost });
            }
            if pace.pauses {
                for unit in 0..self.end.0 {
                    let from = self.true_time(model, pace, (unit, 99));
                    let to = self.true_time(model, pace, (unit + 1, 0));
                    faults.push(Fault { at: from, lasts: to - from, kind: FaultKind::Pause(node) });
                }
            }
        }
        for (from, to, what) in &self.faults {
            let at = self.true_time(model, pace, *from);
            let to = to.map_or(horizon + model.scope.unit, |to| self.true_time(model, pace, to));
            faults.push(Fault {
                at,
                lasts: to.saturating_sub(at).max(Duration::from_nanos(1)),
                kind: what.clone(),
            });
        }
        let member = |node: usize| {
            let rate = model.processes.get(self.start.nodes[node]).rate;
            Member { ppm: model.scope.rates[usize::from(rate)], ..Member::new(&node_name(node)) }
        };
        Schedule {
            engine: Engine::MySql,
            timing: model.scope.timing.clone(),
            nodes: (0..nodes).map(member).collect(),
            latency: DurationRange::exactly(Duration::ZERO),
            faults,
            horizon,
            ..Schedule::calm(nodes, model.scope.timing.ttl)
        }
    }
}

/// The number that a node's `nth` question of the model has in the simulated world. There every node
/// asks as the world begins, too, whose machine joins the model later.
fn number_in_the_world(schedule: &Schedule, pace: Pace, node: usize, nth: usize) -> Option<u64> {
    let before = usize::from(!pace.offset.is_zero());
    let lines = schedule.narrate(&Arc::new(Workload::default())).ok()?.1;
    let asked = lines.iter().filter(|line| line.node == Some(node) && line.kind == LineKind::Asked);
    let mut polls = asked.enumerate().filter(|(_, line)| !line.text.contains("register"));
    let (place, _) = polls.nth(before + nth)?;
    u64::try_from(place + 1).ok()
}

impl Asked {
    /// The fault of this question, unless it was executed and answered at the instant it was asked.
    fn fault(&self, time: impl Fn(When) -> Duration) -> Option<StatementFault> {
        if self.fault.is_some() {
            return self.fault;
        }
        let Some(executed) = self.executed else { return Some(StatementFault::Lost) };
        if let Some(begun) = self.begun {
            return Some(StatementFault::Stalled(time(executed).saturating_sub(time(begun))));
        }
        let Some(answered) = self.answered else {
            let late = executed.0 > self.at.0;
            let by = time(executed).saturating_sub(time(self.at));
            return Some(if late { StatementFault::Late(by) } else { StatementFault::Unanswered });
        };
        if executed.0 > self.at.0 || executed.1 > self.at.1 + 1 {
            return Some(StatementFault::Late(time(executed).saturating_sub(time(self.at))));
        }
        let slow = answered.0 > executed.0 || answered.1 > executed.1 + 1;
        slow.then(|| StatementFault::Slow(time(answered).saturating_sub(time(executed))))
    }
}

/// The process that a move concerns, and what the process is told.
fn told_by(model: &Lease, state: &State, what: Move) -> Option<(u8, u32)> {
    use super::model::{FAILED, UNKNOWN};
    let of = |slot: u8, failed: u32| {
        let node = model.slot(state, slot)?.node;
        Some((node, state.statements[usize::from(slot)] | failed))
    };
    match what {
        Move::Tick(node) => Some((node, told::TICK)),
        Move::Stopped(node) => Some((node, told::STOPPED)),
        Move::Start(node) => Some((node, told::START)),
        Move::Crash(node) => Some((node, told::CRASH)),
        Move::Resign(node) => Some((node, told::RESIGN)),
        Move::Withdraw(node) => Some((node, told::WITHDRAW)),
        Move::Health(node, false) => Some((node, told::ILL)),
        Move::Health(node, true) => Some((node, told::WELL)),
        Move::Wake(node) => Some((node, told::WAKE)),
        Move::Rumour(node) => Some((node, told::RUMOUR)),
        Move::Deliver(slot) | Move::DeliverTwice(slot) => of(slot, 0),
        Move::Fail(slot) => of(slot, FAILED),
        Move::Doubt(slot) => of(slot, UNKNOWN),
        _ => None,
    }
}

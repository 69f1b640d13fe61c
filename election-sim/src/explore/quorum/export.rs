//! Turns a counterexample into a schedule that the simulator plays.
//!
//! The model calls processes at whole units of time, one after the other, and hands frames in one
//! by one. So in the schedule every node stands still except for a moment where the model calls it,
//! and every way is clogged except for one frame where the model delivers one. Everything else that
//! the model does is a fault. Instants are a little more than a unit apart, by more than the time
//! that the events at one instant take. So whatever ends a number of units after an event in the
//! model has also ended in the world.
//!
//! In the model all members know each other's protocol from the start. In a schedule they have to
//! greet each other first. So once every connection is made, the first frame passes on every way,
//! all at the same moment: each leaves before its sender has heard anybody. A frame that only
//! greets reaches no machine. What follows from the greetings, an answer and the last heartbeat
//! once more, waits behind the clog, where the next heartbeat replaces it. So the first unit begins
//! as in the model. A process that starts later greets while the moves go on.
//!
//! A schedule cannot express everything: a lost frame broke a connection, a newer offer does not
//! replace an older one that waits, and chance decides whether a save succeeded. So the exporter
//! plays the schedule under some seeds. It exports only a schedule that shows the same violation,
//! shrunk as far as possible.

use super::{
    model::Quorum,
    state::{Crash, MOST_NODES, Move, Place, State, ends},
};
use crate::{
    Fault, FaultKind,
    explore::{
        Counterexample, Model as _,
        exported::{Exported, first},
    },
    fault::{DiskFault, SaveFault},
    schedule::Cluster,
    schedule::{Member, Schedule},
    span::DurationRange,
};
use std::time::Duration;

/// Looks for a schedule that shows the violation of a counterexample.
pub fn export(model: &mut Quorum, found: &Counterexample<Move>) -> Exported {
    let recording = Recording::of(model, found);
    let schedule = recording.schedule(model);
    first((0..SEEDS).map(|seed| Schedule { seed, ..schedule.clone() }), &found.broken)
}

const SEEDS: u64 = 64;
/// The time between two things that happen at one instant of the model.
const APART: Duration = Duration::from_micros(6);
/// By how much the time between two instants exceeds a unit.
const MORE: Duration = Duration::from_micros(700);
/// How much earlier a process starts, to be connected in time.
const DIALS: Duration = Duration::from_millis(200);

/// What happened to which node, and when.
struct Recording {
    clocks: usize,
    /// The moments in which each node does not stand still.
    calls: [Vec<Duration>; MOST_NODES],
    faults: Vec<(Duration, Option<Duration>, FaultKind)>,
    /// The number of units that have passed, and of events since then.
    now: (u32, u32),
    unit: Duration,
}

impl Recording {
    fn of(model: &mut Quorum, found: &Counterexample<Move>) -> Self {
        let mut state = model.starts()[found.start];
        let mut recording = Self {
            clocks: usize::from(state.clocks),
            calls: Default::default(),
            faults: Vec::new(),
            now: (0, 1),
            unit: model.scope.unit + MORE,
        };
        recording.greet(model.scope.nodes);
        for what in &found.path {
            recording.now.1 += 1;
            recording.write_down(model, &state, *what);
            let Ok(next) = model.after(&state, what) else { break };
            recording.look(model, &state, &next);
            state = next;
        }
        // Every node looks at its clock once more.
        for node in 0..model.count() {
            recording.now.1 += 1;
            recording.call(node);
        }
        recording
    }

    /// Lets all nodes greet each other. The greetings cross: one that followed another would be a
    /// heartbeat in full, which the model does not have yet.
    fn greet(&mut self, nodes: usize) {
        let now = self.time();
        for (from, to) in (0..6).map(ends) {
            let (from, to) = (usize::from(from), usize::from(to));
            if from.max(to) < nodes {
                self.faults.push((now - APART / 2, Some(now), FaultKind::Pass(from, to)));
            }
        }
    }

    fn time(&self) -> Duration {
        self.unit * self.now.0 + APART * self.now.1
    }

    fn call(&mut self, node: u8) {
        let now = self.time();
        self.calls[usize::from(node)].push(now);
    }

    fn write_down(&mut self, model: &Quorum, state: &State, what: Move) {
        let now = self.time();
        match what {
            Move::Pass => self.now = (self.now.0 + 1, 0),
            Move::Pause(_) | Move::Delay(_) => {}
            Move::Tick(node) => self.call(node),
            Move::Saved(node) => {
                self.ends(|what| matches!(what, FaultKind::Saves(n, _) if *n == usize::from(node)));
                self.call(node);
            }
            Move::SaveFailed(node, _) => {
                self.ends(|what| matches!(what, FaultKind::Saves(n, _) if *n == usize::from(node)));
                let failing = FaultKind::Saves(node.into(), SaveFault::Failing);
                self.faults.push((now - APART, Some(now + APART), failing));
                self.call(node);
            }
            Move::Deliver(place) | Move::DeliverTwice(place) => {
                let frame = model.frames.get(model.frame(state, place));
                let passes = FaultKind::Pass(frame.from.into(), frame.to.into());
                self.faults.push((now - APART / 2, Some(now), passes));
                let to = frame.to;
                self.call(to);
            }
            Move::Lose(Place::Link(way)) => {
                let (from, to) = ends(way);
                let severed = FaultKind::Sever(from.into(), to.into());
                self.faults.push((now, Some(now + APART / 2), severed));
            }
            Move::Lose(Place::Late(_)) => {}
            Move::Cut(ways) => {
                for (from, to) in (0..6).filter(|way| ways >> way & 1 == 1).map(ends) {
                    if usize::from(from.max(to)) < model.scope.nodes {
                        self.begins(FaultKind::Sever(from.into(), to.into()));
                    }
                }
            }
            Move::Heal => self.heals(),
            Move::Crash(node, Crash { wiped, .. }) => self.crashes(node, wiped),
            Move::Start(node) => self.starts(node),
            Move::PauseFailover(node) => {
                self.begins(FaultKind::PauseFailover(node.into(), Duration::ZERO));
                self.call(node);
            }
            Move::ResumeFailover(node) => {
                self.begins(FaultKind::ResumeFailover(node.into()));
                self.call(node);
            }
            Move::HandOver(node, to) => {
                self.begins(FaultKind::HandOver(node.into(), to.into()));
                self.call(node);
            }
            Move::Resign(node) => {
                self.begins(FaultKind::Resign(node.into()));
                self.call(node);
            }
            Move::Stopped(node) => {
                self.ends(|what| *what == FaultKind::Stuck(node.into()));
                self.call(node);
            }
        }
    }

    /// Opens the ways again, early enough for connections to be made.
    fn heals(&mut self) {
        let before = self.time().saturating_sub(DIALS);
        for (_, end, kind) in &mut self.faults {
            if matches!(kind, FaultKind::Sever(..)) && end.is_none() {
                *end = Some(before);
            }
        }
    }

    fn crashes(&mut self, node: u8, wiped: bool) {
        let after = self.time() + APART;
        for (_, end, kind) in &mut self.faults {
            let here = matches!(kind, FaultKind::Saves(n, _) if *n == usize::from(node));
            if here && end.is_none() {
                *end = Some(after);
            }
        }
        self.begins(FaultKind::Crash(node.into()));
        if wiped {
            self.begins(FaultKind::Disk(node.into(), DiskFault::Lost));
        }
    }

    fn starts(&mut self, node: u8) {
        let early = self.time().saturating_sub(DIALS);
        let crash = FaultKind::Crash(node.into());
        for (_, end, kind) in &mut self.faults {
            if end.is_none() && *kind == crash {
                *end = Some(early);
            }
        }
        self.calls[usize::from(node)].push(early);
    }

    /// Records what became different: a save has begun, or work has to stop.
    fn look(&mut self, model: &Quorum, before: &State, after: &State) {
        for node in 0..model.count() {
            let (was, is) = (model.facts(before, node), model.facts(after, node));
            if is.saving && !was.saving {
                self.begins(FaultKind::Saves(node.into(), SaveFault::Hanging));
            }
            if is.stops && !was.stops {
                self.begins(FaultKind::Stuck(node.into()));
            }
        }
    }

    fn begins(&mut self, what: FaultKind) {
        // Faults that begin with a call are in force before it.
        self.faults.push((self.time() - APART / 4, None, what));
    }

    fn ends(&mut self, is: impl Fn(&FaultKind) -> bool) {
        let now = self.time();
        let open = self.faults.iter_mut().filter(|(_, end, what)| end.is_none() && is(what));
        open.for_each(|(_, end, _)| *end = Some(now));
    }

    fn schedule(&self, model: &Quorum) -> Schedule {
        let scope = &model.scope;
        let horizon = self.time() + APART;
        let mut faults = Vec::new();
        let mut fault = |from: Duration, to: Duration, what: FaultKind| {
            let lasts = to.saturating_sub(from).max(Duration::from_nanos(1));
            faults.push(Fault { at: from, lasts, kind: what });
        };
        for node in 0..scope.nodes {
            for (from, to) in gaps(&self.calls[node], horizon) {
                fault(from, to, FaultKind::Pause(node));
            }
        }
        for way in 0..6 {
            let (from, to) = (usize::from(ends(way).0), usize::from(ends(way).1));
            if from.max(to) < scope.nodes {
                fault(Duration::ZERO, horizon, FaultKind::Clog(from, to));
            }
        }
        for (from, to, what) in &self.faults {
            fault(*from, to.unwrap_or(horizon + scope.unit), what.clone());
        }
        let rates = &model.steps[self.clocks];
        let members = scope.members();
        let members = members
            .into_iter()
            .zip(rates)
            .map(|(member, rate)| Member { ppm: ppm(scope.unit, *rate), ..member });
        let calm = Schedule::calm_quorum(scope.nodes, scope.cluster.down_after);
        let mut schedule = Schedule {
            cluster: Some(Cluster { buffer: 0, ..scope.cluster.clone() }),
            nodes: members.collect(),
            latency: DurationRange::exactly(Duration::ZERO),
            stop: DurationRange::exactly(Duration::ZERO),
            faults,
            heal: None,
            horizon,
            ..calm
        };
        schedule.timing.drift_ppm = scope.drift_ppm;
        schedule
    }
}

/// The intervals between these moments.
fn gaps(moments: &[Duration], horizon: Duration) -> Vec<(Duration, Duration)> {
    let mut moments = moments.to_vec();
    moments.sort_unstable();
    let mut gaps = Vec::with_capacity(moments.len() + 1);
    let mut from = Duration::ZERO;
    for moment in moments {
        if moment > from {
            gaps.push((from, moment));
        }
        from = from.max(moment + APART / 4);
    }
    gaps.push((from, horizon.max(from)));
    gaps
}

fn ppm(unit: Duration, rate: Duration) -> i32 {
    let of = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    let gained = (of(rate) - of(unit)).saturating_mul(1_000_000) / of(unit).max(1);
    i32::try_from(gained).unwrap_or(0)
}

//! Turns a schedule that fails into a small one that fails in the same way.
//!
//! Delta debugging in four passes, repeated until none of them helps: faults (first in chunks, then
//! one by one), nodes, the horizon, values. Everything that chance did to single statements is
//! first written out, so that each piece can be removed alone. Because every draw is keyed by its
//! place, the rest of the schedule draws what it drew before.

use crate::{
    fault::{Fault, FaultKind},
    schedule::{Engine, Member, Schedule, Timing},
    simulator::Violation,
    span::DurationRange,
    span::nanos,
    workload::Workload,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The result of shrinking.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest schedule found.
    pub schedule: Schedule,
    /// How that schedule fails.
    pub violation: Violation,
    /// The number of schedules played on the way.
    pub runs: u64,
}

/// Makes `schedule`, which violates `check`, smaller for as long as `patience` lasts. Returns
/// `None` if the schedule does not fail in that way.
#[must_use]
pub fn shrink(
    schedule: &Schedule,
    workload: &Arc<Workload>,
    check: &str,
    patience: Duration,
) -> Option<Shrunk> {
    let mut search = Search {
        workload,
        check,
        ends: Instant::now() + patience,
        runs: 0,
        best: schedule.clone(),
        violation: None,
    };
    search.try_out(schedule.clone());
    search.violation.as_ref()?;
    if let Ok(explicit) = search.best.made_explicit(workload) {
        search.try_out(explicit);
    }
    loop {
        let before = search.best.clone();
        search.elections();
        search.faults();
        search.nodes();
        search.values();
        search.times();
        if search.best == before || search.is_over() {
            break;
        }
    }
    let (schedule, runs) = (search.best, search.runs);
    search.violation.map(|violation| Shrunk { schedule, violation, runs })
}

struct Search<'a> {
    workload: &'a Arc<Workload>,
    check: &'a str,
    ends: Instant,
    runs: u64,
    best: Schedule,
    violation: Option<Violation>,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.ends
    }

    /// Plays a candidate. If it still fails, keeps it, cut off after its failure.
    fn try_out(&mut self, candidate: Schedule) -> bool {
        if self.runs > 0 && (candidate == self.best || self.is_over()) {
            return false;
        }
        self.runs += 1;
        let Ok(outcome) = candidate.play_with(self.workload) else { return false };
        let Some(violation) = outcome.violation.filter(|found| found.check == self.check) else {
            return false;
        };
        self.best = candidate;
        let end = violation.at + Duration::from_nanos(1);
        if self.best.heal.is_none() && end < self.best.horizon {
            self.best.horizon = end;
            self.best.faults.retain(|fault| fault.at <= end);
        }
        self.violation = Some(violation);
        true
    }

    fn edit(&mut self, change: impl FnOnce(&mut Schedule)) -> bool {
        let mut candidate = self.best.clone();
        change(&mut candidate);
        self.try_out(candidate)
    }

    /// Removes elections, as many as can be.
    fn elections(&mut self) {
        for fewer in [1, 2, self.best.elections / 2, self.best.elections - 1] {
            if (1..self.best.elections).contains(&fewer) {
                self.edit(|schedule| schedule.elections = fewer);
            }
        }
    }

    /// Removes faults, half of them at first.
    fn faults(&mut self) {
        let mut chunk = self.best.faults.len().div_ceil(2).max(1);
        loop {
            let mut from = 0;
            while from < self.best.faults.len() && !self.is_over() {
                let to = (from + chunk).min(self.best.faults.len());
                let gone = self.edit(|schedule| {
                    schedule.faults.drain(from..to);
                });
                if !gone {
                    from = to;
                }
            }
            if chunk == 1 {
                break;
            }
            chunk = chunk.div_ceil(2);
        }
        self.edit(|schedule| schedule.heal = None);
    }

    /// Removes nodes, the last one first, with the faults that hit them.
    fn nodes(&mut self) {
        for node in (0..self.best.nodes.len()).rev() {
            if self.best.nodes.len() > 1 {
                self.edit(|schedule| remove(schedule, node));
            }
        }
    }

    /// Makes everything that is left as plain as possible.
    fn values(&mut self) {
        let plain = Schedule::calm(1, self.best.timing.ttl);
        self.edit(|schedule| schedule.engine = Engine::Postgres);
        self.edit(|schedule| schedule.latency = DurationRange::exactly(Duration::from_millis(1)));
        self.edit(|schedule| schedule.latency = plain.latency);
        self.edit(|schedule| schedule.commit = plain.commit);
        self.edit(|schedule| schedule.stop = plain.stop);
        self.edit(|schedule| schedule.act = plain.act);
        self.edit(|schedule| schedule.lock_timeout = None);
        self.edit(|schedule| schedule.timing = Timing::of(schedule.timing.ttl));
        self.edit(|schedule| schedule.timing.jitter = Some(Duration::ZERO));
        self.edit(|schedule| schedule.timing.wake_jitter = None);
        self.edit(|schedule| schedule.timing.interval = None);
        self.edit(|schedule| schedule.timing.at_least_for = None);
        self.edit(|schedule| schedule.timing.clock_step = None);
        self.edit(|schedule| schedule.timing.grace = None);
        for node in 0..self.best.nodes.len() {
            self.edit(|schedule| {
                let Member { ppm, ttl, software, spare, .. } = schedule.nodes[node];
                let plain = Member::new(&crate::text::node_name(node));
                schedule.nodes[node] = Member { ppm, ttl, software, spare, ..plain };
            });
            self.edit(|schedule| schedule.nodes[node].ppm = 0);
        }
    }

    /// Rounds and shortens times, in the coarsest way that still fails.
    fn times(&mut self) {
        for index in 0..self.best.faults.len() {
            let Some(Fault { at, lasts, kind }) = self.best.faults.get(index).cloned() else {
                break;
            };
            for unit in UNITS {
                if self.edit_fault(index, |fault| fault.at = rounded(at, unit)) {
                    break;
                }
            }
            for unit in UNITS {
                if self.edit_fault(index, |fault| fault.lasts = rounded(lasts, unit)) {
                    break;
                }
            }
            for half in [lasts / 8, lasts / 4, lasts / 2] {
                self.edit_fault(index, |fault| fault.lasts = half);
            }
            if let FaultKind::Statement(node, nth, fault) = kind {
                for unit in UNITS {
                    let rounded = fault.map_span(|by| rounded(by, unit));
                    let kind = FaultKind::Statement(node, nth, rounded);
                    if self.edit_fault(index, |fault| fault.kind = kind) {
                        break;
                    }
                }
            }
        }
    }

    fn edit_fault(&mut self, index: usize, change: impl FnOnce(&mut Fault)) -> bool {
        self.edit(|schedule| {
            if let Some(fault) = schedule.faults.get_mut(index) {
                change(fault);
            }
        })
    }
}

/// Seconds, then tenths, then milliseconds.
const UNITS: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_millis(100), Duration::from_millis(1)];

fn rounded(span: Duration, unit: Duration) -> Duration {
    let unit = nanos(unit);
    Duration::from_nanos((nanos(span).saturating_add(unit / 2) / unit).saturating_mul(unit))
}

fn remove(schedule: &mut Schedule, gone: usize) {
    schedule.nodes.remove(gone);
    let faults = std::mem::take(&mut schedule.faults).into_iter();
    let left = faults.filter_map(|fault| Some(Fault { kind: fault.kind.without(gone)?, ..fault }));
    schedule.faults = left.collect();
    if let Some(heal) = &mut schedule.heal {
        heal.core.retain(|node| *node != gone);
        for node in heal.core.iter_mut().filter(|node| **node > gone) {
            *node -= 1;
        }
    }
}

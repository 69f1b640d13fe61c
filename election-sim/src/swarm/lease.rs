//! Schedules of the lease.

use super::{
    Swarm,
    sampler::{Sampler, member},
};
use crate::{
    draw::Dice,
    fault::{Contract, CutDirection, Fault, FaultKind, FrameFault, StatementFault},
    schedule::{Engine, Heal, Schedule, Timing},
    span::DurationRange,
};
use std::time::Duration;

impl Swarm {
    /// A schedule of the lease.
    pub(super) fn lease_schedule(&self, seed: u64) -> Schedule {
        let mut dice = Dice::new(seed);
        let timing = self.timing.clone().unwrap_or_else(|| timing(&mut dice));
        let ttl = timing.ttl;
        let count = self
            .nodes
            .unwrap_or_else(|| usize::try_from(dice.pick(&[1, 2, 2, 3, 3, 3, 4, 5])).unwrap_or(3));
        let drift = timing.drift_ppm;
        let nodes = (0..count).map(|n| member(&mut dice, n, count, drift)).collect();
        let drawn = dice.pick(&[Engine::Postgres, Engine::Postgres, Engine::MySql, Engine::Sqlite]);
        let mut schedule = Schedule {
            seed,
            cluster: None,
            engine: self.engine.unwrap_or(drawn),
            nodes,
            latency: latency(&mut dice, ttl),
            commit: commit(&mut dice, ttl),
            stop: stop(&mut dice, ttl),
            act: act(&mut dice, ttl),
            lock_timeout: dice.pick(&[None, Some(ttl / 6), Some(ttl / 2)]),
            faults: Vec::new(),
            heal: None,
            horizon: ttl * self.length,
            timing,
        };
        if count == 0 {
            return schedule; // nothing can befall nobody; playing it says why it cannot be
        }
        let mut menu =
            Generator { sampler: Sampler { dice, count, horizon: schedule.horizon }, ttl, drift };
        schedule.faults = menu.faults(self.contract);
        if self.network {
            schedule.faults.extend(menu.network());
            schedule.faults.sort_by_key(|fault| fault.at);
        }
        if self.contract == Contract::Within && menu.sampler.dice.one_in(2) {
            menu.heal(&mut schedule);
        }
        schedule
    }
}

fn timing(dice: &mut Dice) -> Timing {
    let ttl = Duration::from_millis(dice.pick(&[500, 1_500, 3_000, 15_000, 15_000, 60_000]));
    let mut timing = Timing::of(ttl);
    timing.drift_ppm = dice.pick(&[90_000, 90_000, 90_000, 10_000, 200]);
    if dice.one_in(4) {
        timing.jitter = Some(Duration::ZERO);
    }
    if dice.one_in(4) {
        timing.wake_jitter = Some(dice.pick(&[Duration::ZERO, ttl / 10]));
    }
    if dice.one_in(6) {
        timing.grace = Some(Duration::ZERO);
    }
    if dice.one_in(3) {
        // As little as the builder lets through.
        let parted = ttl * timing.drift_ppm / 1_000_000;
        timing.margin = Some(parted + Duration::from_millis(1));
    }
    if dice.one_in(4) {
        timing.interval = Some(ttl / 6);
    }
    timing
}

fn latency(dice: &mut Dice, ttl: Duration) -> DurationRange {
    let high = dice.pick(&[ttl / 3_000, ttl / 300, ttl / 60, ttl / 15]);
    DurationRange { low: high / 20, high }
}

fn commit(dice: &mut Dice, ttl: Duration) -> DurationRange {
    let high = dice.pick(&[Duration::ZERO, Duration::ZERO, ttl / 1_000, ttl / 60]);
    DurationRange { low: Duration::ZERO, high }
}

fn stop(dice: &mut Dice, ttl: Duration) -> DurationRange {
    let high = dice.pick(&[Duration::ZERO, ttl / 60, ttl / 6, ttl]);
    DurationRange { low: Duration::ZERO, high }
}

fn act(dice: &mut Dice, ttl: Duration) -> DurationRange {
    let high = dice.pick(&[ttl / 300, ttl / 60, ttl * 2]);
    DurationRange { low: high / 20, high }
}

struct Generator {
    sampler: Sampler,
    ttl: Duration,
    drift: u32,
}

impl Generator {
    /// Some kinds of fault, some of each.
    fn faults(&mut self, contract: Contract) -> Vec<Fault> {
        let mut faults = Vec::new();
        let kinds = if contract == Contract::Within { 24 } else { 32 };
        let wanted = self.sampler.dice.pick(&[0, 1, 2, 3, 3, 4, 5, 8, 12]);
        for _ in 0..wanted {
            let kind = self.sampler.dice.between(0, kinds - 1);
            let times = self.sampler.dice.pick(&[1, 1, 2, 3, 6]);
            for _ in 0..times {
                faults.extend(self.fault(kind));
            }
        }
        if contract == Contract::Beyond {
            let kind = self.sampler.dice.between(24, kinds - 1);
            faults.extend(self.fault(kind));
        }
        faults.sort_by_key(|fault| fault.at);
        faults
    }

    /// Some faults of the network, which the lease itself does not notice.
    fn network(&mut self) -> Vec<Fault> {
        (0..self.sampler.dice.pick(&[0, 1, 2, 4]))
            .map(|_| {
                let (from, to) = (self.sampler.node(), self.sampler.node());
                let what = match self.sampler.dice.between(0, 4) {
                    0 => FaultKind::Sever(from, to),
                    1 => FaultKind::Clog(from, to),
                    2 => FaultKind::Part((0..=from).collect()),
                    _ => {
                        let late = FrameFault::Late(self.part(1));
                        let fate =
                            self.sampler.dice.pick(&[FrameFault::Lost, FrameFault::Twice, late]);
                        FaultKind::Frames(fate, self.sampler.dice.pick(&[10_000, 100_000, 300_000]))
                    }
                };
                Fault { at: self.sampler.time(), lasts: self.span(), kind: what }
            })
            .collect()
    }

    fn fault(&mut self, kind: u64) -> Option<Fault> {
        let node = self.sampler.node();
        let span = self.span();
        let drift = i32::try_from(self.drift).unwrap_or(0);
        let what = match kind {
            0 => FaultKind::Crash(node),
            1 | 2 => FaultKind::Pause(node),
            3 => FaultKind::Stuck(node),
            4 => FaultKind::Resign(node),
            5 => FaultKind::Unhealthy(node),
            6 => FaultKind::Withdraw(node),
            7 => FaultKind::Rate(node, self.sampler.dice.pick(&[-drift, drift, 0])),
            8 => FaultKind::Cut(
                node,
                self.sampler.dice.pick(&[
                    CutDirection::Both,
                    CutDirection::Requests,
                    CutDirection::Replies,
                ]),
            ),
            9 => FaultKind::Storm(node),
            10 => FaultKind::Deaf,
            11 => FaultKind::AskResign,
            12 => FaultKind::Refuse,
            13 => FaultKind::Hang,
            14 => FaultKind::Slow(self.part(8)),
            15 | 16 => FaultKind::Lock,
            17 => FaultKind::Fence,
            18 => FaultKind::Restart,
            19..=23 => {
                FaultKind::Odds(self.fate(), self.sampler.dice.pick(&[10_000, 100_000, 300_000]))
            }
            24 => FaultKind::Rate(node, self.sampler.dice.pick(&[-400_000, -100_000, 200_000])),
            25 => FaultKind::Suspend(node),
            26 => FaultKind::Jump(node, self.sampler.signed(self.ttl)),
            27 => FaultKind::Step(self.sampler.signed(self.ttl * 4) / 1_000_000),
            28 => FaultKind::Failover(self.part(1)),
            31 => FaultKind::Clone(node, self.sampler.node()),
            29 => {
                FaultKind::Odds(StatementFault::Phantom, self.sampler.dice.pick(&[10_000, 100_000]))
            }
            _ => FaultKind::Wipe,
        };
        let at = self.sampler.time();
        Some(Fault { at, lasts: if what.lasts() { span } else { Duration::ZERO }, kind: what })
    }

    fn fate(&mut self) -> StatementFault {
        match self.sampler.dice.between(0, 14) {
            0 => StatementFault::Lost,
            1 | 2 => StatementFault::Late(self.part(1)),
            3 | 4 => StatementFault::Stalled(self.part(1)),
            5 | 6 => StatementFault::Unanswered,
            7 => StatementFault::Slow(self.part(1)),
            8 => StatementFault::Twice,
            9 => StatementFault::Refused,
            10 => StatementFault::Locked,
            11 => StatementFault::Unknown,
            12 => StatementFault::Aborted,
            13 => StatementFault::Fatal,
            _ => StatementFault::Stale(self.part(1)),
        }
    }

    /// From a fraction of a round trip to several leases.
    fn span(&mut self) -> Duration {
        let most = self.sampler.dice.pick(&[self.ttl / 10, self.ttl, self.ttl * 2, self.ttl * 6]);
        self.sampler.upto(most)
    }

    /// Up to the ttl, or a tenth of it, divided.
    fn part(&mut self, of: u32) -> Duration {
        let most = self.sampler.dice.pick(&[self.ttl * 2, self.ttl, self.ttl / 5]) / of;
        self.sampler.upto(most)
    }

    /// The last third belongs to a healed core; what befalls it ends or never begins.
    fn heal(&mut self, schedule: &mut Schedule) {
        let at = self.sampler.horizon * 2 / 3;
        let candidates = schedule.nodes.iter().enumerate().filter(|(_, node)| !node.observer);
        let able: Vec<usize> = candidates.map(|(index, _)| index).collect();
        let certain = self.sampler.dice.pick(&able);
        let mut core: Vec<usize> = able
            .into_iter()
            .filter(|node| *node == certain || self.sampler.dice.one_in(2))
            .collect();
        core.sort_unstable();
        schedule.faults.retain(|fault| fault.at < at || !fault.kind.befalls(&core));
        schedule.heal = Some(Heal { at, core, within: self.ttl * 6 });
    }
}

//! Schedules of the lease.

use super::{
    Swarm,
    weather::{Reach, member},
};
use crate::{
    draw::Dice,
    fault::{Contract, Fate, Fault, FrameFate, Way, What},
    schedule::{Between, Engine, Heal, Schedule, Timing},
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
        let mut menu = Menu { reach: Reach { dice, count, horizon: schedule.horizon }, ttl, drift };
        schedule.faults = menu.faults(self.contract);
        if self.network {
            schedule.faults.extend(menu.network());
            schedule.faults.sort_by_key(|fault| fault.at);
        }
        if self.contract == Contract::Within && menu.reach.dice.one_in(2) {
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

fn latency(dice: &mut Dice, ttl: Duration) -> Between {
    let high = dice.pick(&[ttl / 3_000, ttl / 300, ttl / 60, ttl / 15]);
    Between { low: high / 20, high }
}

fn commit(dice: &mut Dice, ttl: Duration) -> Between {
    let high = dice.pick(&[Duration::ZERO, Duration::ZERO, ttl / 1_000, ttl / 60]);
    Between { low: Duration::ZERO, high }
}

fn stop(dice: &mut Dice, ttl: Duration) -> Between {
    let high = dice.pick(&[Duration::ZERO, ttl / 60, ttl / 6, ttl]);
    Between { low: Duration::ZERO, high }
}

fn act(dice: &mut Dice, ttl: Duration) -> Between {
    let high = dice.pick(&[ttl / 300, ttl / 60, ttl * 2]);
    Between { low: high / 20, high }
}

struct Menu {
    reach: Reach,
    ttl: Duration,
    drift: u32,
}

impl Menu {
    /// Some kinds of fault, some of each.
    fn faults(&mut self, contract: Contract) -> Vec<Fault> {
        let mut faults = Vec::new();
        let kinds = if contract == Contract::Within { 24 } else { 32 };
        let wanted = self.reach.dice.pick(&[0, 1, 2, 3, 3, 4, 5, 8, 12]);
        for _ in 0..wanted {
            let kind = self.reach.dice.between(0, kinds - 1);
            let times = self.reach.dice.pick(&[1, 1, 2, 3, 6]);
            for _ in 0..times {
                faults.extend(self.fault(kind));
            }
        }
        if contract == Contract::Beyond {
            let kind = self.reach.dice.between(24, kinds - 1);
            faults.extend(self.fault(kind));
        }
        faults.sort_by_key(|fault| fault.at);
        faults
    }

    /// Some faults of the network, which the lease itself does not notice.
    fn network(&mut self) -> Vec<Fault> {
        (0..self.reach.dice.pick(&[0, 1, 2, 4]))
            .map(|_| {
                let (from, to) = (self.reach.node(), self.reach.node());
                let what = match self.reach.dice.between(0, 4) {
                    0 => What::Sever(from, to),
                    1 => What::Clog(from, to),
                    2 => What::Part((0..=from).collect()),
                    _ => {
                        let late = FrameFate::Late(self.part(1));
                        let fate = self.reach.dice.pick(&[FrameFate::Lost, FrameFate::Twice, late]);
                        What::Frames(fate, self.reach.dice.pick(&[10_000, 100_000, 300_000]))
                    }
                };
                Fault { at: self.reach.time(), lasts: self.span(), what }
            })
            .collect()
    }

    fn fault(&mut self, kind: u64) -> Option<Fault> {
        let node = self.reach.node();
        let span = self.span();
        let drift = i32::try_from(self.drift).unwrap_or(0);
        let what = match kind {
            0 => What::Crash(node),
            1 | 2 => What::Pause(node),
            3 => What::Stuck(node),
            4 => What::Resign(node),
            5 => What::Unhealthy(node),
            6 => What::Withdraw(node),
            7 => What::Rate(node, self.reach.dice.pick(&[-drift, drift, 0])),
            8 => What::Cut(node, self.reach.dice.pick(&[Way::Both, Way::Requests, Way::Replies])),
            9 => What::Storm(node),
            10 => What::Deaf,
            11 => What::AskResign,
            12 => What::Refuse,
            13 => What::Hang,
            14 => What::Slow(self.part(8)),
            15 | 16 => What::Lock,
            17 => What::Fence,
            18 => What::Restart,
            19..=23 => What::Odds(self.fate(), self.reach.dice.pick(&[10_000, 100_000, 300_000])),
            24 => What::Rate(node, self.reach.dice.pick(&[-400_000, -100_000, 200_000])),
            25 => What::Suspend(node),
            26 => What::Jump(node, self.reach.signed(self.ttl)),
            27 => What::Step(self.reach.signed(self.ttl * 4) / 1_000_000),
            28 => What::Failover(self.part(1)),
            31 => What::Clone(node, self.reach.node()),
            29 => What::Odds(Fate::Phantom, self.reach.dice.pick(&[10_000, 100_000])),
            _ => What::Wipe,
        };
        let at = self.reach.time();
        Some(Fault { at, lasts: if what.lasts() { span } else { Duration::ZERO }, what })
    }

    fn fate(&mut self) -> Fate {
        match self.reach.dice.between(0, 14) {
            0 => Fate::Lost,
            1 | 2 => Fate::Late(self.part(1)),
            3 | 4 => Fate::Stalled(self.part(1)),
            5 | 6 => Fate::Unanswered,
            7 => Fate::Slow(self.part(1)),
            8 => Fate::Twice,
            9 => Fate::Refused,
            10 => Fate::Locked,
            11 => Fate::Unknown,
            12 => Fate::Aborted,
            13 => Fate::Fatal,
            _ => Fate::Stale(self.part(1)),
        }
    }

    /// From a fraction of a round trip to several leases.
    fn span(&mut self) -> Duration {
        let most = self.reach.dice.pick(&[self.ttl / 10, self.ttl, self.ttl * 2, self.ttl * 6]);
        self.reach.upto(most)
    }

    /// Up to the ttl, or a tenth of it, divided.
    fn part(&mut self, of: u32) -> Duration {
        let most = self.reach.dice.pick(&[self.ttl * 2, self.ttl, self.ttl / 5]) / of;
        self.reach.upto(most)
    }

    /// The last third belongs to a healed core; what befalls it ends or never begins.
    fn heal(&mut self, schedule: &mut Schedule) {
        let at = self.reach.horizon * 2 / 3;
        let candidates = schedule.nodes.iter().enumerate().filter(|(_, node)| !node.observer);
        let able: Vec<usize> = candidates.map(|(index, _)| index).collect();
        let certain = self.reach.dice.pick(&able);
        let mut core: Vec<usize> =
            able.into_iter().filter(|node| *node == certain || self.reach.dice.one_in(2)).collect();
        core.sort_unstable();
        schedule.faults.retain(|fault| fault.at < at || !fault.what.befalls(&core));
        schedule.heal = Some(Heal { at, core, within: self.ttl * 6 });
    }
}

//! Schedules of the quorum.

use super::{
    Swarm,
    weather::{Reach, member},
};
use crate::{
    cluster::Cluster,
    draw::Dice,
    fault::{Contract, Damage, Fault, FrameFate, Saving, What},
    schedule::{Between, Heal, Member, Schedule, Timing, name},
};
use std::time::Duration;

impl Swarm {
    /// A schedule of the quorum.
    pub(super) fn quorum_schedule(&self, seed: u64) -> Schedule {
        let mut dice = Dice::new(!seed);
        let drawn = dice.pick(&[500, 1_000, 5_000, 5_000]);
        let down_after = self.down_after.unwrap_or(Duration::from_millis(drawn));
        let count = usize::try_from(dice.pick(&[1, 2, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7])).unwrap_or(3);
        let count = self.nodes.unwrap_or(count);
        let mut timing = Timing::of_quorum(down_after);
        timing.drift_ppm = dice.pick(&[10_000, 10_000, 10_000, 200, 50_000]);
        let nodes: Vec<Member> = (0..count)
            .map(|n| Member { observer: false, ..member(&mut dice, n, count, timing.drift_ppm) })
            .map(|node| Member { name: node.name, ..node })
            .collect();
        let mut schedule = Schedule {
            seed,
            latency: latency(&mut dice, down_after),
            stop: Between {
                low: Duration::ZERO,
                high: dice.pick(&[Duration::ZERO, down_after / 20, down_after / 2]),
            },
            act: Between {
                low: Duration::ZERO,
                high: dice.pick(&[down_after / 100, down_after * 2]),
            },
            horizon: down_after * self.length,
            cluster: None,
            timing,
            nodes,
            ..Schedule::calm(0, down_after * 3)
        };
        schedule.cluster = Some(cluster(&mut dice, down_after, count));
        distinct(&mut schedule.nodes);
        if count == 0 {
            return schedule;
        }
        let horizon = schedule.horizon;
        let drift = schedule.timing.drift_ppm;
        let reach = Reach { dice, count, horizon };
        let mut menu = Menu { reach, span: down_after, drift, wiped: None };
        menu.faults(self.contract, &mut schedule.faults);
        if self.contract == Contract::Within && menu.reach.dice.one_in(2) {
            menu.heal(&mut schedule);
        }
        schedule
    }
}

/// A second process under a member's id is one of the last, and leaves at least two members.
fn distinct(nodes: &mut [Member]) {
    let count = nodes.len();
    for (n, node) in nodes.iter_mut().enumerate() {
        if n + 1 < count || count < 3 {
            node.name = name(n);
        }
    }
}

fn cluster(dice: &mut Dice, down_after: Duration, count: usize) -> Cluster {
    let last = u64::try_from(count.max(1) - 1).unwrap_or(0);
    let save = dice.pick(&[Duration::ZERO, down_after / 1_000, down_after / 50, down_after / 6]);
    Cluster {
        declared: dice.one_in(4).then(|| usize::try_from(dice.between(0, last)).unwrap_or(0)),
        save: Between { low: save / 10, high: save },
        growth: dice.pick(&[down_after / 10, down_after / 3]),
        history: !dice.one_in(4),
        buffer: dice.pick(&[0, 1, 32, 32]),
        grace: dice.one_in(5).then_some(Duration::ZERO),
        stagger: dice.one_in(6).then_some(Duration::ZERO),
        // As little as covers two frames in one instant.
        margin: dice.one_in(3).then_some(Duration::from_millis(1)),
        ..Cluster::of(down_after)
    }
}

fn latency(dice: &mut Dice, span: Duration) -> Between {
    let high = dice.pick(&[span / 5_000, span / 500, span / 50, span / 12]);
    Between { low: high / 20, high }
}

struct Menu {
    reach: Reach,
    /// When a peer counts as down: what everything else is measured by.
    span: Duration,
    drift: u32,
    /// The one disk that may be lost.
    wiped: Option<usize>,
}

impl Menu {
    /// Some kinds of fault, some of each.
    fn faults(&mut self, contract: Contract, faults: &mut Vec<Fault>) {
        let kinds = if contract == Contract::Within { 29 } else { 35 };
        let wanted = self.reach.dice.pick(&[0, 1, 2, 3, 3, 4, 5, 8, 12]);
        for _ in 0..wanted {
            let kind = self.reach.dice.between(0, kinds - 1);
            for _ in 0..self.reach.dice.pick(&[1, 1, 2, 3, 6]) {
                self.fault(kind, faults);
            }
        }
        if contract == Contract::Beyond {
            let kind = self.reach.dice.between(29, kinds - 1);
            self.fault(kind, faults);
        }
        faults.sort_by_key(|fault| fault.at);
    }

    fn fault(&mut self, kind: u64, faults: &mut Vec<Fault>) {
        let (at, lasts) = (self.reach.time(), self.span());
        let node = self.reach.node();
        let drift = i32::try_from(self.drift).unwrap_or(0);
        let what = match kind {
            0 | 1 => What::Crash(node),
            2 | 3 => What::Pause(node),
            4 => What::Stuck(node),
            5 => What::Resign(node),
            6 => What::Unhealthy(node),
            7 => What::Withdraw(node),
            8 => What::Rate(node, self.reach.dice.pick(&[-drift, drift, 0])),
            9 | 10 => What::Sever(node, self.reach.node()),
            11 => What::Clog(node, self.reach.node()),
            12 | 13 => What::Frames(self.fate(), self.reach.dice.pick(&[1_000, 10_000, 100_000])),
            14 => What::Reset(node, self.reach.node()),
            15 => What::Saves(node, Saving::Slow(self.part())),
            16 => What::Saves(node, self.reach.dice.pick(&[Saving::Failing, Saving::Hanging])),
            17 => What::HandOver(node, self.reach.node()),
            18 => What::Lag(node),
            19 => What::CrashAfter(node, self.reach.dice.between(1, 400), self.part()),
            20 => What::Part(vec![node]),
            21 => What::Part((0..=node).collect()),
            22..=26 => return self.partial(kind, at, lasts, faults),
            27 => return self.wreck(node, Damage::Torn, at, lasts, faults),
            28 => {
                let wiped = *self.wiped.get_or_insert(node);
                return self.wreck(wiped, Damage::Lost, at, lasts, faults);
            }
            29 => What::Rate(node, self.reach.dice.pick(&[-400_000, -200_000, 300_000])),
            30 => What::Suspend(node),
            31 => What::Jump(node, self.reach.signed(self.span)),
            32 => {
                let by = self.part() * 2;
                return self.wreck(node, Damage::Stale(by), at, lasts, faults);
            }
            33 => {
                faults.push(Fault { at: at + lasts / 2, lasts, what: What::Crash(node) });
                What::Saves(node, Saving::Lying)
            }
            _ => return self.wreck(node, Damage::Lost, at, lasts, faults),
        };
        let at = if matches!(what, What::CrashAfter(..)) { Duration::ZERO } else { at };
        let lasts = if what.lasts() { lasts } else { Duration::ZERO };
        faults.push(Fault { at, lasts, what });
    }

    /// Some nodes hear each other and others do not.
    fn partial(&mut self, kind: u64, at: Duration, lasts: Duration, faults: &mut Vec<Fault>) {
        let (count, hub) = (self.reach.count, self.reach.node());
        let one_way = self.reach.dice.one_in(4);
        let turn = |node: usize| (node + hub) % count;
        for from in 0..count {
            for to in (0..count).filter(|to| *to != from) {
                let (a, b) = (turn(from), turn(to));
                let apart = a.abs_diff(b);
                let open = match kind {
                    // A star: everybody hears the hub alone.
                    22 => a == 0 || b == 0,
                    23 => apart == 1,
                    24 => apart == 1 || apart == count - 1,
                    // A bridge: two halves, and one that hears both.
                    25 => a == 0 || b == 0 || (a <= count / 2) == (b <= count / 2),
                    // Swizzled: everything stalls, and comes back piece by piece.
                    _ => {
                        let step = |node: usize| u32::try_from(node).unwrap_or(0);
                        let (at, lasts) = (at + lasts / 16 * step(from), lasts / (1 + step(to)));
                        faults.push(Fault { at, lasts, what: What::Clog(from, to) });
                        continue;
                    }
                };
                if !(open || (one_way && a < b)) {
                    faults.push(Fault { at, lasts, what: What::Sever(from, to) });
                }
            }
        }
    }

    /// A crash from which a node comes back with another disk.
    fn wreck(
        &mut self,
        node: usize,
        damage: Damage,
        at: Duration,
        lasts: Duration,
        faults: &mut Vec<Fault>,
    ) {
        faults.push(Fault { at, lasts, what: What::Crash(node) });
        let what = What::Disk(node, damage);
        faults.push(Fault { at: at + lasts / 2, lasts: Duration::ZERO, what });
    }

    fn fate(&mut self) -> FrameFate {
        let late = FrameFate::Late(self.part() * 2);
        self.reach.dice.pick(&[FrameFate::Lost, FrameFate::Twice, late, late])
    }

    /// From a heartbeat to several times what it takes to be down.
    fn span(&mut self) -> Duration {
        let most = self.reach.dice.pick(&[self.span / 10, self.span, self.span * 2, self.span * 6]);
        self.reach.upto(most)
    }

    fn part(&mut self) -> Duration {
        let most = self.reach.dice.pick(&[self.span * 2, self.span, self.span / 5, self.span / 25]);
        self.reach.upto(most)
    }

    /// The last part belongs to a healed majority; what befalls it ends or never begins.
    fn heal(&mut self, schedule: &mut Schedule) {
        let at = self.reach.horizon / 2;
        // A member as which two processes run is counted by nobody.
        let bearers = |node: usize| {
            let name = &schedule.nodes[node].name;
            schedule.nodes.iter().filter(|other| other.name == *name).count()
        };
        let members =
            (0..self.reach.count).filter(|node| schedule.nodes[*node].name == name(*node));
        let members: Vec<usize> = members.collect();
        let alone = |node: &usize| bearers(*node) == 1;
        // Who cannot read its ballot never votes again, and who lost it may have to wait for
        // others than the core.
        let sound = |node: &usize| {
            !schedule
                .faults
                .iter()
                .any(|fault| matches!(fault.what, What::Disk(n, _) if n == *node))
        };
        let mut core: Vec<usize> =
            members.iter().copied().filter(|node| sound(node) && alone(node)).collect();
        let most = core.len();
        let quorum = members.len() / 2 + 1;
        if most < quorum {
            return;
        }
        while core.len() > quorum && self.reach.dice.one_in(2) {
            let last = u64::try_from(core.len() - 1).unwrap_or(0);
            core.remove(usize::try_from(self.reach.dice.between(0, last)).unwrap_or(0));
        }
        schedule.faults.retain(|fault| fault.at < at || !fault.what.befalls(&core));
        schedule.heal = Some(Heal { at, core, within: self.span * 10 });
    }
}

//! Schedules of the quorum.

use super::{
    Swarm,
    sampler::{Sampler, member},
};
use crate::{
    draw::Dice,
    fault::{Contract, DiskFault, Fault, FaultKind, FrameFault, SaveFault},
    schedule::Cluster,
    schedule::{Heal, Member, Schedule, Timing},
    span::DurationRange,
    text::node_name,
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
            stop: DurationRange {
                low: Duration::ZERO,
                high: dice.pick(&[Duration::ZERO, down_after / 20, down_after / 2]),
            },
            act: DurationRange {
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
        let sampler = Sampler { dice, count, horizon };
        let mut menu = Generator { sampler, span: down_after, drift, wiped: None };
        menu.faults(self.contract, &mut schedule.faults);
        if self.contract == Contract::Within && menu.sampler.dice.one_in(2) {
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
            node.name = node_name(n);
        }
    }
}

fn cluster(dice: &mut Dice, down_after: Duration, count: usize) -> Cluster {
    let last = u64::try_from(count.max(1) - 1).unwrap_or(0);
    let save = dice.pick(&[Duration::ZERO, down_after / 1_000, down_after / 50, down_after / 6]);
    Cluster {
        declared: dice.one_in(4).then(|| usize::try_from(dice.between(0, last)).unwrap_or(0)),
        save: DurationRange { low: save / 10, high: save },
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

fn latency(dice: &mut Dice, span: Duration) -> DurationRange {
    let high = dice.pick(&[span / 5_000, span / 500, span / 50, span / 12]);
    DurationRange { low: high / 20, high }
}

struct Generator {
    sampler: Sampler,
    /// When a peer counts as down: what everything else is measured by.
    span: Duration,
    drift: u32,
    /// The one disk that may be lost.
    wiped: Option<usize>,
}

impl Generator {
    /// Some kinds of fault, some of each.
    fn faults(&mut self, contract: Contract, faults: &mut Vec<Fault>) {
        let kinds = if contract == Contract::Within { 29 } else { 35 };
        let wanted = self.sampler.dice.pick(&[0, 1, 2, 3, 3, 4, 5, 8, 12]);
        for _ in 0..wanted {
            let kind = self.sampler.dice.between(0, kinds - 1);
            for _ in 0..self.sampler.dice.pick(&[1, 1, 2, 3, 6]) {
                self.fault(kind, faults);
            }
        }
        if contract == Contract::Beyond {
            let kind = self.sampler.dice.between(29, kinds - 1);
            self.fault(kind, faults);
        }
        faults.sort_by_key(|fault| fault.at);
    }

    fn fault(&mut self, kind: u64, faults: &mut Vec<Fault>) {
        let (at, lasts) = (self.sampler.time(), self.span());
        let node = self.sampler.node();
        let drift = i32::try_from(self.drift).unwrap_or(0);
        let what = match kind {
            0 | 1 => FaultKind::Crash(node),
            2 | 3 => FaultKind::Pause(node),
            4 => FaultKind::Stuck(node),
            5 => FaultKind::Resign(node),
            6 => FaultKind::Unhealthy(node),
            7 => FaultKind::Withdraw(node),
            8 => FaultKind::Rate(node, self.sampler.dice.pick(&[-drift, drift, 0])),
            9 | 10 => FaultKind::Sever(node, self.sampler.node()),
            11 => FaultKind::Clog(node, self.sampler.node()),
            12 | 13 => {
                FaultKind::Frames(self.fate(), self.sampler.dice.pick(&[1_000, 10_000, 100_000]))
            }
            14 => FaultKind::Reset(node, self.sampler.node()),
            15 => FaultKind::Saves(node, SaveFault::Slow(self.part())),
            16 => FaultKind::Saves(
                node,
                self.sampler.dice.pick(&[SaveFault::Failing, SaveFault::Hanging]),
            ),
            17 => FaultKind::HandOver(node, self.sampler.node()),
            18 => FaultKind::Lag(node),
            19 => FaultKind::CrashAfter(node, self.sampler.dice.between(1, 400), self.part()),
            20 => FaultKind::Part(vec![node]),
            21 => FaultKind::Part((0..=node).collect()),
            22..=26 => return self.partial(kind, at, lasts, faults),
            27 => return self.wreck(node, DiskFault::Torn, at, lasts, faults),
            28 => {
                let wiped = *self.wiped.get_or_insert(node);
                return self.wreck(wiped, DiskFault::Lost, at, lasts, faults);
            }
            29 => FaultKind::Rate(node, self.sampler.dice.pick(&[-400_000, -200_000, 300_000])),
            30 => FaultKind::Suspend(node),
            31 => FaultKind::Jump(node, self.sampler.signed(self.span)),
            32 => {
                let by = self.part() * 2;
                return self.wreck(node, DiskFault::Stale(by), at, lasts, faults);
            }
            33 => {
                faults.push(Fault { at: at + lasts / 2, lasts, kind: FaultKind::Crash(node) });
                FaultKind::Saves(node, SaveFault::Lying)
            }
            _ => return self.wreck(node, DiskFault::Lost, at, lasts, faults),
        };
        let at = if matches!(what, FaultKind::CrashAfter(..)) { Duration::ZERO } else { at };
        let lasts = if what.lasts() { lasts } else { Duration::ZERO };
        faults.push(Fault { at, lasts, kind: what });
    }

    /// Some nodes hear each other and others do not.
    fn partial(&mut self, kind: u64, at: Duration, lasts: Duration, faults: &mut Vec<Fault>) {
        let (count, hub) = (self.sampler.count, self.sampler.node());
        let one_way = self.sampler.dice.one_in(4);
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
                        faults.push(Fault { at, lasts, kind: FaultKind::Clog(from, to) });
                        continue;
                    }
                };
                if !(open || (one_way && a < b)) {
                    faults.push(Fault { at, lasts, kind: FaultKind::Sever(from, to) });
                }
            }
        }
    }

    /// A crash from which a node comes back with another disk.
    fn wreck(
        &mut self,
        node: usize,
        damage: DiskFault,
        at: Duration,
        lasts: Duration,
        faults: &mut Vec<Fault>,
    ) {
        faults.push(Fault { at, lasts, kind: FaultKind::Crash(node) });
        let what = FaultKind::Disk(node, damage);
        faults.push(Fault { at: at + lasts / 2, lasts: Duration::ZERO, kind: what });
    }

    fn fate(&mut self) -> FrameFault {
        let late = FrameFault::Late(self.part() * 2);
        self.sampler.dice.pick(&[FrameFault::Lost, FrameFault::Twice, late, late])
    }

    /// From a heartbeat to several times what it takes to be down.
    fn span(&mut self) -> Duration {
        let most =
            self.sampler.dice.pick(&[self.span / 10, self.span, self.span * 2, self.span * 6]);
        self.sampler.upto(most)
    }

    fn part(&mut self) -> Duration {
        let most =
            self.sampler.dice.pick(&[self.span * 2, self.span, self.span / 5, self.span / 25]);
        self.sampler.upto(most)
    }

    /// The last part belongs to a healed majority; what befalls it ends or never begins.
    fn heal(&mut self, schedule: &mut Schedule) {
        let at = self.sampler.horizon / 2;
        // A member as which two processes run is counted by nobody.
        let bearers = |node: usize| {
            let name = &schedule.nodes[node].name;
            schedule.nodes.iter().filter(|other| other.name == *name).count()
        };
        let members =
            (0..self.sampler.count).filter(|node| schedule.nodes[*node].name == node_name(*node));
        let members: Vec<usize> = members.collect();
        let alone = |node: &usize| bearers(*node) == 1;
        // Who cannot read its ballot never votes again, and who lost it may have to wait for
        // others than the core.
        let sound = |node: &usize| {
            !schedule
                .faults
                .iter()
                .any(|fault| matches!(fault.kind, FaultKind::Disk(n, _) if n == *node))
        };
        let mut core: Vec<usize> =
            members.iter().copied().filter(|node| sound(node) && alone(node)).collect();
        let most = core.len();
        let quorum = members.len() / 2 + 1;
        if most < quorum {
            return;
        }
        while core.len() > quorum && self.sampler.dice.one_in(2) {
            let last = u64::try_from(core.len() - 1).unwrap_or(0);
            core.remove(usize::try_from(self.sampler.dice.between(0, last)).unwrap_or(0));
        }
        schedule.faults.retain(|fault| fault.at < at || !fault.kind.befalls(&core));
        schedule.heal = Some(Heal { at, core, within: self.span * 10 });
    }
}

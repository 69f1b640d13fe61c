//! Schedules of the quorum.

use super::{
    Swarm, lists,
    menu::{Menu, Place},
    partition::Shape,
    probabilities::{self as odds, pick_of},
    sampler::{Sampler, member},
};
use crate::{
    draw::Dice,
    fault::{
        Contract, DiskFault, Fault, FaultKind, FaultName, FrameFault, SaveFault, database_fault,
    },
    schedule::{Cluster, Heal, Member, Schedule, Software, Timing},
    span::DurationRange,
    text::node_name,
};
use std::{sync::LazyLock, time::Duration};

static MENU: LazyLock<Menu> = LazyLock::new(|| Menu::of(|weights| weights.quorum));

impl Swarm {
    /// A schedule of the quorum.
    pub(super) fn quorum_schedule(&self, seed: u64) -> Schedule {
        let mut dice = Dice::new(!seed);
        let drawn = dice.pick(odds::DOWN_AFTERS_MS);
        let down_after = self.down_after.unwrap_or(Duration::from_millis(drawn));
        let count = usize::try_from(dice.pick(odds::QUORUM_NODES)).unwrap_or(3);
        let members = self.nodes.unwrap_or(count);
        let count = if self.lists { lists::nodes(seed, members) } else { members };
        let mut timing = Timing::of_quorum(down_after);
        timing.drift_ppm = dice.pick(odds::QUORUM_DRIFTS_PPM);
        let nodes: Vec<Member> = (0..count)
            .map(|n| Member { observer: false, ..member(&mut dice, n, count, timing.drift_ppm) })
            .collect();
        let latency = pick_of(&mut dice, odds::QUORUM_LATENCIES, down_after);
        let stop = pick_of(&mut dice, odds::QUORUM_STOPS, down_after);
        let act = pick_of(&mut dice, odds::QUORUM_ACTS, down_after);
        let mut schedule = Schedule {
            seed,
            latency: DurationRange { low: latency / 20, high: latency },
            stop: DurationRange { low: Duration::ZERO, high: stop },
            act: DurationRange { low: Duration::ZERO, high: act },
            horizon: down_after * self.length,
            cluster: Some(cluster(&mut dice, down_after, count)),
            timing,
            nodes,
            ..Schedule::calm(0, down_after * 3)
        };
        distinct(&mut schedule.nodes);
        if count == 0 {
            return schedule; // no node, no fault; playing the schedule says why it is invalid
        }
        let horizon = schedule.horizon;
        let drift = schedule.timing.drift_ppm;
        let sampler = Sampler { dice, count, horizon };
        let mut generator = Generator { sampler, down_after, drift, wiped: None };
        generator.faults(self.contract, &mut schedule.faults);
        if self.legacy {
            legacy(&mut schedule);
        }
        operators(&mut schedule, down_after);
        wrong_file(&mut schedule, down_after);
        if self.lists {
            lists::lists(&mut schedule, down_after, members);
        }
        if self.contract == Contract::Within && generator.sampler.dice.happens(odds::HEAL) {
            generator.heal(&mut schedule);
        }
        schedule
    }
}

/// Some members run kevy-elect. The draws are apart from all others, so that the other runs stay
/// what they are.
fn legacy(schedule: &mut Schedule) {
    let mut dice = Dice::new(schedule.seed ^ APART);
    let count = schedule.nodes.len();
    if !dice.happens(odds::LEGACY) || count < 2 || schedule.has_twins() {
        return;
    }
    let most = u64::try_from(count).unwrap_or(0);
    for _ in 0..dice.between(1, most) {
        let node = usize::try_from(dice.between(0, most - 1)).unwrap_or(0);
        schedule.nodes[node].software = dice.pick(odds::LEGACY_SOFTWARE);
    }
    // It has no rule for a disk that forgets, and nothing would be left to judge.
    let forgets = |fault: &Fault| matches!(&fault.kind, FaultKind::Disk(node, _) if schedule.nodes[*node].software != Software::Own);
    let kept = schedule.faults.iter().filter(|fault| !forgets(fault)).cloned().collect();
    schedule.faults = kept;
}

const APART: u64 = 0x6C65_6761_6379_0000;

/// What operators ask for: witnesses, a leadership that goes back, and pauses of automatic failover.
/// The draws are apart, too.
fn operators(schedule: &mut Schedule, down_after: Duration) {
    let mut dice = Dice::new(schedule.seed ^ OPERATORS);
    let count = schedule.nodes.len();
    let last = u64::try_from(count.max(1) - 1).unwrap_or(0);
    let preferred = schedule.cluster.as_ref().and_then(|cluster| cluster.preferred);
    let node = |dice: &mut Dice| usize::try_from(dice.between(0, last)).unwrap_or(0);
    if dice.happens(odds::WITNESS) && count > 1 && !schedule.has_twins() {
        for _ in 0..dice.between(1, last.div_ceil(2)) {
            let witness = node(&mut dice);
            let others = schedule.nodes.iter().filter(|member| !member.witness).count() - 1;
            let member = &mut schedule.nodes[witness];
            let fits = member.software == Software::Own && Some(witness) != preferred;
            member.witness |= fits && others > 0;
        }
    }
    if dice.happens(odds::FAIL_BACK) && preferred.is_some() {
        let after = pick_of(&mut dice, odds::FAIL_BACKS, down_after);
        if let Some(cluster) = &mut schedule.cluster {
            cluster.fail_back = Some(after);
        }
    }
    if !dice.happens(odds::PAUSES) {
        return;
    }
    let horizon = u64::try_from(schedule.horizon.as_nanos()).unwrap_or(u64::MAX);
    for _ in 0..dice.pick(odds::REPETITIONS) {
        let at = Duration::from_nanos(dice.between(0, horizon));
        let span = pick_of(&mut dice, odds::PAUSE_SPANS, down_after);
        let kind = FaultKind::PauseFailover(node(&mut dice), span);
        schedule.faults.push(Fault { at, lasts: Duration::ZERO, kind });
        if span.is_zero() || dice.happens(odds::RESUMED) {
            let at = Duration::from_nanos(dice.between(0, horizon));
            let kind = FaultKind::ResumeFailover(node(&mut dice));
            schedule.faults.push(Fault { at, lasts: Duration::ZERO, kind });
        }
    }
    schedule.faults.sort_by_key(|fault| fault.at);
}

const OPERATORS: u64 = 0x6F70_6572_6174_6F72;

/// A member is given a wrong file now and then. Only one: several could elect by theirs, before any of
/// them has a ballot. The draws are apart, too.
fn wrong_file(schedule: &mut Schedule, down_after: Duration) {
    let mut dice = Dice::new(schedule.seed ^ FILES);
    if !dice.happens(odds::WRONG_FILE) || schedule.has_twins() {
        return;
    }
    let last = u64::try_from(schedule.nodes.len() - 1).unwrap_or(0);
    let node = usize::try_from(dice.between(0, last)).unwrap_or(0);
    if schedule.nodes[node].software != Software::Own {
        return;
    }
    let horizon = u64::try_from(schedule.horizon.as_nanos()).unwrap_or(u64::MAX);
    for _ in 0..dice.pick(odds::REPETITIONS) {
        let at = Duration::from_nanos(dice.between(0, horizon));
        let lasts = pick_of(&mut dice, odds::WRONG_FILE_SPANS, down_after);
        schedule.faults.push(Fault { at, lasts, kind: FaultKind::WrongFile(node) });
    }
    schedule.faults.sort_by_key(|fault| fault.at);
}

const FILES: u64 = 0x6669_6C65_7300_0000;

/// Only the last of at least three nodes may be a second process under a member's id.
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
    let save = pick_of(dice, odds::SAVES, down_after);
    let preferred = dice.happens(odds::PREFERRED);
    Cluster {
        preferred: preferred.then(|| usize::try_from(dice.between(0, last)).unwrap_or(0)),
        save: DurationRange { low: save / 10, high: save },
        load: load(dice, down_after),
        growth: pick_of(dice, odds::GROWTHS, down_after),
        history: !dice.happens(odds::NO_HISTORY),
        buffer: dice.pick(odds::BUFFERS),
        grace: dice.happens(odds::NO_QUORUM_GRACE).then_some(Duration::ZERO),
        stagger: dice.happens(odds::NO_STAGGER).then_some(Duration::ZERO),
        margin: dice.happens(odds::LEAST_QUORUM_MARGIN).then_some(Duration::from_millis(1)),
        ..Cluster::of(down_after)
    }
}

/// How long applications read their data.
fn load(dice: &mut Dice, down_after: Duration) -> DurationRange {
    let high = pick_of(dice, odds::LOADS, down_after);
    DurationRange { low: high / 10, high }
}

struct Generator {
    sampler: Sampler,
    /// When a peer counts as down: the unit of all other times.
    down_after: Duration,
    drift: u32,
    /// The one disk that may be lost.
    wiped: Option<usize>,
}

impl Generator {
    /// Several kinds of fault, several faults of each.
    fn faults(&mut self, contract: Contract, faults: &mut Vec<Fault>) {
        for _ in 0..self.sampler.dice.pick(odds::FAULT_KINDS) {
            let place = MENU.draw(&mut self.sampler.dice, contract);
            for _ in 0..self.sampler.dice.pick(odds::REPETITIONS) {
                self.fault(place, faults);
            }
        }
        if contract == Contract::Beyond {
            let place = MENU.draw_beyond(&mut self.sampler.dice);
            self.fault(place, faults);
        }
        faults.sort_by_key(|fault| fault.at);
    }

    fn fault(&mut self, place: Place, faults: &mut Vec<Fault>) {
        let (at, lasts) = (self.sampler.time(), self.span());
        let node = self.sampler.node();
        let Place { fault, beyond, nth } = place;
        let kind = match fault {
            FaultName::Crash => FaultKind::Crash(node),
            FaultName::Pause => FaultKind::Pause(node),
            FaultName::Suspend => FaultKind::Suspend(node),
            FaultName::Stuck => FaultKind::Stuck(node),
            FaultName::Resign => FaultKind::Resign(node),
            FaultName::Unhealthy => FaultKind::Unhealthy(node),
            FaultName::Withdraw => FaultKind::Withdraw(node),
            FaultName::Rate => FaultKind::Rate(node, self.rate(beyond)),
            FaultName::Jump => FaultKind::Jump(node, self.sampler.signed(self.down_after)),
            FaultName::Sever => FaultKind::Sever(node, self.sampler.node()),
            FaultName::Clog => FaultKind::Clog(node, self.sampler.node()),
            FaultName::Frames => {
                let fault = self.frame_fault();
                FaultKind::Frames(fault, self.sampler.dice.pick(odds::FRAME_ODDS_PPM))
            }
            FaultName::Reset => FaultKind::Reset(node, self.sampler.node()),
            FaultName::Saves if nth == 0 => FaultKind::Saves(node, SaveFault::Slow(self.delay())),
            FaultName::Saves => {
                let faults = [SaveFault::Failing, SaveFault::Hanging];
                FaultKind::Saves(node, self.sampler.dice.pick(&faults))
            }
            FaultName::HandOver => FaultKind::HandOver(node, self.sampler.node()),
            FaultName::Lag => FaultKind::Lag(node),
            FaultName::CrashAfter => {
                let nth = self.sampler.dice.between(1, odds::MOST_ACTIONS);
                let kind = FaultKind::CrashAfter(node, nth, self.delay());
                return faults.push(Fault { at: Duration::ZERO, lasts: Duration::ZERO, kind });
            }
            FaultName::Part => return self.partition(nth, node, (at, lasts), faults),
            FaultName::Disk if beyond => return self.lie(nth, node, (at, lasts), faults),
            FaultName::Disk if nth == 0 => {
                return wreck(node, DiskFault::Torn, (at, lasts), faults);
            }
            FaultName::Disk => {
                let wiped = *self.wiped.get_or_insert(node);
                return wreck(wiped, DiskFault::Lost, (at, lasts), faults);
            }
            // Drawn apart.
            FaultName::PauseFailover | FaultName::ResumeFailover | FaultName::WrongFile => return,
            FaultName::AddMember | FaultName::RemoveMember => return, // too
            FaultName::Frame => return, // what `Frames` does, written out
            FaultName::Pass | FaultName::Stranger | FaultName::Clone => return, // only in single schedules
            database_fault!(FaultName) => return,
        };
        let lasts = if kind.lasts() { lasts } else { Duration::ZERO };
        faults.push(Fault { at, lasts, kind });
    }

    /// The gain of a clock.
    fn rate(&mut self, beyond: bool) -> i32 {
        if beyond {
            return self.sampler.dice.pick(odds::QUORUM_RATES_PPM);
        }
        let drift = i32::try_from(self.drift).unwrap_or(0);
        self.sampler.dice.pick(&[-drift, drift, 0])
    }

    /// A partition in which some nodes hear each other and others do not.
    fn partition(
        &mut self,
        nth: u64,
        node: usize,
        (at, lasts): (Duration, Duration),
        faults: &mut Vec<Fault>,
    ) {
        let shape = match nth {
            0 => return faults.push(Fault { at, lasts, kind: FaultKind::Part(vec![node]) }),
            1 => {
                let kind = FaultKind::Part((0..=node).collect());
                return faults.push(Fault { at, lasts, kind });
            }
            2 => Shape::Star,
            3 => Shape::Chain,
            4 => Shape::Ring,
            5 => Shape::Bridge,
            _ => Shape::Swizzle,
        };
        let (count, hub) = (self.sampler.count, self.sampler.node());
        let one_way = self.sampler.dice.happens(odds::ONE_WAY);
        faults.extend(shape.faults(count, hub, one_way, (at, lasts)));
    }

    /// A disk that takes back what it had reported durable.
    fn lie(
        &mut self,
        nth: u64,
        node: usize,
        (at, lasts): (Duration, Duration),
        faults: &mut Vec<Fault>,
    ) {
        match nth {
            0 => {
                let by = self.delay() * 2;
                wreck(node, DiskFault::Stale(by), (at, lasts), faults);
            }
            1 => {
                // Only a crash reveals the lie.
                faults.push(Fault { at: at + lasts / 2, lasts, kind: FaultKind::Crash(node) });
                faults.push(Fault { at, lasts, kind: FaultKind::Saves(node, SaveFault::Lying) });
            }
            _ => wreck(node, DiskFault::Lost, (at, lasts), faults),
        }
    }

    fn frame_fault(&mut self) -> FrameFault {
        let late = FrameFault::Late(self.delay() * 2);
        self.sampler.dice.pick(&[FrameFault::Lost, FrameFault::Twice, late, late])
    }

    fn span(&mut self) -> Duration {
        let most = pick_of(&mut self.sampler.dice, odds::QUORUM_SPANS, self.down_after);
        self.sampler.upto(most)
    }

    fn delay(&mut self) -> Duration {
        let most = pick_of(&mut self.sampler.dice, odds::QUORUM_DELAYS, self.down_after);
        self.sampler.upto(most)
    }

    /// In the last part a majority is healed: faults that hit it end before or never begin.
    fn heal(&mut self, schedule: &mut Schedule) {
        let at = odds::QUORUM_HEALS_AT.of(self.sampler.horizon);
        // No node counts a member as which two processes run.
        let bearers = |node: usize| {
            let name = &schedule.nodes[node].name;
            schedule.nodes.iter().filter(|other| other.name == *name).count()
        };
        let members =
            (0..self.sampler.count).filter(|node| schedule.nodes[*node].name == node_name(*node));
        let members: Vec<usize> = members.collect();
        let alone = |node: &usize| bearers(*node) == 1;
        // A node that cannot read its ballot never votes again. A node that lost its ballot may
        // have to wait for nodes outside the core.
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
        while core.len() > quorum && self.sampler.dice.happens(odds::SMALLER_CORE) {
            let last = u64::try_from(core.len() - 1).unwrap_or(0);
            core.remove(usize::try_from(self.sampler.dice.between(0, last)).unwrap_or(0));
        }
        schedule.faults.retain(|fault| fault.at < at || !fault.kind.befalls(&core));
        schedule.heal = Some(Heal { at, core, within: self.down_after * odds::QUORUM_ELECTION });
    }
}

/// A crash from which a node comes back with another disk.
fn wreck(
    node: usize,
    fault: DiskFault,
    (at, lasts): (Duration, Duration),
    faults: &mut Vec<Fault>,
) {
    faults.push(Fault { at, lasts, kind: FaultKind::Crash(node) });
    let kind = FaultKind::Disk(node, fault);
    faults.push(Fault { at: at + lasts / 2, lasts: Duration::ZERO, kind });
}

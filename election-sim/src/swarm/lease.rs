//! Schedules of the lease.

use super::{
    Swarm,
    menu::{Menu, Place},
    probabilities::{self as odds, pick_of},
    sampler::{Sampler, member},
};
use crate::{
    draw::Dice,
    fault::{
        Contract, CutDirection, Fault, FaultKind, FaultName, FrameFault, StatementFault,
        database_fault, member_fault, network_fault, simulator_fault,
    },
    schedule::{Engine, Heal, Schedule, Timing},
    span::DurationRange,
};
use std::{sync::LazyLock, time::Duration};

static MENU: LazyLock<Menu> = LazyLock::new(|| Menu::of(|weights| weights.lease));
static NETWORK: LazyLock<Menu> =
    LazyLock::new(|| Menu::of(|weights| weights.network).rarest_first(|weights| weights.network));

impl Swarm {
    /// A schedule of the lease.
    pub(super) fn lease_schedule(&self, seed: u64) -> Schedule {
        let mut dice = Dice::new(seed);
        let mut timing = self.timing.clone().unwrap_or_else(|| timing(&mut dice));
        if self.timing.is_none() {
            timing.at_least_for = at_least_for(seed, timing.ttl);
            timing.clock_step = clock_step(seed, timing.ttl);
        }
        let ttl = timing.ttl;
        let count = self
            .nodes
            .unwrap_or_else(|| usize::try_from(dice.pick(odds::LEASE_NODES)).unwrap_or(3));
        let drift = timing.drift_ppm;
        let nodes = (0..count).map(|n| member(&mut dice, n, count, drift)).collect();
        let drawn = dice.pick(odds::ENGINES);
        let mut schedule = Schedule {
            seed,
            cluster: None,
            elections: 1,
            engine: self.engine.unwrap_or(drawn),
            nodes,
            latency: from_a_twentieth(pick_of(&mut dice, odds::LEASE_LATENCIES, ttl)),
            commit: from_nothing(pick_of(&mut dice, odds::COMMITS, ttl)),
            stop: from_nothing(pick_of(&mut dice, odds::LEASE_STOPS, ttl)),
            act: from_a_twentieth(pick_of(&mut dice, odds::LEASE_ACTS, ttl)),
            lock_timeout: dice.pick(odds::LOCK_TIMEOUTS).map(|part| part.of(ttl)),
            faults: Vec::new(),
            heal: None,
            horizon: ttl * self.length,
            timing,
        };
        if count == 0 {
            return schedule; // no node, no fault; playing the schedule says why it is invalid
        }
        let sampler = Sampler { dice, count, horizon: schedule.horizon };
        let mut generator = Generator { sampler, ttl, drift };
        schedule.faults = generator.faults(self.contract);
        if self.network {
            schedule.faults.extend(generator.network());
            schedule.faults.sort_by_key(|fault| fault.at);
        }
        schedule.faults.extend(generator.foreseen_steps(seed, &schedule.timing));
        if schedule.engine != Engine::Register {
            schedule.faults.extend(generator.promotions(seed)); // no register loses what it took
        }
        schedule.faults.sort_by_key(|fault| fault.at);
        if self.contract == Contract::Within && generator.sampler.dice.happens(odds::HEAL) {
            generator.heal(&mut schedule);
        }
        schedule
    }
}

fn timing(dice: &mut Dice) -> Timing {
    let ttl = Duration::from_millis(dice.pick(odds::TTLS_MS));
    let mut timing = Timing::of(ttl);
    timing.drift_ppm = dice.pick(odds::LEASE_DRIFTS_PPM);
    if dice.happens(odds::NO_JITTER) {
        timing.jitter = Some(Duration::ZERO);
    }
    if dice.happens(odds::OWN_WAKE_JITTER) {
        timing.wake_jitter = Some(pick_of(dice, odds::WAKE_JITTERS, ttl));
    }
    if dice.happens(odds::NO_LEASE_GRACE) {
        timing.grace = Some(Duration::ZERO);
    }
    if dice.happens(odds::LEAST_LEASE_MARGIN) {
        let parted = ttl * timing.drift_ppm / 1_000_000;
        timing.margin = Some(parted + Duration::from_millis(1));
    }
    if dice.happens(odds::SHORT_INTERVAL) {
        timing.interval = Some(odds::INTERVAL.of(ttl));
    }
    timing
}

/// Of dice of its own, so that all other seeds keep their schedules.
fn at_least_for(seed: u64, ttl: Duration) -> Option<Duration> {
    let mut dice = Dice::new(!seed);
    dice.happens(odds::LEASE_LASTS).then(|| pick_of(&mut dice, odds::LEAST_LEASES, ttl))
}

/// The same.
fn clock_step(seed: u64, ttl: Duration) -> Option<Duration> {
    let mut dice = Dice::new(seed.rotate_left(32));
    dice.happens(odds::CLOCK_STEPS).then(|| ttl * dice.pick(odds::FORESEEN_STEPS))
}

fn from_nothing(high: Duration) -> DurationRange {
    DurationRange { low: Duration::ZERO, high }
}

fn from_a_twentieth(high: Duration) -> DurationRange {
    DurationRange { low: high / 20, high }
}

struct Generator {
    sampler: Sampler,
    ttl: Duration,
    drift: u32,
}

impl Generator {
    /// Several kinds of fault, several faults of each.
    fn faults(&mut self, contract: Contract) -> Vec<Fault> {
        let mut faults = Vec::new();
        for _ in 0..self.sampler.dice.pick(odds::FAULT_KINDS) {
            let place = MENU.draw(&mut self.sampler.dice, contract);
            for _ in 0..self.sampler.dice.pick(odds::REPETITIONS) {
                faults.extend(self.fault(place));
            }
        }
        if contract == Contract::Beyond {
            let place = MENU.draw_beyond(&mut self.sampler.dice);
            faults.extend(self.fault(place));
        }
        faults.sort_by_key(|fault| fault.at);
        faults
    }

    /// Some faults of the network, which the lease itself does not notice.
    fn network(&mut self) -> Vec<Fault> {
        (0..self.sampler.dice.pick(odds::NETWORK_FAULTS))
            .filter_map(|_| {
                let (from, to) = (self.sampler.node(), self.sampler.node());
                let kind = match NETWORK.draw(&mut self.sampler.dice, Contract::Within).fault {
                    FaultName::Sever => FaultKind::Sever(from, to),
                    FaultName::Clog => FaultKind::Clog(from, to),
                    FaultName::Part => FaultKind::Part((0..=from).collect()),
                    FaultName::Frames => {
                        let late = FrameFault::Late(self.delay(1));
                        let faults = [FrameFault::Lost, FrameFault::Twice, late];
                        let fault = self.sampler.dice.pick(&faults);
                        FaultKind::Frames(fault, self.sampler.dice.pick(odds::STATEMENT_ODDS_PPM))
                    }
                    simulator_fault!(FaultName)
                    | database_fault!(FaultName)
                    | member_fault!(FaultName) => return None,
                };
                Some(Fault { at: self.sampler.time(), lasts: self.span(), kind })
            })
            .collect()
    }

    /// Steps of the database's clock for which the leases allow. They come from dice of their own, too.
    fn foreseen_steps(&self, seed: u64, timing: &Timing) -> Vec<Fault> {
        let Some(all) = timing.clock_step else { return Vec::new() };
        let dice = Dice::new(!seed.rotate_left(32));
        let Sampler { count, horizon, .. } = self.sampler;
        let mut sampler = Sampler { dice, count, horizon };
        let steps = sampler.dice.pick(odds::STEPS);
        (0..steps)
            .map(|_| {
                let by = sampler.signed(all / steps) / 1_000_000;
                Fault { at: sampler.time(), lasts: Duration::ZERO, kind: FaultKind::Step(by) }
            })
            .collect()
    }

    /// Promotions of replicas. They come from dice of their own, too.
    fn promotions(&self, seed: u64) -> Vec<Fault> {
        let mut dice = Dice::new(seed.rotate_left(16));
        if !dice.happens(odds::PROMOTED) {
            return Vec::new();
        }
        let Sampler { count, horizon, .. } = self.sampler;
        let mut sampler = Sampler { dice, count, horizon };
        let times = sampler.dice.pick(odds::PROMOTIONS);
        (0..times)
            .map(|_| {
                let most = pick_of(&mut sampler.dice, odds::LEASE_DELAYS, self.ttl);
                let behind = sampler.upto(most);
                let by = sampler.signed(self.ttl * odds::MOST_STEP) / 1_000_000;
                let kind = FaultKind::Promote(behind, by);
                Fault { at: sampler.time(), lasts: Duration::ZERO, kind }
            })
            .collect()
    }

    fn fault(&mut self, Place { fault, beyond, .. }: Place) -> Option<Fault> {
        let node = self.sampler.node();
        let span = self.span();
        let kind = match fault {
            FaultName::Crash => FaultKind::Crash(node),
            FaultName::Pause => FaultKind::Pause(node),
            FaultName::Suspend => FaultKind::Suspend(node),
            FaultName::Stuck => FaultKind::Stuck(node),
            FaultName::Resign => FaultKind::Resign(node),
            FaultName::Unhealthy => FaultKind::Unhealthy(node),
            FaultName::Withdraw => FaultKind::Withdraw(node),
            FaultName::Rate => FaultKind::Rate(node, self.rate(beyond)),
            FaultName::Jump => FaultKind::Jump(node, self.sampler.signed(self.ttl)),
            FaultName::Clone => FaultKind::Clone(node, self.sampler.node()),
            FaultName::Cut => {
                let directions =
                    [CutDirection::Both, CutDirection::Requests, CutDirection::Replies];
                FaultKind::Cut(node, self.sampler.dice.pick(&directions))
            }
            FaultName::Storm => FaultKind::Storm(node),
            FaultName::Deaf => FaultKind::Deaf,
            FaultName::AskResign => FaultKind::AskResign,
            FaultName::Refuse => FaultKind::Refuse,
            FaultName::Hang => FaultKind::Hang,
            FaultName::Slow => FaultKind::Slow(self.delay(odds::SLOW_PART)),
            FaultName::Lock => FaultKind::Lock,
            FaultName::Fence => FaultKind::Fence,
            FaultName::Restart => FaultKind::Restart,
            FaultName::Step => {
                FaultKind::Step(self.sampler.signed(self.ttl * odds::MOST_STEP) / 1_000_000)
            }
            FaultName::Failover => FaultKind::Failover(self.delay(1)),
            FaultName::Promote => return None, // drawn apart
            FaultName::Odds if beyond => {
                let odds = self.sampler.dice.pick(odds::PHANTOM_ODDS_PPM);
                FaultKind::Odds(StatementFault::Phantom, odds)
            }
            FaultName::Odds => {
                let fault = self.sampler.dice.pick(odds::STATEMENT_FAULTS);
                let fault = fault.map_span(|_| self.delay(1));
                FaultKind::Odds(fault, self.sampler.dice.pick(odds::STATEMENT_ODDS_PPM))
            }
            FaultName::Wipe => FaultKind::Wipe,
            FaultName::Statement => return None, // what `Odds` does, written out
            network_fault!(FaultName) | member_fault!(FaultName) => return None,
        };
        let at = self.sampler.time();
        Some(Fault { at, lasts: if kind.lasts() { span } else { Duration::ZERO }, kind })
    }

    /// The gain of a clock.
    fn rate(&mut self, beyond: bool) -> i32 {
        if beyond {
            return self.sampler.dice.pick(odds::LEASE_RATES_PPM);
        }
        let drift = i32::try_from(self.drift).unwrap_or(0);
        self.sampler.dice.pick(&[-drift, drift, 0])
    }

    /// From a fraction of a round trip to several leases.
    fn span(&mut self) -> Duration {
        let most = pick_of(&mut self.sampler.dice, odds::LEASE_SPANS, self.ttl);
        self.sampler.upto(most)
    }

    /// A delay, whose longest value is divided by `divided_by`.
    fn delay(&mut self, divided_by: u32) -> Duration {
        let most = pick_of(&mut self.sampler.dice, odds::LEASE_DELAYS, self.ttl);
        self.sampler.upto(most / divided_by)
    }

    /// In the last third the core is healed: faults that hit it end before or never begin.
    fn heal(&mut self, schedule: &mut Schedule) {
        let at = odds::LEASE_HEALS_AT.of(self.sampler.horizon);
        let candidates = schedule.nodes.iter().enumerate().filter(|(_, node)| !node.observer);
        let able: Vec<usize> = candidates.map(|(index, _)| index).collect();
        let certain = self.sampler.dice.pick(&able);
        let dice = &mut self.sampler.dice;
        let mut core: Vec<usize> = able
            .into_iter()
            .filter(|node| *node == certain || dice.happens(odds::IN_CORE))
            .collect();
        core.sort_unstable();
        schedule.faults.retain(|fault| fault.at < at || !fault.kind.befalls(&core));
        schedule.heal = Some(Heal { at, core, within: self.ttl * odds::LEASE_ELECTION });
    }
}

//! A whole world from bytes: topology, timing and faults as libFuzzer likes them, within the
//! contract. Every invariant holds, and playing twice gives one result.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use election_sim::{
    Contract, CutDirection, DurationRange, Engine, Fault, FaultKind, Member, Schedule,
    StatementFault, Timing,
};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

#[derive(Debug)]
struct World(Schedule);

impl<'a> Arbitrary<'a> for World {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let ttl = Duration::from_millis(*u.choose(&[500, 3_000, 15_000])?);
        let mut schedule = Schedule::calm(u.int_in_range(1..=4)?, ttl);
        schedule.seed = u.arbitrary()?;
        schedule.engine = *u.choose(&[Engine::Postgres, Engine::MySql, Engine::Sqlite])?;
        let timing = Timing::of(ttl);
        schedule.timing = Timing { margin: margin(u, &timing)?, ..timing };
        for node in &mut schedule.nodes {
            let ppm = u.int_in_range(-10_000..=10_000)?;
            *node = Member { ppm, observer: u.ratio(1, 8)?, ..node.clone() };
        }
        schedule.latency = DurationRange { low: Duration::ZERO, high: part(u, ttl / 8)? };
        schedule.commit = DurationRange { low: Duration::ZERO, high: part(u, ttl / 32)? };
        schedule.stop = DurationRange { low: Duration::ZERO, high: part(u, ttl)? };
        schedule.horizon = ttl * 8;
        for _ in 0..u.int_in_range(0..=12)? {
            let fault = fault(u, &schedule)?;
            schedule.faults.push(fault);
        }
        Ok(Self(schedule))
    }
}

/// The least that the drift bound permits, or what is derived.
fn margin(u: &mut Unstructured<'_>, timing: &Timing) -> arbitrary::Result<Option<Duration>> {
    let parted = timing.ttl * timing.drift_ppm / 1_000_000;
    Ok(if u.arbitrary()? { Some(parted + Duration::from_millis(1)) } else { None })
}

fn part(u: &mut Unstructured<'_>, most: Duration) -> arbitrary::Result<Duration> {
    let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
    Ok(Duration::from_micros(u.int_in_range(0..=most)?))
}

fn fault(u: &mut Unstructured<'_>, schedule: &Schedule) -> arbitrary::Result<Fault> {
    let ttl = schedule.timing.ttl;
    let node = u.choose_index(schedule.nodes.len())?;
    let what = match u.int_in_range(0..=18)? {
        0 => FaultKind::Crash(node),
        1 => FaultKind::Pause(node),
        2 => FaultKind::Stuck(node),
        3 => FaultKind::Resign(node),
        4 => FaultKind::Unhealthy(node),
        5 => FaultKind::Withdraw(node),
        6 => FaultKind::Rate(node, u.int_in_range(-10_000..=10_000)?),
        7 => FaultKind::Cut(
            node,
            *u.choose(&[CutDirection::Both, CutDirection::Requests, CutDirection::Replies])?,
        ),
        8 => FaultKind::Storm(node),
        9 => FaultKind::Deaf,
        10 => FaultKind::AskResign,
        11 => FaultKind::Refuse,
        12 => FaultKind::Hang,
        13 => FaultKind::Slow(part(u, ttl)?),
        14 => FaultKind::Lock,
        15 => FaultKind::Fence,
        16 => FaultKind::Restart,
        _ => FaultKind::Statement(node, u.int_in_range(1..=40)?, fate(u, ttl)?),
    };
    let lasts = if what.lasts() { part(u, ttl * 3)? } else { Duration::ZERO };
    Ok(Fault { at: part(u, schedule.horizon)?, lasts, kind: what })
}

fn fate(u: &mut Unstructured<'_>, ttl: Duration) -> arbitrary::Result<StatementFault> {
    Ok(match u.int_in_range(0..=11)? {
        0 => StatementFault::Lost,
        1 => StatementFault::Late(part(u, ttl * 2)?),
        2 => StatementFault::Stalled(part(u, ttl * 2)?),
        3 => StatementFault::Unanswered,
        4 => StatementFault::Slow(part(u, ttl)?),
        5 => StatementFault::Twice,
        6 => StatementFault::Refused,
        7 => StatementFault::Locked,
        8 => StatementFault::Unknown,
        9 => StatementFault::Aborted,
        10 => StatementFault::Fatal,
        _ => StatementFault::Stale(part(u, ttl)?),
    })
}

fuzz_target!(|world: World| {
    let World(schedule) = world;
    assert_eq!(schedule.contract(), Contract::Within);
    let outcome = schedule.play().expect("a world that can be");
    if let Some(violation) = &outcome.violation {
        panic!("{violation}\n{schedule}");
    }
    assert_eq!(schedule.play().expect("a world that can be").hash, outcome.hash);
});

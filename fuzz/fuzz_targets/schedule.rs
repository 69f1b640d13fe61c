//! A whole world from bytes: topology, timing and faults as libFuzzer likes them, within the
//! contract. Every invariant holds, and playing twice gives one result.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use election_sim::{Between, Contract, Engine, Fate, Fault, Member, Schedule, Timing, Way, What};
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
        schedule.latency = Between { low: Duration::ZERO, high: part(u, ttl / 8)? };
        schedule.commit = Between { low: Duration::ZERO, high: part(u, ttl / 32)? };
        schedule.stop = Between { low: Duration::ZERO, high: part(u, ttl)? };
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
        0 => What::Crash(node),
        1 => What::Pause(node),
        2 => What::Stuck(node),
        3 => What::Resign(node),
        4 => What::Unhealthy(node),
        5 => What::Withdraw(node),
        6 => What::Rate(node, u.int_in_range(-10_000..=10_000)?),
        7 => What::Cut(node, *u.choose(&[Way::Both, Way::Requests, Way::Replies])?),
        8 => What::Storm(node),
        9 => What::Deaf,
        10 => What::AskResign,
        11 => What::Refuse,
        12 => What::Hang,
        13 => What::Slow(part(u, ttl)?),
        14 => What::Lock,
        15 => What::Fence,
        16 => What::Restart,
        _ => What::Statement(node, u.int_in_range(1..=40)?, fate(u, ttl)?),
    };
    let lasts = if what.lasts() { part(u, ttl * 3)? } else { Duration::ZERO };
    Ok(Fault { at: part(u, schedule.horizon)?, lasts, what })
}

fn fate(u: &mut Unstructured<'_>, ttl: Duration) -> arbitrary::Result<Fate> {
    Ok(match u.int_in_range(0..=11)? {
        0 => Fate::Lost,
        1 => Fate::Late(part(u, ttl * 2)?),
        2 => Fate::Stalled(part(u, ttl * 2)?),
        3 => Fate::Unanswered,
        4 => Fate::Slow(part(u, ttl)?),
        5 => Fate::Twice,
        6 => Fate::Refused,
        7 => Fate::Locked,
        8 => Fate::Unknown,
        9 => Fate::Aborted,
        10 => Fate::Fatal,
        _ => Fate::Stale(part(u, ttl)?),
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

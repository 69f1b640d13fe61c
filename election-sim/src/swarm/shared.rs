//! Schedules of many elections whose processes share their connections.

use super::probabilities as odds;
use crate::{
    draw::Dice,
    fault::{Fault, FaultKind},
    lease::befalls_one,
    schedule::Schedule,
    span::DurationRange,
};
use std::time::Duration;

/// The same schedule for several elections, drawn by dice of their own.
pub(super) fn shared(mut schedule: Schedule) -> Schedule {
    let mut dice = Dice::new(schedule.seed.rotate_left(48));
    let most = dice.pick(odds::MOST_ELECTIONS);
    let count = dice.between(1, most);
    schedule.elections = usize::try_from(count).unwrap_or(1);
    // As many questions one after the other must fit into a lease, and two into the time of one, beside a lock.
    let ttl = schedule.timing.ttl;
    let all = u32::try_from(count).unwrap_or(1) * odds::TRIPS_IN_A_LEASE;
    let all = all.max(odds::LEAST_TRIPS_IN_A_LEASE);
    let at_most = |range: DurationRange| DurationRange {
        low: range.low.min(ttl / all / 20),
        high: range.high.min(ttl / all),
    };
    (schedule.latency, schedule.commit) = (at_most(schedule.latency), at_most(schedule.commit));
    // As every store bounds its waits.
    schedule.lock_timeout = Some(ttl / odds::LOCKS_IN_A_LEASE);
    if dice.happens(odds::SINGLE_FAULTS) {
        only_single_faults(&mut schedule, &mut dice);
    }
    schedule
}

/// Faults of single elections only, a lock among them.
fn only_single_faults(schedule: &mut Schedule, dice: &mut Dice) {
    let engine = schedule.engine;
    schedule.faults.retain(|fault| befalls_one(&fault.kind, engine));
    if befalls_one(&FaultKind::Lock, engine) {
        let upto = |dice: &mut Dice, most: Duration| {
            let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
            Duration::from_millis(dice.between(1, most.max(1)))
        };
        let end = schedule.heal.as_ref().map_or(schedule.horizon, |heal| heal.at);
        let (at, lasts) =
            (upto(dice, end - Duration::from_millis(1)), upto(dice, schedule.timing.ttl * 4));
        schedule.faults.push(Fault { at, lasts, kind: FaultKind::Lock });
        schedule.faults.sort_by_key(|fault| fault.at);
    }
}

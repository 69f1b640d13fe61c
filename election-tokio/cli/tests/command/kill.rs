//! Leaders that are killed without warning.

use super::{
    process::{eventually, gone},
    world::{Candidate, World},
};
use std::time::Duration;

const KILLS: usize = 50;
const TTL: Duration = Duration::from_millis(600);

#[test]
fn fifty_leaders_killed_one_after_the_other() {
    let world = World::new();
    let candidate = |number: usize| world.candidate(&format!("n{number}"), &["--ttl", "600ms"], "");
    let mut candidates: Vec<Candidate> = (0..3).map(candidate).collect();
    let mut late = Vec::new();
    let mut killed = 0;
    for kill in 0..KILLS {
        // Kills the current leader, at another phase of the lease each time: after no renewal, one
        // or two. On a busy machine it may have lost so short a lease by itself.
        let (leader, doomed) = eventually("a leader", || {
            let leader = world.notes("start").pop().filter(|leader| leader.epoch > killed)?;
            let row = world.row();
            let ripe = row.renewals >= kill as u64 % 3 || row.epoch.get() > leader.epoch;
            let doomed = candidates.iter().position(|each| each.pid() == leader.elector)?;
            ripe.then_some((leader, doomed))
        });
        candidates.swap_remove(doomed).kill();
        killed = leader.epoch;
        let row = world.row();
        let asked = election_tokio::now();
        gone("the job of a killed elector", leader.pid);
        candidates.push(candidate(kill + 3));
        let next = world.start_after(leader.epoch);
        // A leader that had lost its lease before it was killed leaves nothing to measure.
        if row.epoch.get() == leader.epoch && row.live_holder().is_some() {
            let free = (asked + row.remaining).as_nanos();
            late.push((next.at as f64 - free as f64) / 1e6);
        }
    }
    world.assert_exclusive();
    assert!(world.notes("start").len() > KILLS);
    assert!(late.len() > KILLS / 2, "hardly a kill hit a leader: {late:?}");
    report("start of the next job after the end of the killed leader's lease", &mut late);
    let longest = late.last().copied().unwrap_or(0.0);
    assert!(longest < TTL.as_secs_f64() * 1e3 + 5e3, "{longest} ms after the lease");
}

/// Prints a distribution, for those who watch the tests (`--no-capture`).
pub(crate) fn report(what: &str, millis: &mut [f64]) {
    millis.sort_by(f64::total_cmp);
    let at = |share: usize| millis.get((millis.len() * share).div_ceil(100).saturating_sub(1));
    let [p50, p99, max] = [50, 99, 100].map(|share| at(share).copied().unwrap_or(f64::NAN));
    let count = millis.len();
    println!("{what}: p50 {p50:.1} ms, p99 {p99:.1} ms, most {max:.1} ms ({count} measured)");
}

/// Nobody waits for the end of the lease to end the job, not even of one that ignores signals.
#[test]
fn the_job_dies_with_its_elector_not_with_the_lease() {
    let world = World::new();
    let mut leader = world.candidate("leader", &["--ttl", "10m"], "ignore-term");
    let job = world.first("start");
    leader.kill();
    gone("the job", job.pid);
}

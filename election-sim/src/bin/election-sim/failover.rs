//! How long a quorum has no primary, in virtual time: after a crash, and in a handover.

use crate::{json::Object, values::InputError};
use election_sim::{Cluster, DurationRange, Fault, FaultKind, LineKind, Schedule, World};
use std::{sync::Arc, time::Duration};

const RUNS: u64 = 400;
const DOWN: Duration = Duration::from_secs(5);
const SECOND: Duration = Duration::from_secs(1);
/// The longest time of a frame's trip, and of a save.
const TRIP: Duration = Duration::from_millis(5);
const SAVE: Duration = Duration::from_millis(5);

/// Outages of one kind.
pub(crate) struct Outages {
    lengths: Vec<Duration>,
    /// The limit that no outage should exceed.
    aim: Duration,
}

/// From the crash of a primary to the election of another.
pub(crate) fn failovers(nodes: usize) -> Result<Outages, InputError> {
    let crash = |leader| FaultKind::Crash(leader);
    Ok(Outages { lengths: lengths(nodes, &crash)?, aim: DOWN + TRIP * 3 + SAVE * 2 })
}

/// From the order to hand over to the next member to that member's election.
pub(crate) fn hand_overs(nodes: usize) -> Result<Outages, InputError> {
    let hand_over = |leader| FaultKind::HandOver(leader, (leader + 1) % nodes);
    Ok(Outages { lengths: lengths(nodes, &hand_over)?, aim: TRIP * 5 + SAVE * 2 })
}

fn lengths(nodes: usize, what: &dyn Fn(usize) -> FaultKind) -> Result<Vec<Duration>, InputError> {
    let mut lengths = Vec::new();
    for seed in 0..RUNS {
        // The runs cover the instants between two heartbeats evenly.
        let at = SECOND * 12 + Duration::from_micros(seed * 200_000 / RUNS);
        let mut schedule = Schedule { seed, horizon: at, ..Schedule::calm_quorum(nodes, DOWN) };
        schedule.latency = DurationRange { low: TRIP / 5, high: TRIP };
        let save = DurationRange { low: SAVE / 5, high: SAVE };
        schedule.cluster = Some(Cluster { save, ..Cluster::of(DOWN) });
        let mut world = World::new(schedule.clone()).map_err(|why| InputError(why.to_string()))?;
        world.run();
        let leader = world.view().leaders().next();
        let (leader, _) =
            leader.ok_or_else(|| InputError("nobody leads in calm weather".into()))?;
        let fault = what(leader);
        let lasts = if fault.lasts() { SECOND * 60 } else { Duration::ZERO };
        schedule.faults.push(Fault { at, lasts, kind: fault });
        schedule.horizon = at + SECOND * 60;
        let narrated = schedule.narrate(&Arc::default());
        let (_, lines) = narrated.map_err(|why| InputError(why.to_string()))?;
        let elected = lines.iter().find(|line| {
            line.at >= at && line.kind == LineKind::Change && line.text.starts_with("elected")
        });
        lengths.push(elected.map_or(SECOND * 60, |line| line.at - at));
    }
    lengths.sort_unstable();
    Ok(lengths)
}

impl Outages {
    pub(crate) fn report(&self, object: Object, name: &str, json: bool) -> Object {
        let count = u32::try_from(self.lengths.len().max(1)).unwrap_or(1);
        let mean = self.lengths.iter().sum::<Duration>() / count;
        let at = |part: usize| {
            let place = (self.lengths.len() * part / 100).min(self.lengths.len() - 1);
            self.lengths[place]
        };
        let (half, most, worst) = (at(50), at(99), at(100));
        if !json {
            println!(
                "{name:<22} mean {mean:.1?}  half {half:.1?}  99 of 100 {most:.1?}  \
                 worst {worst:.1?}  (aim: worst {:.1?})",
                self.aim
            );
        }
        let key = name.replace([' ', '-'], "_");
        object
            .number(&format!("{key}_mean_ms"), mean.as_millis())
            .number(&format!("{key}_worst_ms"), worst.as_millis())
    }
}

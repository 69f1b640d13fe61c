//! One round: its faults are inflicted and healed, each in its time, and then some node leads.

use crate::{
    cast::ttl,
    fault::{Fault, Heal, Wound},
    plan::{Hit, Round},
    report::Report,
    world::World,
};
use election_tokio::now;
use std::time::{Duration, Instant};

/// How long to wait for a leader, or for something to be undone.
const PATIENCE: Duration = Duration::from_secs(20);

/// The course of one fault.
struct Course<'a> {
    hit: &'a Hit,
    fault: &'a Fault,
    stage: Stage,
}

enum Stage {
    Before,
    Within {
        since: u64,
        until: Instant,
        heal: Heal,
    },
    /// Healed at this time, or never inflicted.
    Over(Option<u64>),
}

impl Course<'_> {
    fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    fn moves_the_ground(&self) -> bool {
        self.fault.ground && matches!(self.stage, Stage::Within { .. })
    }

    /// Goes on to the next stage if it is time for that.
    fn go_on(&mut self, world: &mut World, began: Instant, ground_moves: bool) {
        let name = self.fault.name;
        match std::mem::replace(&mut self.stage, Stage::Over(None)) {
            Stage::Before
                if began.elapsed() < self.hit.after || ground_moves && self.fault.ground =>
            {
                self.stage = Stage::Before;
            }
            Stage::Before => {
                let since = now().as_nanos();
                let until = Instant::now() + self.hit.lasts.max(ttl() * self.fault.least / 100);
                match (self.fault.inflict)(world, self.hit) {
                    Some(Wound::Until(heal)) => self.stage = Stage::Within { since, until, heal },
                    Some(Wound::Once) => self.stage = Stage::Over(Some(world.window(name, since))),
                    None => _ = world.window(name, since),
                }
            }
            Stage::Within { since, until, heal } if Instant::now() < until => {
                self.stage = Stage::Within { since, until, heal };
            }
            Stage::Within { since, until, mut heal } => {
                if heal(world) {
                    self.stage = Stage::Over(Some(world.window(name, since)));
                    return;
                }
                assert!(until.elapsed() < PATIENCE, "{name} cannot be undone");
                self.stage = Stage::Within { since, until, heal };
            }
            over @ Stage::Over(_) => self.stage = over,
        }
    }
}

/// Plays one round, and returns what was done and its effects.
pub(crate) fn play(
    world: &mut World,
    faults: &[&Fault],
    round: &Round,
    report: &mut Report,
) -> String {
    let began = Instant::now();
    let course = |hit| Course { hit, fault: faults[hit.fault], stage: Stage::Before };
    let mut courses: Vec<Course<'_>> = round.hits.iter().map(course).collect();
    while !courses.iter().all(Course::is_over) {
        for place in 0..courses.len() {
            let ground_moves = courses.iter().any(Course::moves_the_ground);
            courses[place].go_on(world, began, ground_moves);
        }
        world.wait(Duration::from_millis(5));
    }
    let (mut done, mut healed) = (Vec::new(), 0);
    for course in &courses {
        match course.stage {
            Stage::Over(Some(at)) => {
                done.push(course.fault.name);
                healed = healed.max(at);
            }
            _ => report.missed(course.fault.name),
        }
    }
    let healed = if healed == 0 { now().as_nanos() } else { healed };
    let recovery = world.within(PATIENCE, |world| world.led_after(healed)).map(|at| at - healed);
    world.make_good();
    report.round(&done, recovery);
    let targets: Vec<_> = round.hits.iter().map(|hit| hit.target).collect();
    match recovery {
        Some(nanos) => format!("{done:?} to {targets:?}, recovered in {} ms", nanos / 1_000_000),
        None => format!("{done:?} to {targets:?}, nobody leads"),
    }
}

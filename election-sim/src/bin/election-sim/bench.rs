//! How much the simulator does per second of one core, with every checker on.

use crate::{CLEAN, json::Object, values::InputError};
use election_sim::{Schedule, Swarm, World};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(15);
const DOWN: Duration = Duration::from_secs(5);
const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn bench(json: bool) -> Result<u8, InputError> {
    let mut object = Object::default();
    for (name, schedule) in [
        ("lease of 5 nodes", Schedule { horizon: DAY * 30, ..Schedule::calm(5, TTL) }),
        ("lease of 1000 nodes", Schedule { horizon: DAY / 12, ..Schedule::calm(1_000, TTL) }),
        ("quorum of 5 nodes", Schedule { horizon: DAY / 2, ..Schedule::calm_quorum(5, DOWN) }),
    ] {
        let length = schedule.horizon;
        let (events, took) = timed(&schedule)?;
        let rate = events as f64 / took.as_secs_f64();
        let year = 365.0 * 86_400.0 / (length.as_secs_f64() / took.as_secs_f64());
        if !json {
            println!(
                "{name:<22} {:>6.2} M events/s  {:>10.0} × real time  a year in {year:.1} s",
                rate / 1e6,
                length.as_secs_f64() / took.as_secs_f64()
            );
        }
        let key = name.replace(' ', "_");
        object = object
            .number(&format!("{key}_events_per_second"), format!("{rate:.0}"))
            .number(&format!("{key}_seconds_per_year"), format!("{year:.2}"));
    }
    let mut rates = Vec::new();
    for (name, swarm) in [
        ("lease swarm", Swarm::within_contract()),
        ("quorum swarm", Swarm::within_contract().of_quorum()),
    ] {
        let (events, took) = play(swarm)?;
        let rate = events as f64 / took.as_secs_f64();
        let key = format!("{}_events_per_second", name.replace(' ', "_"));
        object = object.number(&key, format!("{rate:.0}"));
        rates.push((name, rate));
    }
    for nodes in [3, 5] {
        let took = crate::failover::failovers(nodes)?;
        object = took.report(object, &format!("failover of {nodes} nodes"), json);
        let took = crate::failover::hand_overs(nodes)?;
        object = took.report(object, &format!("hand-over of {nodes} nodes"), json);
    }
    let empty = empty()?;
    object = object.number("empty_simulation_microseconds", empty.as_micros());
    if json {
        object.print();
    } else {
        for (name, rate) in rates {
            println!("{:<22} {:>6.2} M events/s", format!("{name}, 2000 seeds"), rate / 1e6);
        }
        println!("{:<22} {empty:>9.2?}", "an empty simulation");
    }
    Ok(CLEAN)
}

fn timed(schedule: &Schedule) -> Result<(u64, Duration), InputError> {
    let mut world = World::new(schedule.clone()).map_err(|why| InputError(why.to_string()))?;
    let began = Instant::now();
    world.run(); // this measures; other commands judge
    Ok((world.events(), began.elapsed()))
}

fn play(swarm: Swarm) -> Result<(u64, Duration), InputError> {
    let mut all = (0, Duration::ZERO);
    for seed in 0..2_000 {
        let (events, took) = timed(&swarm.schedule(seed))?;
        all = (all.0 + events, all.1 + took);
    }
    Ok(all)
}

fn empty() -> Result<Duration, InputError> {
    let schedule = Schedule { horizon: Duration::from_nanos(1), ..Schedule::calm(5, TTL) };
    let began = Instant::now();
    for _ in 0..100 {
        timed(&schedule)?;
    }
    Ok(began.elapsed() / 100)
}

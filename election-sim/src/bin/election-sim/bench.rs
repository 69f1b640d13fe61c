//! What the simulator does per second of one core, with every checker on.

use crate::{
    CLEAN,
    args::{Invalid, Options},
    json::Object,
};
use election_sim::{Schedule, Swarm, World};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(15);
const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn bench(options: &Options) -> Result<u8, Invalid> {
    let mut object = Object::default();
    for (name, nodes, length) in
        [("lease of 5 nodes", 5, DAY * 30), ("lease of 1000 nodes", 1_000, DAY / 12)]
    {
        let (events, took) = calm(nodes, length)?;
        let rate = events as f64 / took.as_secs_f64();
        let year = 365.0 * 86_400.0 / (length.as_secs_f64() / took.as_secs_f64());
        if !options.json {
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
    let (events, took) = swarm()?;
    let rate = events as f64 / took.as_secs_f64();
    object = object.number("swarm_events_per_second", format!("{rate:.0}"));
    let empty = empty()?;
    object = object.number("empty_simulation_microseconds", empty.as_micros());
    if options.json {
        object.print();
    } else {
        println!("{:<22} {:>6.2} M events/s", "swarm, 2000 seeds", rate / 1e6);
        println!("{:<22} {empty:>9.2?}", "an empty simulation");
    }
    Ok(CLEAN)
}

fn calm(nodes: usize, length: Duration) -> Result<(u64, Duration), Invalid> {
    let schedule = Schedule { horizon: length, ..Schedule::calm(nodes, TTL) };
    timed(&schedule)
}

fn timed(schedule: &Schedule) -> Result<(u64, Duration), Invalid> {
    let mut world = World::new(schedule.clone()).map_err(|why| Invalid(why.to_string()))?;
    let began = Instant::now();
    match world.run() {
        Some(violation) => Err(Invalid(violation.to_string())),
        None => Ok((world.events(), began.elapsed())),
    }
}

fn swarm() -> Result<(u64, Duration), Invalid> {
    let swarm = Swarm::within_contract();
    let mut all = (0, Duration::ZERO);
    for seed in 0..2_000 {
        let (events, took) = timed(&swarm.schedule(seed))?;
        all = (all.0 + events, all.1 + took);
    }
    Ok(all)
}

fn empty() -> Result<Duration, Invalid> {
    let schedule = Schedule { horizon: Duration::from_nanos(1), ..Schedule::calm(5, TTL) };
    let began = Instant::now();
    for _ in 0..100 {
        timed(&schedule)?;
    }
    Ok(began.elapsed() / 100)
}

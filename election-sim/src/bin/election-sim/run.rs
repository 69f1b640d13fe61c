//! Plays seeds and files, replays one of them, or shrinks one.

use crate::{
    CLEAN, VIOLATED,
    args::{Input, Options},
    json::Object,
    values::{InputError, read},
};
use election_sim::{Budget, Report, Schedule, Scn, Seed, Summary, Violation};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) fn run(options: &Options) -> Result<u8, InputError> {
    match &options.what {
        Input::Files(files) => run_files(files),
        _ if options.reach => crate::reach::reach(options),
        _ => run_seeds(options),
    }
}

fn run_seeds(options: &Options) -> Result<u8, InputError> {
    let workload = Arc::default();
    let Options { seeds, budget, jobs, .. } = options;
    let make = |seed| options.swarm.schedule(seed);
    let bar = progress_bar(options);
    let began = Instant::now();
    let budget = Budget { seeds: seeds.clone(), time: *budget, jobs: *jobs };
    let summary = budget.play(&workload, &make, &|done| bar.inc(done));
    bar.finish_and_clear();
    let summary = summary.map_err(|why| InputError(why.to_string()))?;
    let took = began.elapsed();
    let Some((seed, violation)) = summary.failure.clone() else {
        tell(&summary, took, options.json, None);
        return Ok(CLEAN);
    };
    if options.json {
        tell(&summary, took, true, Some((seed, &violation)));
        return Ok(VIOLATED);
    }
    tell(&summary, took, false, None);
    let mut report = Report::new(protocol(&make(seed)), seed, &make(seed), &workload, violation);
    report.command =
        format!("election-sim replay {} {}{}", protocol(&make(seed)), Seed(seed), flags(options));
    if let Err(why) = report.save(&options.out) {
        eprintln!("election-sim: {}: {why}", options.out.display());
    }
    println!("{report}");
    Ok(VIOLATED)
}

/// The name of the protocol by which a schedule's nodes elect.
fn protocol(schedule: &Schedule) -> &'static str {
    if schedule.cluster.is_some() { "quorum" } else { "lease" }
}

/// The options that decide what a seed means.
fn flags(options: &Options) -> String {
    let beyond = options.swarm.contract == election_sim::Contract::Beyond;
    let mut flags = if beyond { " --beyond".to_owned() } else { String::new() };
    if options.swarm.legacy {
        flags += " --legacy";
    }
    if options.swarm.lists {
        flags += " --lists";
    }
    if options.swarm.shared {
        flags += " --shared";
    }
    if let Some(nodes) = options.swarm.nodes {
        flags += &format!(" --nodes {nodes}");
    }
    if let Some(timing) = &options.swarm.timing {
        flags += &format!(" --ttl {}", timing.ttl.as_secs_f64());
    }
    if let Some(span) = options.swarm.down_after {
        flags += &format!(" --down-after {}", span.as_secs_f64());
    }
    if let Some(engine) = options.swarm.engine {
        flags += &format!(" --engine {}", format!("{engine:?}").to_lowercase());
    }
    flags
}

fn progress_bar(options: &Options) -> ProgressBar {
    if options.json {
        return ProgressBar::hidden();
    }
    let bar = match options.budget {
        Some(_) => ProgressBar::no_length(),
        None => ProgressBar::new(options.seeds.end - options.seeds.start),
    };
    let style = "{elapsed} {wide_bar} {pos}/{len} seeds {per_sec}";
    bar.with_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    )
}

fn tell(summary: &Summary, took: Duration, json: bool, failure: Option<(u64, &Violation)>) {
    let hours = summary.simulated.as_secs_f64() / 3_600.0;
    let rate = summary.events as f64 / took.as_secs_f64() / 1e6;
    if !json {
        println!(
            "{} seeds ({} twice), {} events, {hours:.0} hours, {} elections in {took:.1?}: \
             {rate:.1} M events/s; hash {:016x}",
            summary.seeds, summary.replayed, summary.events, summary.elections, summary.hash
        );
        for (name, runs) in &summary.broken {
            println!("beyond the contract, {name} did not hold in {runs} runs");
        }
        return;
    }
    let object = Object::default()
        .number("seeds", summary.seeds)
        .number("replayed", summary.replayed)
        .number("events", summary.events)
        .number("simulated_seconds", summary.simulated.as_secs())
        .number("elections", summary.elections)
        .text("hash", &format!("{:016x}", summary.hash))
        .number("seconds", format!("{:.3}", took.as_secs_f64()));
    match failure {
        None => object.text("result", "clean"),
        Some((seed, violation)) => object
            .text("result", "violated")
            .text("seed", &Seed(seed).to_string())
            .text("check", &violation.check)
            .number("at_seconds", violation.at.as_secs_f64())
            .text("what", &violation.what),
    }
    .print();
}

fn run_files(files: &[PathBuf]) -> Result<u8, InputError> {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let mut code = CLEAN;
    for path in files {
        let scn = read(path)?;
        let (outcome, transcript) =
            scn.play(&Arc::default()).map_err(|why| InputError(why.to_string()))?;
        let shown = path.display();
        if update {
            let written = std::fs::read_to_string(path)
                .and_then(|text| std::fs::write(path, Scn::rewritten(&text, &transcript)));
            written.map_err(|why| InputError(format!("{shown}: {why}")))?;
            println!("{shown}: written");
        } else if scn.transcript.as_ref().is_some_and(|expected| *expected != transcript) {
            println!("{shown}: differs from its transcript (UPDATE=1 rewrites it):\n{transcript}");
            code = VIOLATED;
        } else if scn.transcript.is_none() && outcome.violation.is_some() {
            println!("{shown}:\n{transcript}");
            code = VIOLATED;
        } else {
            println!("{shown}: as expected");
        }
    }
    Ok(code)
}

/// The one schedule that a command is about, and its name.
fn one(options: &Options) -> Result<(Scn, u64), InputError> {
    match &options.what {
        Input::Seeds(Some(Seed(seed))) => Ok((Scn::new(options.swarm.schedule(*seed)), *seed)),
        Input::Files(files) => match files.as_slice() {
            [file] => read(file).map(|scn| (scn, 0)),
            _ => Err(InputError("one file at a time".into())),
        },
        _ => Err(InputError("which seed? as in `replay lease 0x2a`".into())),
    }
}

pub(crate) fn replay(options: &Options) -> Result<u8, InputError> {
    let (mut scn, _) = one(options)?;
    if scn.needs_app() {
        eprintln!(
            "election-sim: the app of this schedule is in a test, and only the election is played \
             here: ELECTION_SIM_SCN=FILE in front of that test's `cargo test` plays both"
        );
    }
    scn.full |= options.full;
    let impossible = |why: election_sim::ScheduleError| InputError(why.to_string());
    let (outcome, transcript) = scn.play(&Arc::default()).map_err(impossible)?;
    let (_, lines) = scn.schedule.narrate(&Arc::default()).map_err(impossible)?;
    scn.transcript = Some(transcript);
    if let Some(path) = &options.svg {
        let page = path.extension().is_some_and(|extension| extension == "html");
        let draw = if page { election_sim::html } else { election_sim::svg };
        std::fs::write(path, draw(&scn.schedule, &outcome, &lines))
            .map_err(|why| InputError(format!("{}: {why}", path.display())))?;
    }
    print!("{scn}");
    print!("\n{}", election_sim::timeline(&scn.schedule, &lines, outcome.length, 100));
    Ok(if outcome.violation.is_some() { VIOLATED } else { CLEAN })
}

pub(crate) fn shrink(options: &Options) -> Result<u8, InputError> {
    let (scn, seed) = one(options)?;
    let violation = violation_of(&scn.schedule)?;
    let Some(violation) = violation else {
        println!("nothing is violated; there is nothing to shrink");
        return Ok(CLEAN);
    };
    let began = Instant::now();
    let mut report =
        Report::new(protocol(&scn.schedule), seed, &scn.schedule, &Arc::default(), violation);
    let took = began.elapsed();
    if let Err(why) = report.save(&options.out) {
        eprintln!("election-sim: {}: {why}", options.out.display());
    }
    print!("{}", report.scn);
    println!("\nshrunk in {took:.2?}\n{}", report.picture);
    Ok(VIOLATED)
}

fn violation_of(schedule: &Schedule) -> Result<Option<Violation>, InputError> {
    schedule.play().map(|outcome| outcome.violation).map_err(|why| InputError(why.to_string()))
}

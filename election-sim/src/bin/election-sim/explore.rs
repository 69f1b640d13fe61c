//! Searching: every state of a small world, or many walks through it.

use crate::{CLEAN, VIOLATED, args::Invalid, json::Object};
use election_sim::explore::{
    Broken, Count, Counterexample, Ended, Exported, Limits, Model, Outcome, Walks, breadth_first,
    lease::{self, Lease},
    quorum::{self, Quorum},
    walk,
};
use indicatif::{ProgressBar, ProgressStyle};
use lexopt::{Arg, Parser, ValueExt as _};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// What is explored, and how.
#[derive(Debug)]
pub(crate) struct Options {
    worlds: Worlds,
    limits: Limits,
    walks: Option<Walks>,
    out: PathBuf,
    json: bool,
}

/// Small worlds by name, of one side.
#[derive(Debug)]
enum Worlds {
    Lease(Vec<(&'static str, lease::Scope)>),
    Quorum(Vec<(&'static str, quorum::Scope)>),
}

pub(crate) fn parse(parser: &mut Parser) -> Result<Options, Invalid> {
    let mut options = Options {
        worlds: Worlds::Lease(Vec::new()),
        limits: Limits::default(),
        walks: None,
        out: PathBuf::from("target/election-sim"),
        json: false,
    };
    let mut walks = Walks { seed: 0, walks: u64::MAX, length: 100, swarm: false };
    let (mut mode, mut scope) = (String::from("bfs"), String::from("small"));
    let (mut side, mut nodes) = (None, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("scope") => scope = parser.value()?.string()?,
            Arg::Long("nodes") => nodes = Some(parser.value()?.parse()?),
            Arg::Long("depth") => options.limits.depth = parser.value()?.parse()?,
            Arg::Long("states") => options.limits.states = parser.value()?.parse()?,
            Arg::Long("memory") => {
                let gigabytes: usize = parser.value()?.parse()?;
                options.limits.bytes = gigabytes.saturating_mul(1 << 30);
            }
            Arg::Long("budget") => {
                let seconds = parser.value()?.parse()?;
                options.limits.time = Some(crate::args::positive("--budget", seconds)?);
            }
            Arg::Long("mode") => mode = parser.value()?.string()?,
            Arg::Long("seed") => walks.seed = parser.value()?.parse()?,
            Arg::Long("walks") => walks.walks = parser.value()?.parse()?,
            Arg::Long("length") => walks.length = parser.value()?.parse()?,
            Arg::Long("out") => options.out = PathBuf::from(parser.value()?),
            Arg::Long("json") => options.json = true,
            Arg::Value(what) if side.is_none() => side = Some(what.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    walks.swarm = mode == "swarm";
    options.walks = match mode.as_str() {
        "bfs" => None,
        "uniform" | "swarm" => Some(walks),
        _ => return Err(Invalid(format!("--mode {mode}: expected bfs, uniform or swarm"))),
    };
    options.worlds = worlds(side.as_deref(), &scope, nodes)?;
    Ok(options)
}

fn worlds(side: Option<&str>, name: &str, nodes: Option<usize>) -> Result<Worlds, Invalid> {
    match side {
        Some("lease") => {
            let mut scopes = named(lease::Scope::presets(), name)?;
            for (_, scope) in &mut scopes {
                scope.nodes = nodes.unwrap_or(scope.nodes);
                scope.config().map_err(|why| Invalid(why.to_string()))?;
            }
            Ok(Worlds::Lease(scopes))
        }
        Some("quorum") => {
            let mut scopes = named(quorum::Scope::presets(), name)?;
            for (_, scope) in &mut scopes {
                scope.nodes = nodes.unwrap_or(scope.nodes);
                scope.configs().map_err(|why| Invalid(why.to_string()))?;
            }
            Ok(Worlds::Quorum(scopes))
        }
        Some(other) => Err(Invalid(format!("cannot explore `{other}`; see --help"))),
        None => Err(Invalid("explore what? `lease` or `quorum`; see --help".into())),
    }
}

fn named<S>(
    mut all: Vec<(&'static str, S)>,
    name: &str,
) -> Result<Vec<(&'static str, S)>, Invalid> {
    if name == "all" {
        return Ok(all);
    }
    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    all.retain(|(known, _)| *known == name);
    if all.is_empty() {
        let names = names.join(", ");
        return Err(Invalid(format!("--scope {name}: expected all, or one of {names}")));
    }
    Ok(all)
}

/// Explores the scopes in their order, up to the first violation.
pub(crate) fn explore(options: &Options) -> Result<u8, Invalid> {
    match &options.worlds {
        Worlds::Lease(scopes) => {
            for (name, scope) in scopes {
                let model = Lease::new(scope.clone()).map_err(|why| Invalid(why.to_string()))?;
                if !holds(name, model, options, lease::export) {
                    return Ok(VIOLATED);
                }
            }
        }
        Worlds::Quorum(scopes) => {
            for (name, scope) in scopes {
                let model = Quorum::new(scope.clone()).map_err(|why| Invalid(why.to_string()))?;
                if !holds(name, model, options, quorum::export) {
                    return Ok(VIOLATED);
                }
            }
        }
    }
    Ok(CLEAN)
}

/// Searches one world, and says what came of it. False if an invariant does not hold.
fn holds<M: Model>(
    name: &str,
    mut model: M,
    options: &Options,
    export: impl Fn(&mut M, &Counterexample<M::Move>) -> Exported,
) -> bool {
    let bar = progress_bar(options.json);
    let began = Instant::now();
    let mut progress = |count: &Count| {
        bar.set_message(format!("{name}: {} states, depth {}", count.states, count.depth));
        bar.tick();
    };
    let outcome = match &options.walks {
        None => breadth_first(&mut model, &options.limits, &mut progress),
        Some(walks) => walk(&mut model, walks, &options.limits, &mut progress),
    };
    bar.finish_and_clear();
    tell(name, &outcome, began.elapsed(), options.json);
    let Some(found) = &outcome.counterexample else { return true };
    if !options.json {
        for line in found.trace(&mut model) {
            println!("  {line}");
        }
    }
    let exported = export(&mut model, found);
    save(&options.out, name, &found.broken, exported, options.json);
    false
}

fn progress_bar(json: bool) -> ProgressBar {
    if json {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}");
    ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

fn tell<M>(name: &str, outcome: &Outcome<M>, took: Duration, json: bool) {
    let Count { states, moves, walks, depth, widest, .. } = outcome.count;
    let rate = states as f64 / took.as_secs_f64();
    if json {
        let mut object = Object::default()
            .text("scope", name)
            .text("result", outcome.ended.as_str())
            .number("states", states)
            .number("moves", moves)
            .number("depth", depth)
            .number("widest", widest)
            .number("walks", walks)
            .number("digest", outcome.count.digest)
            .number("seconds", format!("{:.3}", took.as_secs_f64()))
            .number("states_per_second", format!("{rate:.0}"));
        if let Some(found) = &outcome.counterexample {
            object = object
                .text("check", found.broken.check)
                .text("what", &found.broken.what)
                .number("length", found.path.len());
        }
        return object.print();
    }
    let ended = match outcome.ended {
        Ended::Exhausted => "every state seen, nothing violated".to_owned(),
        Ended::Violated => String::from("violated"),
        limit => format!("nothing violated up to the limit of {}", limit.as_str()),
    };
    let walked = if walks > 0 { format!(" in {walks} walks") } else { String::new() };
    println!(
        "{name}: {ended}: {states} states{walked}, {moves} moves, depth {depth}, {:.2} s \
         ({:.2} M states/s)",
        took.as_secs_f64(),
        rate / 1e6
    );
}

/// Writes the schedule that shows the same violation, if there is one.
fn save(out: &Path, name: &str, broken: &Broken, exported: Exported, json: bool) {
    let scn = match exported {
        Exported::Schedule(scn) => scn,
        Exported::Trace(why) => {
            if !json {
                println!("  no .scn file: {why}");
            }
            return;
        }
    };
    let path = out.join(format!("explored-{name}-{}.scn", broken.check));
    let written =
        std::fs::create_dir_all(out).and_then(|()| std::fs::write(&path, scn.to_string()));
    match written {
        Ok(()) if !json => println!("  the same as a schedule: {}", path.display()),
        Ok(()) => {}
        Err(why) => eprintln!("election-sim: {}: {why}", path.display()),
    }
}

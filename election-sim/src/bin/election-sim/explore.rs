//! Searches every state of a small world, or walks through it many times.

use crate::{CLEAN, VIOLATED, json::Object, values::InputError};
use clap::{Args, ValueEnum};
use election_sim::explore::{
    Broken, Count, Counterexample, Ended, Exported, Limits, Model, Outcome, Walks, breadth_first,
    lease::{self, Lease},
    quorum::{self, Quorum},
    walk,
};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const SCOPES: &str = "\
Small worlds of the lease: small, resign, request, crash, leave, ill, failure, twice, wake, pause,
lock, stuck, back, ahead, steps, promote, abandoned, abandoned-lock, abandoned-crash, fine, late
Of the quorum: small, resign, n2, pause, crash, abrupt, wipe, loss, late, twice, offsets, behind,
cut, forgets, slow-pause, slow, stuck, free, later, drift, n3, everything";

/// What to explore, and how.
#[derive(Debug, Args)]
#[command(after_help = SCOPES)]
pub(crate) struct Flags {
    /// The protocol
    #[arg(value_name = "lease|quorum")]
    protocol: Option<String>,
    /// The small world, or `all`, one after the other
    #[arg(long, value_name = "NAME", default_value = "small")]
    scope: String,
    /// The number of nodes [default: as in the scope]
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
    /// The kind of search
    #[arg(long, value_enum, default_value_t = Mode::Bfs)]
    mode: Mode,
    /// Go no further than this many moves from the start
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Stop after this many states
    #[arg(long, value_name = "N")]
    states: Option<u64>,
    /// Stop at this much memory
    #[arg(long, value_name = "GB")]
    memory: Option<usize>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = crate::values::span, allow_negative_numbers = true)]
    budget: Option<Duration>,
    /// The seed of the walks
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    seed: u64,
    /// The number of walks [default: until another limit]
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    walks: u64,
    /// The number of moves in a walk
    #[arg(long, value_name = "N", default_value_t = 100)]
    length: usize,
    /// The directory for the schedule of a violation
    #[arg(long, value_name = "DIRECTORY", default_value = "target/election-sim")]
    out: PathBuf,
    /// Print one JSON object per world to standard output, without a progress bar
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Every state, nearest first
    Bfs,
    /// Random walks
    Uniform,
    /// Random walks, each without some kinds of moves
    Swarm,
}

/// How to search, and what to do with what is found.
struct Options {
    limits: Limits,
    walks: Option<Walks>,
    out: PathBuf,
    json: bool,
}

/// Explores the scopes in order, up to the first violation.
pub(crate) fn explore(flags: Flags) -> Result<u8, InputError> {
    let Flags { protocol, scope: name, nodes, seed, walks, length, mode, out, json, .. } = flags;
    let limits = Limits::default();
    let limits = Limits {
        depth: flags.depth.unwrap_or(limits.depth),
        states: flags.states.unwrap_or(limits.states),
        bytes: flags.memory.map_or(limits.bytes, |gigabytes| gigabytes.saturating_mul(1 << 30)),
        time: flags.budget.or(limits.time),
    };
    let walks = Walks { seed, walks, length, swarm: mode == Mode::Swarm };
    let walks = (mode != Mode::Bfs).then_some(walks);
    let options = Options { limits, walks, out, json };
    match protocol.as_deref() {
        Some("lease") => {
            let model = |scope: lease::Scope| {
                Lease::new(lease::Scope { nodes: nodes.unwrap_or(scope.nodes), ..scope })
            };
            all(named(lease::Scope::presets(), &name)?, model, lease::export, &options)
        }
        Some("quorum") => {
            let model = |scope: quorum::Scope| {
                Quorum::new(quorum::Scope { nodes: nodes.unwrap_or(scope.nodes), ..scope })
            };
            all(named(quorum::Scope::presets(), &name)?, model, quorum::export, &options)
        }
        Some(other) => Err(InputError(format!("cannot explore `{other}`; see --help"))),
        None => Err(InputError("explore what? `lease` or `quorum`; see --help".into())),
    }
}

fn all<S, M: Model, E: ToString>(
    scopes: Vec<(&'static str, S)>,
    model: impl Fn(S) -> Result<M, E>,
    export: fn(&mut M, &Counterexample<M::Move>) -> Exported,
    options: &Options,
) -> Result<u8, InputError> {
    let models = scopes.into_iter().map(|(name, scope)| Ok((name, model(scope)?)));
    let models = models.collect::<Result<Vec<_>, E>>();
    for (name, model) in models.map_err(|why| InputError(why.to_string()))? {
        if !holds(name, model, options, export) {
            return Ok(VIOLATED);
        }
    }
    Ok(CLEAN)
}

fn named<S>(
    mut all: Vec<(&'static str, S)>,
    name: &str,
) -> Result<Vec<(&'static str, S)>, InputError> {
    if name == "all" {
        return Ok(all);
    }
    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    all.retain(|(known, _)| *known == name);
    if all.is_empty() {
        let names = names.join(", ");
        return Err(InputError(format!("--scope {name}: expected all, or one of {names}")));
    }
    Ok(all)
}

/// Searches one world and reports the result. Returns false if an invariant does not hold.
fn holds<M: Model>(
    name: &str,
    mut model: M,
    options: &Options,
    export: fn(&mut M, &Counterexample<M::Move>) -> Exported,
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

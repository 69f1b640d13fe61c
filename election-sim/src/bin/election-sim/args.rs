//! The command line.

use crate::values::{InputError, engine, range, span};
use clap::{Args, Parser, Subcommand};
use election_sim::{Engine, Seed, Swarm, Timing};
use std::{ops::Range, path::PathBuf, time::Duration};

/// Deterministic simulation of leader election
#[derive(Debug, Parser)]
#[command(
    name = "election-sim",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 everything held, 1 something was violated, 2 the input is not \
                  understood"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play seeds, or play files and compare their transcripts (UPDATE=1 rewrites the transcripts)
    Run(Flags),
    /// Play one seed or file again, with its transcript
    Replay(Flags),
    /// Find the smallest schedule that fails in the way this seed or file does
    Shrink(Flags),
    /// Search every state of a small world
    Explore(crate::explore::Flags),
    /// Measure the simulator's speed
    Bench {
        /// Print one JSON object to standard output
        #[arg(long)]
        json: bool,
    },
}

/// What to play, and how.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// `lease` or `quorum` (with a seed after it to replay or shrink), or files
    #[arg(value_name = "lease|quorum [SEED] | FILE.scn…")]
    what: Vec<String>,
    /// The seeds to play [default: 0..10000]
    #[arg(long, value_name = "A..B", value_parser = range)]
    seeds: Option<Range<u64>>,
    /// Stop after this many seconds, however many seeds were played
    #[arg(long, value_name = "SECONDS", value_parser = span, allow_negative_numbers = true)]
    budget: Option<Duration>,
    /// How many seeds to play at once (0: one per core); the results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    jobs: usize,
    /// Include faults from which only fencing protects
    #[arg(long)]
    beyond: bool,
    /// Let some members of the quorum run kevy-elect, which promises less: such runs count as beyond
    /// the contract
    #[arg(long)]
    legacy: bool,
    /// Let the members of the quorum change
    #[arg(long)]
    lists: bool,
    /// Let the nodes of a lease take part in up to fifty elections, over shared connections
    #[arg(long)]
    shared: bool,
    /// The number of nodes in every run [default: drawn]
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
    /// The lease in every run [default: drawn]
    #[arg(long, value_name = "SECONDS", value_parser = span, allow_negative_numbers = true)]
    ttl: Option<Duration>,
    /// When a peer of the quorum counts as down, in every run [default: drawn]
    #[arg(long, value_name = "SECONDS", value_parser = span, allow_negative_numbers = true)]
    down_after: Option<Duration>,
    /// The engine in every run: postgres, mysql, sqlite or register [default: one of the databases]
    #[arg(long, value_name = "NAME", value_parser = engine)]
    engine: Option<Engine>,
    /// The directory for shrunk schedules
    #[arg(long, value_name = "DIRECTORY", default_value = "target/election-sim")]
    out: PathBuf,
    /// Show every statement in transcripts
    #[arg(long)]
    full: bool,
    /// Draw a replayed run into this file (.html: with all events in words)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Count how many seeds take each branch of the protocol (in a build that counts)
    #[arg(long)]
    reach: bool,
    /// Print one JSON object to standard output, without a progress bar
    #[arg(long)]
    json: bool,
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) what: Input,
    pub(crate) swarm: Swarm,
    pub(crate) seeds: Range<u64>,
    pub(crate) budget: Option<Duration>,
    pub(crate) jobs: usize,
    pub(crate) out: PathBuf,
    pub(crate) full: bool,
    pub(crate) svg: Option<PathBuf>,
    pub(crate) reach: bool,
    pub(crate) json: bool,
}

#[derive(Debug)]
pub(crate) enum Input {
    Nothing,
    /// Seeds of one protocol: all of them, or one.
    Seeds(Option<Seed>),
    Files(Vec<PathBuf>),
}

impl Options {
    /// # Errors
    /// If nothing playable is named, or the options describe an impossible world.
    pub(crate) fn of(verb: &str, flags: Flags) -> Result<Self, InputError> {
        let every = if flags.budget.is_some() { 0..u64::MAX } else { 0..10_000 };
        let contract =
            if flags.beyond { Swarm::beyond_contract() } else { Swarm::within_contract() };
        let mut options = Self {
            what: Input::Nothing,
            swarm: Swarm {
                legacy: flags.legacy,
                lists: flags.lists,
                shared: flags.shared,
                nodes: flags.nodes,
                timing: flags.ttl.map(Timing::of),
                down_after: flags.down_after,
                engine: flags.engine,
                ..contract
            },
            seeds: flags.seeds.unwrap_or(every),
            budget: flags.budget,
            jobs: flags.jobs,
            out: flags.out,
            full: flags.full,
            svg: flags.svg,
            reach: flags.reach,
            json: flags.json,
        };
        for value in &flags.what {
            what(&mut options, value)?;
        }
        if options.seeds.is_empty() {
            return Err(InputError(
                "--seeds: the range is empty; a budget of nothing finds nothing".into(),
            ));
        }
        if matches!(options.what, Input::Nothing) {
            return Err(InputError(format!(
                "{verb} what? `lease`, `quorum`, or a .scn file; see --help"
            )));
        }
        check(&options)?;
        Ok(options)
    }
}

/// Rejects an impossible topology before anything is played.
fn check(options: &Options) -> Result<(), InputError> {
    options
        .swarm
        .schedule(options.seeds.start)
        .check()
        .map_err(|why| InputError(format!("there can be no such world: {why}")))
}

fn what(options: &mut Options, value: &str) -> Result<(), InputError> {
    match &mut options.what {
        what @ Input::Nothing if matches!(value, "lease" | "quorum") => {
            *what = Input::Seeds(None);
            options.swarm.quorum = value == "quorum";
            options.swarm.legacy &= options.swarm.quorum;
            options.swarm.lists &= options.swarm.quorum;
            options.swarm.shared &= !options.swarm.quorum;
        }
        what @ Input::Nothing => *what = Input::Files(vec![PathBuf::from(value)]),
        Input::Seeds(seed @ None) => {
            let read = value.parse();
            *seed = Some(read.map_err(|_| InputError(format!("`{value}` is no seed")))?);
        }
        Input::Seeds(Some(_)) => return Err(InputError(format!("unexpected `{value}`"))),
        Input::Files(files) => files.push(PathBuf::from(value)),
    }
    Ok(())
}

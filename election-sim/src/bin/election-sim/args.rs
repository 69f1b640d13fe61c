//! The command line.

use election_sim::{Engine, Scn, Seed, Swarm, Timing};
use lexopt::{Arg, Parser, ValueExt as _};
use std::{fmt, ops::Range, path::PathBuf, time::Duration};

pub(crate) const HELP: &str = "\
election-sim: deterministic simulation of leader election

  election-sim run lease|quorum [OPTIONS]    play seeds of the lease, or of the quorum
  election-sim run FILE.scn…             play files and compare their transcripts (UPDATE=1 rewrites)
  election-sim replay lease|quorum SEED [OPTIONS]   play one seed again, with its transcript
  election-sim replay FILE.scn           play one file, with its transcript
  election-sim shrink lease|quorum SEED [OPTIONS]   the smallest schedule that fails as this seed does
  election-sim shrink FILE.scn
  election-sim explore lease|quorum [EXPLORE OPTIONS]   every state of a small world
  election-sim bench                     measure

options:
  --seeds A..B     which seeds (0..10000)
  --budget SECS    stop after so many seconds, however many seeds that is
  --jobs N         so many at once (one per core); the results do not depend on it
  --beyond         with faults that only fencing protects from
  --nodes N        so many nodes in every run (drawn)
  --ttl SECS       this lease in every run (drawn)
  --down-after SECS   when a peer of the quorum is down, in every run (drawn)
  --engine NAME    postgres, mysql or sqlite in every run (drawn)
  --out DIR        where to write shrunk schedules (target/election-sim)
  --full           transcripts with every statement
  --svg FILE       replay: draw the run into this file (.html: with everything in words)
  --json           one JSON object on standard output, no progress bar

explore options:
  --scope NAME     which small world (small), or all, one after the other.
                   lease: small, resign, request, crash, leave, ill, failure, twice, wake, pause,
                   lock, stuck, back, ahead, abandoned, abandoned-lock, abandoned-crash, fine, late
                   quorum: small, resign, n2, pause, crash, abrupt, wipe, loss, late, twice,
                   offsets, behind, cut, forgets, slow-pause, slow, stuck, free, later,
                   drift, n3, everything
  --nodes N        so many nodes (as the scope has)
  --mode MODE      bfs (every state, nearest first), uniform or swarm (random walks)
  --depth N        no further than so many moves from the start
  --states N, --memory GB, --budget SECS     stop there
  --seed N, --walks N, --length N            of the walks
  --out DIR, --json                          as above

exit codes: 0 everything held, 1 something was violated, 2 the input is not understood
";

pub(crate) enum Command {
    Help,
    Run(Options),
    Replay(Options),
    Shrink(Options),
    Explore(crate::explore::Options),
    Bench(Options),
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) what: What,
    pub(crate) swarm: Swarm,
    pub(crate) seeds: Range<u64>,
    pub(crate) budget: Option<Duration>,
    pub(crate) jobs: usize,
    pub(crate) out: PathBuf,
    pub(crate) full: bool,
    pub(crate) svg: Option<PathBuf>,
    pub(crate) json: bool,
}

#[derive(Debug)]
pub(crate) enum What {
    Nothing,
    /// Seeds of one side, or one of them.
    Seeds(Option<Seed>),
    Files(Vec<PathBuf>),
}

/// Why nothing was done.
#[derive(Debug)]
pub(crate) struct Invalid(pub(crate) String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<lexopt::Error> for Invalid {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

pub(crate) fn parse() -> Result<Command, Invalid> {
    let mut parser = Parser::from_env();
    let verb = match parser.next()? {
        None | Some(Arg::Long("help") | Arg::Short('h')) => return Ok(Command::Help),
        Some(Arg::Value(verb)) => verb.string()?,
        Some(other) => return Err(other.unexpected().into()),
    };
    if verb == "explore" {
        return crate::explore::parse(&mut parser).map(Command::Explore);
    }
    let options = options(&mut parser)?;
    let named = !matches!(options.what, What::Nothing);
    match verb.as_str() {
        "run" if named => Ok(Command::Run(options)),
        "replay" if named => Ok(Command::Replay(options)),
        "shrink" if named => Ok(Command::Shrink(options)),
        "run" | "replay" | "shrink" => {
            Err(Invalid(format!("{verb} what? `lease`, `quorum`, or a .scn file; see --help")))
        }
        "bench" => Ok(Command::Bench(options)),
        "help" => Ok(Command::Help),
        _ => Err(Invalid(format!("there is no command `{verb}`; see --help"))),
    }
}

fn options(parser: &mut Parser) -> Result<Options, Invalid> {
    let mut options = Options {
        what: What::Nothing,
        swarm: Swarm::within_contract(),
        seeds: 0..10_000,
        budget: None,
        jobs: 0,
        out: PathBuf::from("target/election-sim"),
        full: false,
        svg: None,
        json: false,
    };
    let mut given_seeds = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("seeds") => {
                options.seeds = range(&parser.value()?.string()?)?;
                given_seeds = true;
            }
            Arg::Long("budget") => {
                let seconds: f64 = parser.value()?.parse()?;
                options.budget = Some(positive("--budget", seconds)?);
            }
            Arg::Long("jobs") => options.jobs = parser.value()?.parse()?,
            Arg::Long("beyond") => {
                options.swarm.contract = Swarm::beyond_contract().contract;
            }
            Arg::Long("nodes") => options.swarm.nodes = Some(parser.value()?.parse()?),
            Arg::Long("ttl") => {
                let seconds: f64 = parser.value()?.parse()?;
                options.swarm.timing = Some(Timing::of(positive("--ttl", seconds)?));
            }
            Arg::Long("down-after") => {
                let seconds: f64 = parser.value()?.parse()?;
                options.swarm.down_after = Some(positive("--down-after", seconds)?);
            }
            Arg::Long("engine") => {
                options.swarm.engine = Some(engine(&parser.value()?.string()?)?);
            }
            Arg::Long("out") => options.out = PathBuf::from(parser.value()?),
            Arg::Long("full") => options.full = true,
            Arg::Long("svg") => options.svg = Some(PathBuf::from(parser.value()?)),
            Arg::Long("json") => options.json = true,
            Arg::Value(value) => what(&mut options, &value.string()?)?,
            other => return Err(other.unexpected().into()),
        }
    }
    if options.budget.is_some() && !given_seeds {
        options.seeds = 0..u64::MAX;
    }
    if options.seeds.is_empty() {
        return Err(Invalid(
            "--seeds: the range is empty; a budget of nothing finds nothing".into(),
        ));
    }
    check(&options)?;
    Ok(options)
}

/// A topology that cannot be is said before anything is played.
fn check(options: &Options) -> Result<(), Invalid> {
    options
        .swarm
        .schedule(options.seeds.start)
        .check()
        .map_err(|why| Invalid(format!("there can be no such world: {why}")))
}

fn what(options: &mut Options, value: &str) -> Result<(), Invalid> {
    match &mut options.what {
        what @ What::Nothing if matches!(value, "lease" | "quorum") => {
            *what = What::Seeds(None);
            options.swarm.quorum = value == "quorum";
        }
        what @ What::Nothing => *what = What::Files(vec![PathBuf::from(value)]),
        What::Seeds(seed @ None) => {
            let read = value.parse();
            *seed = Some(read.map_err(|_| Invalid(format!("`{value}` is no seed")))?);
        }
        What::Seeds(Some(_)) => return Err(Invalid(format!("unexpected `{value}`"))),
        What::Files(files) => files.push(PathBuf::from(value)),
    }
    Ok(())
}

fn range(text: &str) -> Result<Range<u64>, Invalid> {
    let wrong = || Invalid(format!("--seeds {text}: expected a range, as in 0..10000"));
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<Seed>().map(|Seed(seed)| seed).map_err(|_| wrong());
    Ok(number(from)?..number(to)?)
}

pub(crate) fn positive(name: &str, seconds: f64) -> Result<Duration, Invalid> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|span| !span.is_zero())
        .ok_or_else(|| Invalid(format!("{name} {seconds}: expected seconds, more than none")))
}

fn engine(name: &str) -> Result<Engine, Invalid> {
    match name {
        "postgres" => Ok(Engine::Postgres),
        "mysql" => Ok(Engine::MySql),
        "sqlite" => Ok(Engine::Sqlite),
        _ => Err(Invalid(format!("--engine {name}: expected postgres, mysql or sqlite"))),
    }
}

/// Reads a `.scn` file; errors carry file, line and column.
pub(crate) fn read(path: &PathBuf) -> Result<Scn, Invalid> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|why| Invalid(format!("{shown}: {why}")))?;
    let text = String::from_utf8(bytes).map_err(|why| {
        let (good, _) = why.as_bytes().split_at(why.utf8_error().valid_up_to());
        let good = String::from_utf8_lossy(good);
        let (line, column) = (good.matches('\n').count() + 1, good.lines().next_back());
        let column =
            column.filter(|_| !good.ends_with('\n')).map_or(0, |line| line.chars().count());
        Invalid(format!("{shown}:{line}:{}: this is not UTF-8", column + 1))
    })?;
    text.parse().map_err(|why| Invalid(format!("{shown}:{why}")))
}

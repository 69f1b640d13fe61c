//! The command line.

use crate::secret::{Address, STORE, STORE_FILE};
use clap::{
    Args, CommandFactory as _, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
};
use serde::Deserialize;
use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
    time::Duration,
};
use tracing::Level;

const EXIT_CODES: &str = "\
Exit codes: the job's own, or 128+N if signal N ended it; 120 leadership lost (--on-lost stop); \
124 not elected in time (--wait, --try), also if the database was never reached (--wait); 125 the \
command or its database failed, or the usage was wrong; 126 the job cannot be executed; 127 the \
job was not found. An option with an [env] can also be set in a TOML file (--config) under the \
flag's name; the command line wins, then the environment. An empty value is an error, never a \
default: unset a variable that you do not mean.";

const JOB: &str = "\
The job: SIGTERM and SIGINT go to all processes that the job has started, other signals to its \
first process and that one's process group. When the first process ends, the rest is killed, so \
start daemons in the foreground. Processes that others start for the job (docker run, systemd-run, \
at) are not contained. To let nothing escape, give the job a PID namespace: -- unshare --pid \
--fork --kill-child CMD...";

const DATABASE: &str = "\
If the database cannot be reached, at the start or later, an elector waits for it: it says so \
once, stops its job in time, and goes on when the database is back. If somebody has to fix \
something first (a password, a right, a schema), the start fails with an error. On SIGTERM and \
SIGINT the job is told to end. When nothing of it is left, the lease is released; the database has \
the time of --leave-timeout for that. A further signal a second or more later makes the elector \
leave without releasing. While the job is still ending it changes nothing, since the job is killed \
when its grace is over.";

const LOG: &str = "\
Log: on standard error, a line for each event, with --json an object. Every line names the \
election and the node, and the field `event` names the event: elected, lost, resigning, released, \
not_released, following, vacant, outage, outage_lasts, outage_over, unlisted, unlisted_lasts, \
listed, deaf, hears, alert; database, waiting, waiting_lasts, waiting_over, not_elected, \
job_ended, job_stopped, job_killed, job_left_behind, job_deaf, job_survives, left, warning, \
failed. RUST_LOG (debug, election_driver=debug, ...) and NO_COLOR are obeyed.";

const SECRETS: &str = "\
Passwords: `ps` shows the text after --store to everybody on this machine, and no program can take \
it back. --store-file keeps the URL in a file, which only its user should be able to read. The job \
inherits ELECTION_STORE without its password; PGPASSWORD, PGPASSFILE and MYSQL_PWD are not \
touched. Connections to a server on another machine use TLS, and the server has to prove its name, \
unless the URL says otherwise (sslmode=..., ssl-mode=...). The URL also names a private authority \
(sslrootcert=FILE, ssl-ca=FILE).";

/// Leader election: one job on exactly one of many processes.
#[derive(Debug, Parser)]
#[command(name = "election", version, max_term_width = 80, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Parses the arguments of this process.
    ///
    /// # Errors
    /// If they are invalid, or a variable that would be read is empty.
    pub(crate) fn told() -> Result<Self, clap::Error> {
        let told = Self::try_parse();
        if told.as_ref().is_err_and(|error| !error.use_stderr()) {
            return told; // the user has asked for help
        }
        match empty_variable() {
            Some(variable) => {
                let variable = variable.to_string_lossy();
                let why = format!("{variable} is set, but empty; give it a value or unset it");
                Err(Self::command().error(ErrorKind::InvalidValue, why))
            }
            None => told.map_err(|error| naming_the_variable(&error).unwrap_or(error)),
        }
    }
}

/// The same error with the name of the variable that holds the wrong value. The parser knows only
/// the flag, which the user has not written.
fn naming_the_variable(error: &clap::Error) -> Option<clap::Error> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    let mut command = Arguments::command();
    command.build();
    let subcommand = command.find_subcommand(env::args_os().nth(1)?)?;
    let argument = subcommand.get_arguments().find(|argument| argument.to_string() == *wrong)?;
    let variable = argument.get_env()?.to_string_lossy();
    let flag = format!("--{}", argument.get_long()?);
    let is_flag = |word: OsString| {
        let word = word.to_string_lossy();
        word == flag || word.starts_with(&format!("{flag}="))
    };
    if own_words().any(is_flag) {
        return None;
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let named = text.replace(&format!("'{wrong}'"), &format!("{variable} ({flag})"));
    Some(clap::Error::raw(error.kind(), named))
}

/// The arguments for this program, without those for the job.
pub(crate) fn own_words() -> impl Iterator<Item = OsString> {
    env::args_os().skip(1).take_while(|word| word != "--")
}

/// A variable that the current subcommand would read and that is set to an empty value.
fn empty_variable() -> Option<OsString> {
    let command = Arguments::command();
    let subcommand = command.find_subcommand(env::args_os().nth(1)?)?;
    let mut variables =
        subcommand.get_arguments().filter_map(|argument| match argument.get_id().as_str() {
            "store" => Some(STORE.as_ref()),
            "store_file" => Some(STORE_FILE.as_ref()),
            _ => argument.get_env(),
        });
    let empty = |variable: &&OsStr| env::var_os(variable).is_some_and(|it| it.is_empty());
    variables.find(empty).map(OsStr::to_owned)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command whenever this process leads, and on no other process at the same time
    #[command(after_help = format!("{EXIT_CODES}\n\n{DATABASE}\n\n{JOB}\n\n{LOG}\n\n{SECRETS}"))]
    Run(Run),
    /// Show who leads
    Status(Look),
    /// List the candidates
    List(Look),
    /// Print every change of leadership as it happens
    Observe(Target),
    /// Ask the current leader to resign
    Resign(Look),
    /// Print the definition of the tables for a database (--store), or apply it
    Schema(Schema),
    /// Watch three candidates while the demo kills their leader repeatedly
    Demo(Demo),
    #[command(name = "__exec", hide = true)]
    Exec(Exec),
    #[command(name = "__guard", hide = true)]
    Guard(Guard),
    #[command(name = "__first-breath", hide = true)]
    FirstBreath,
}

impl Command {
    /// Whether to print JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Run(run) => run.target.database.json,
            Self::Schema(schema) => schema.database.json,
            Self::Observe(target) => target.database.json,
            Self::Status(look) | Self::List(look) | Self::Resign(look) => look.target.database.json,
            Self::Exec(exec) => exec.json,
            Self::Guard(guard) => guard.json,
            Self::Demo(_) | Self::FirstBreath => false,
        }
    }

    /// The level from which to log; none if this command writes no log of its own.
    pub(crate) fn log_level(&self) -> Option<Level> {
        match self {
            Self::Run(run) if !run.quiet => Some(Level::INFO),
            Self::Run(_)
            | Self::Status(_)
            | Self::List(_)
            | Self::Observe(_)
            | Self::Resign(_)
            | Self::Schema(_) => Some(Level::WARN),
            Self::Demo(_) | Self::FirstBreath | Self::Exec(_) | Self::Guard(_) => None,
        }
    }

    /// Whether the command runs for long, so that its errors need a time too.
    pub(crate) fn is_logged(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Observe(_))
    }
}

/// Which database, and in which form to answer.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Database {
    // clap does not read it from the environment: there, the command line is no contradiction.
    #[arg(
        long,
        value_name = "URL",
        conflicts_with = "store_file",
        help = "The database: sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or mysql://... \
                Shows in `ps`, with its password [env: ELECTION_STORE]"
    )]
    pub(crate) store: Option<Address>,
    #[arg(
        long,
        value_name = "FILE",
        help = "A file with that URL on its only line [env: ELECTION_STORE_FILE]"
    )]
    pub(crate) store_file: Option<PathBuf>,
    /// The schema that holds the tables [default: public on PostgreSQL, else the URL's database]
    #[arg(long, env = "ELECTION_SCHEMA", value_name = "NAME")]
    pub(crate) schema: Option<String>,
    /// A TOML file with the same options
    #[arg(long, env = "ELECTION_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which election, in which database.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Target {
    #[command(flatten)]
    pub(crate) database: Database,
    /// The name of the election, the same for all participants
    #[arg(long, env = "ELECTION_NAME", value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// Which election, for commands that look once and end.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Look {
    #[command(flatten)]
    pub(crate) target: Target,
    /// How long the database may take to answer (exit 125) [default: 5s]
    #[arg(long, env = "ELECTION_TIMEOUT", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The name of this process [default: host name and process id]
    #[arg(long, env = "ELECTION_NODE", value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// What to publish while leading, usually an address
    #[arg(long, env = "ELECTION_LABEL", value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Length of the lease; a crashed leader is replaced after it [default: 15s]
    #[arg(long, env = "ELECTION_TTL", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) ttl: Option<Duration>,
    /// Time for the job between SIGTERM and SIGKILL on loss [default: ttl/6]
    #[arg(long, env = "ELECTION_GRACE", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) grace: Option<Duration>,
    /// Never lead under a lower epoch: for a database that has lost some [default: any]
    #[arg(long, env = "ELECTION_MIN_EPOCH", value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) min_epoch: Option<u64>,
    /// Give up (exit 124) and say why if not elected for the first time within this, also if the
    /// database was never reached [default: wait without end]
    #[arg(long, env = "ELECTION_WAIT", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) wait: Option<Duration>,
    /// Give up if somebody else leads (exit 124) or the database cannot be reached (exit 125)
    #[arg(long = "try", conflicts_with = "wait")]
    pub(crate) once: bool,
    /// How long to try to release the lease when this process leaves and nothing of the job is
    /// left; after that the lease runs out [default: 2s]
    #[arg(long, env = "ELECTION_LEAVE_TIMEOUT", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) leave_timeout: Option<Duration>,
    /// What to do when leadership is lost [default: restart]
    #[arg(long, env = "ELECTION_ON_LOST", value_name = "WHAT")]
    pub(crate) on_lost: Option<OnLost>,
    /// Do not create the tables; fail if they are missing
    #[arg(long, env = "ELECTION_NO_SCHEMA")]
    pub(crate) no_schema: bool,
    /// Let the job gain privileges (sudo, set-user-ID programs). It may then run processes that
    /// this one can neither tell to end nor kill: the lease is not released then but runs out, and
    /// another job may start beside them. No effect for root, whose jobs may gain them anyway
    #[arg(long, env = "ELECTION_ALLOW_SETUID")]
    pub(crate) allow_setuid: bool,
    /// Print only warnings and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// End when the process that started this one ends
    #[arg(long, hide = true)]
    pub(crate) with_parent: bool,
    /// The job: executed directly, not through a shell
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) job: Vec<OsString>,
}

/// What to do when leadership is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnLost {
    /// Stop the job and exit with 120
    Stop,
    /// Stop the job, and start it again once elected again
    Restart,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    #[command(flatten)]
    pub(crate) database: Database,
    /// Create the tables, or upgrade them
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Length of the lease
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) ttl: Duration,
    /// How many times to kill the leader [default: 5, or until Ctrl-C on a terminal]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) kills: Option<u32>,
    /// Number of candidates
    #[arg(long, default_value = "3", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) candidates: u8,
}

/// Starts the job and watches over it.
#[derive(Debug, Args)]
pub(crate) struct Guard {
    /// The longest sleep without looking at the clock, in nanoseconds
    #[arg(long)]
    pub(crate) slice: u64,
    #[arg(long)]
    pub(crate) allow_setuid: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[arg(required = true, trailing_var_arg = true)]
    pub(crate) job: Vec<OsString>,
}

/// Becomes the job, unless the process that asked for it is gone or the time is over already.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    #[arg(long)]
    pub(crate) parent: i32,
    /// The file that holds the hard stop
    #[arg(long)]
    pub(crate) deadline: PathBuf,
    /// The control group to join
    #[arg(long)]
    pub(crate) cgroup: Option<PathBuf>,
    #[arg(long)]
    pub(crate) allow_setuid: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[arg(required = true, trailing_var_arg = true)]
    pub(crate) job: Vec<OsString>,
}

fn time(text: &str) -> Result<Duration, String> {
    duration(text, "15s, 500ms or 1m 30s")
}

/// Parses a duration as people write it, or says what is wrong with it and how to write it.
pub(crate) fn duration(text: &str, example: &str) -> Result<Duration, String> {
    if text.trim_start().starts_with('-') {
        return Err(format!("a time cannot be negative; write it like {example}"));
    }
    humantime::parse_duration(text).map_err(|error| format!("{error}; write it like {example}"))
}

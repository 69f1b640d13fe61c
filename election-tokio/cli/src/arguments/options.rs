//! The flags, by what they mean together.

use super::{
    cluster::{Asked, Membership, Seat},
    given::Given,
    values::{ANSWER, epoch, exit_code, some_time, time, wait},
};
use crate::secret::{Address, STORE, STORE_FILE};
use clap::{Args, ValueEnum};
use std::{ffi::OsString, path::PathBuf, time::Duration};

/// Which database, and in which form to answer.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Database {
    #[arg(
        long,
        env = STORE,
        hide_env_values = true,
        value_name = "URL",
        help = "The database: sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE, mysql://... or \
                etcd://HOST,HOST/PREFIX. Shows in `ps`, with its password"
    )]
    pub(crate) store: Option<Address>,
    /// A file with that URL on its only line
    #[arg(long, env = STORE_FILE, value_name = "FILE")]
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
    #[arg(skip)]
    pub(crate) given: Given,
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
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Time limit for the answer (exit 125)
    #[arg(long, env = "ELECTION_TIMEOUT", value_name = "TIME", value_parser = some_time)]
    #[arg(allow_hyphen_values = true, default_value = ANSWER)]
    pub(crate) timeout: Duration,
}

/// Who leads, for people and for scripts.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) look: Look,
    /// Exit with 1 if nobody leads, and with 125 if a cluster's member cannot tell
    #[arg(long)]
    pub(crate) exit_code: bool,
}

/// Who takes part, or which elections there are.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) look: Look,
    /// List the elections in the database instead, and who leads each; ignores --name
    #[arg(long)]
    pub(crate) elections: bool,
}

/// A question that the exit code answers.
#[derive(Clone, Debug, Default, Args)]
#[command(mut_arg("node", |node| node.help(CHECKED)))]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) look: Look,
    /// Ask whether anybody leads, whatever its name
    #[arg(long)]
    pub(crate) anybody: bool,
    /// The epoch under which it must lead [default: any]
    #[arg(long, env = "ELECTION_EPOCH", value_name = "NUMBER", value_parser = epoch)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) epoch: Option<u64>,
    /// Print nothing but errors: the exit code is the answer
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Which node `check` is about.
const CHECKED: &str = "Who must lead; with --cluster, the running member to ask about itself [default: \
                       a process of this host that `election run` has named itself, or with --epoch \
                       anybody; with --cluster, the only member on this machine]";

/// Which election, for a command that goes on.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Observe {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) asked: Asked,
}

#[derive(Debug, Args)]
pub(crate) struct Resign {
    #[command(flatten)]
    pub(crate) look: Look,
    /// With --cluster: the member to lead next [default: whoever is elected]
    #[arg(long, value_name = "NODE")]
    pub(crate) to: Option<String>,
}

/// How this process stands for election.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Stand {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) membership: Membership,
    #[command(flatten)]
    pub(crate) seat: Seat,
    /// The name of this process; with --cluster, which member it is [default: host name and
    /// process id]
    #[arg(long, env = "ELECTION_NODE", value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// What to publish while leading, usually an address: others read "NODE leads at TEXT"
    /// [default with --cluster: the member's `announce`, else its address]
    #[arg(long, env = "ELECTION_LABEL", value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Length of the lease: a crashed leader is replaced after this [default: 15s]
    #[arg(long, env = "ELECTION_TTL", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) ttl: Option<Duration>,
    /// Time for the job between SIGTERM and SIGKILL when leadership is lost; without a job, for
    /// clients of /leader to notice [default: ttl/6; with --cluster, a tenth of `down-after`]
    #[arg(long, env = "ELECTION_GRACE", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) grace: Option<Duration>,
    /// Time between two renewals, and between two polls while waiting; a database that notifies of
    /// changes ends the wait earlier [default: ttl/3]
    #[arg(long, env = "ELECTION_INTERVAL", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) interval: Option<Duration>,
    /// Keep others from leading for this long by the database's clock, counted from the election,
    /// even if the job ends early or the machine dies: for a timer that fires on many machines. If
    /// the job cannot be started (exit 126, 127), the lease is released early [default: not at all]
    #[arg(long, env = "ELECTION_AT_LEAST_FOR", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) at_least_for: Option<Duration>,
    /// Tolerate steps of the database's clock of up to this length: none ends the lease early, and
    /// others detect a crash by their own clocks. etcd needs none of this [default: none]
    #[arg(long, env = "ELECTION_CLOCK_STEP", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) clock_step: Option<Duration>,
    /// Never lead under a lower epoch: for a database that has lost epochs [default: any]
    #[arg(long, env = "ELECTION_MIN_EPOCH", value_name = "NUMBER", value_parser = epoch)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) min_epoch: Option<u64>,
    #[command(flatten)]
    pub(crate) port: Port,
    #[command(flatten)]
    pub(crate) hooks: Hooks,
    /// How long to try to release leadership when this process leaves and its job has ended; after
    /// that leadership expires
    #[arg(long, env = "ELECTION_LEAVE_TIMEOUT", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true, default_value = "2s")]
    pub(crate) leave_timeout: Duration,
    /// Do not create the tables; fail if they are missing
    #[arg(long, env = "ELECTION_NO_SCHEMA")]
    pub(crate) no_schema: bool,
    /// Print only warnings and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What to run beside leadership.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Hooks {
    /// Run CMD with `sh -c` when this process starts to lead. If it is still running when
    /// leadership ends, it gets SIGTERM, and is killed before another can lead
    #[arg(long, env = "ELECTION_ON_LEAD", value_name = "CMD")]
    pub(crate) on_lead: Option<String>,
    /// Run CMD when this process no longer leads, whatever the reason
    #[arg(long, env = "ELECTION_ON_LOSE", value_name = "CMD")]
    pub(crate) on_lose: Option<String>,
    /// Run CMD whenever this process sees a change of who leads, including itself or nobody
    #[arg(long, env = "ELECTION_ON_CHANGE", value_name = "CMD")]
    pub(crate) on_change: Option<String>,
    /// How long such a command may run before it is killed
    #[arg(long, env = "ELECTION_HOOK_TIMEOUT", value_name = "TIME", value_parser = some_time)]
    #[arg(allow_hyphen_values = true, default_value = "30s")]
    pub(crate) hook_timeout: Duration,
}

/// Where HTTP is answered.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Port {
    /// Answer GET /leader, /livez, /readyz and /metrics at this address [default: 127.0.0.1:4040
    /// for `election serve`, else none]
    #[arg(long, env = "ELECTION_HTTP", value_name = "IP:PORT")]
    pub(crate) http: Option<String>,
    /// Allow an --http that other machines can reach: everybody there can see who leads, but change
    /// nothing
    #[arg(long, env = "ELECTION_HTTP_EXPOSED")]
    pub(crate) http_exposed: bool,
}

/// How long to wait to be elected for the first time.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Attempt {
    /// Give up (exit 124) and say why if not elected for the first time within this, also if the
    /// database was never reached, or rejects this user. Without it, wait forever, unless the
    /// database rejects this user (exit 125)
    #[arg(long, env = "ELECTION_WAIT", value_name = "TIME", value_parser = wait)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) wait: Option<Duration>,
    /// Give up if somebody else leads (exit 124), or if the leader cannot be determined (exit 125):
    /// the database cannot be reached, or too few members of a cluster are running. A member that
    /// has just started may not vote at first, so with --cluster that may take up to two and a half
    /// times `down-after`: 12s by default. Overrides a time to wait from the environment or the
    /// file
    #[arg(long = "try")]
    pub(crate) once: bool,
    /// Exit code, instead of 124, if not elected (--wait, --try)
    #[arg(long, env = "ELECTION_CONFLICT_EXIT_CODE", value_name = "CODE", value_parser = exit_code)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) conflict_exit_code: Option<u8>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) stand: Stand,
    #[command(flatten)]
    pub(crate) attempt: Attempt,
    /// What to do when leadership is lost
    #[arg(long, env = "ELECTION_ON_LOST", value_name = "WHAT", default_value = "restart")]
    pub(crate) on_lost: OnLost,
    /// Let the job gain privileges (sudo, set-user-ID programs). It may then run processes that
    /// this one can neither stop nor kill: leadership then expires instead of being released, and
    /// another job may start beside them. No effect for root, whose jobs may gain privileges anyway
    #[arg(long, env = "ELECTION_ALLOW_SETUID")]
    pub(crate) allow_setuid: bool,
    /// Run the job in a PID namespace that ends with its guard, so that the kernel kills all of it
    /// even if this process and the guard are killed at the same time. Needs root, or a system with
    /// unprivileged user namespaces; an ordinary user's job sees itself as root there
    #[arg(long, env = "ELECTION_ISOLATE")]
    pub(crate) isolate: bool,
    /// End when the process that started this one ends
    #[arg(long, hide = true)]
    pub(crate) with_parent: bool,
    /// The job: executed directly, not through a shell. A witness of a cluster needs none
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub(crate) job: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) stand: Stand,
}

#[derive(Debug, Args)]
pub(crate) struct Hold {
    #[command(flatten)]
    pub(crate) stand: Stand,
    #[command(flatten)]
    pub(crate) attempt: Attempt,
}

/// What to do when leadership is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
    /// Time limit for that (exit 125) [default: 1m]
    #[arg(long, env = "ELECTION_TIMEOUT", value_name = "TIME", value_parser = some_time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Length of the lease [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "quorum")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) ttl: Option<Duration>,
    /// Elect by votes of the candidates, without a database
    #[arg(long)]
    pub(crate) quorum: bool,
    /// With --quorum: how long a silent leader counts as alive [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = time, requires = "quorum")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) down_after: Option<Duration>,
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
    #[arg(long)]
    pub(crate) isolate: bool,
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
    #[arg(long)]
    pub(crate) isolate: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[arg(required = true, trailing_var_arg = true)]
    pub(crate) job: Vec<OsString>,
}

/// Runs the hooks of the elector that has started it.
#[derive(Debug, Args)]
pub(crate) struct HookRunner {
    #[arg(long)]
    pub(crate) on_lead: Option<String>,
    #[arg(long)]
    pub(crate) on_lose: Option<String>,
    #[arg(long)]
    pub(crate) on_change: Option<String>,
    /// How long a hook may run, in nanoseconds
    #[arg(long)]
    pub(crate) timeout: u64,
    /// The longest sleep without looking at the clock, in nanoseconds
    #[arg(long)]
    pub(crate) slice: u64,
    #[arg(long)]
    pub(crate) allow_setuid: bool,
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

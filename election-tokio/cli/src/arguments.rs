//! The command line.

mod cluster;
mod help;
mod manual;
mod options;
mod setup;
mod values;

pub(crate) use cluster::{Asked, Membership, Order, Pause, Seat};
pub(crate) use options::{
    Attempt, Check, Database, Demo, Exec, Guard, Hold, HookRunner, List, Look, Observe, OnLost,
    Port, Resign, Run, Schema, Serve, Stand, Status, Target,
};

pub(crate) use values::duration;

pub(crate) use manual::{Completions, Man};
pub(crate) use setup::{CheckOptions, ClusterCommand, InitOptions, KeyOptions, MemberAt};

use crate::secret::{STORE, STORE_FILE};
use clap::{
    ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    builder::Resettable,
    error::{ContextKind, ContextValue, ErrorKind},
    parser::ValueSource,
};
use help::{
    CHECK, CHECK_EXAMPLES, CLUSTER, DATABASE, DEMO, DEMO_EXAMPLES, EXIT_CODES, HOLD, HOLD_EXAMPLES,
    HOOKS, HTTP, JOB, LIST, LIST_EXAMPLES, LOG, MAINTENANCE, OBSERVE, OBSERVE_EXAMPLES,
    PAUSE_EXAMPLES, RESIGN, RESIGN_EXAMPLES, RESUME_EXAMPLES, RUN_EXAMPLES, SCHEMA,
    SCHEMA_EXAMPLES, SECRETS, SERVE_EXAMPLES, STATUS, STATUS_EXAMPLES, SYSTEMD, WITHOUT_JOB,
};
use help::{COMPLETIONS, COMPLETIONS_EXAMPLES, MAN, MAN_EXAMPLES};
use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
};
use tracing::Level;

/// Leader election: one job on exactly one of many processes.
#[derive(Debug, Parser)]
#[command(name = "election", version, max_term_width = 80, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    fn parsed() -> Result<Self, clap::Error> {
        let matches = understood().try_get_matches()?;
        if let Some(error) = contradiction(&matches) {
            return Err(error);
        }
        let mut arguments = Self::from_arg_matches(&matches)?;
        if let Some(membership) = arguments.command.membership() {
            membership.written = written(&matches);
        }
        Ok(arguments)
    }

    /// Parses the arguments of this process.
    ///
    /// # Errors
    /// If they are invalid, or a variable that would be read is empty.
    pub(crate) fn told() -> Result<Self, clap::Error> {
        let told = Self::parsed();
        if told.as_ref().is_err_and(|error| !error.use_stderr()) {
            return told; // the user has asked for help
        }
        match empty_variable() {
            Some(variable) => {
                let variable = variable.to_string_lossy();
                let why = format!("{variable} is set, but empty; give it a value or unset it");
                Err(Self::command().error(ErrorKind::InvalidValue, why))
            }
            None => told.map_err(|error| {
                elsewhere(&error).or_else(|| naming_the_variable(&error)).unwrap_or(error)
            }),
        }
    }
}

/// The subcommands that wait or only try.
const ATTEMPTS: [&str; 2] = ["run", "hold"];

/// The parser, which does not look at a time to wait in the environment if the command only tries.
fn understood() -> clap::Command {
    let command = Arguments::command();
    if !own_words().any(|word| word == "--try") {
        return command;
    }
    let unread = |wait: clap::Arg| wait.env(Resettable::Reset);
    ATTEMPTS.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |attempt| attempt.mut_arg("wait", unread))
    })
}

/// The flags of the subcommand that stood on the command line.
fn written(matches: &ArgMatches) -> Vec<String> {
    let Some((_, matches)) = matches.subcommand() else { return Vec::new() };
    let is_written = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let ids = matches.ids().map(clap::Id::as_str).filter(is_written);
    ids.map(|id| id.replace('_', "-")).collect()
}

/// The error if `--try` is written beside `--wait`. In the environment or a file a time to wait is
/// no contradiction: there it is for all starts.
fn contradiction(matches: &ArgMatches) -> Option<clap::Error> {
    let (_, attempt) = matches.subcommand().filter(|(name, _)| ATTEMPTS.contains(name))?;
    let written = |name| attempt.value_source(name) == Some(ValueSource::CommandLine);
    (written("once") && written("wait")).then(|| {
        let why = "--try gives up at once and --wait only after a time: leave one of them out";
        clap::Error::raw(ErrorKind::ArgumentConflict, why)
    })
}

/// The error for what only another command can do. The parser knows no more than that it is unknown.
fn elsewhere(error: &clap::Error) -> Option<clap::Error> {
    let command = env::args_os().nth(1)?.into_string().ok()?;
    if let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidSubcommand) {
        return (command == "cluster").then(|| of_members(asked)).flatten();
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let why = match (&*command, &**unknown) {
        _ if error.kind() != ErrorKind::UnknownArgument => return None,
        ("hold" | "serve", word) if !word.starts_with('-') => format!(
            "unexpected argument {word:?}: `election {command}` runs no job; for one, write: election run \
             [OPTIONS] -- CMD"
        ),
        ("pause" | "resume", "--store" | "--store-file" | "--name") => {
            "only a cluster's failover is paused: name it with --cluster FILE; in a database, whoever \
             leads can be asked to resign (election resign)"
                .to_owned()
        }
        _ => return None,
    };
    Some(clap::Error::raw(ErrorKind::UnknownArgument, why))
}

/// The error for a subcommand that is none of `cluster`, if members are asked by it.
fn of_members(asked: &str) -> Option<clap::Error> {
    let command = Arguments::command();
    command.find_subcommand(asked).filter(|found| {
        !found.is_hide_set() && found.get_arguments().any(|each| each.get_id() == "cluster")
    })?;
    let why = format!(
        "`election cluster` only writes and checks files; for a cluster that runs, write: election \
         {asked} --cluster FILE"
    );
    Some(clap::Error::raw(ErrorKind::InvalidSubcommand, why))
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
    let command = understood();
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
    #[command(after_help = format!(
        "{EXIT_CODES}\n\n{DATABASE}\n\n{CLUSTER}\n\n{JOB}\n\n{HOOKS}\n\n{HTTP}\n\n{SYSTEMD}\n\n{LOG}\n\n{SECRETS}\n\n{RUN_EXAMPLES}"
    ))]
    Run(Run),
    /// Take leadership, or wait for it, and keep it until a signal or the end of standard input
    #[command(after_help = format!(
        "{EXIT_CODES}\n\n{HOLD}\n\n{HOOKS}\n\n{DATABASE}\n\n{CLUSTER}\n\n{HTTP}\n\n{SYSTEMD}\n\n{LOG}\n\n{SECRETS}\n\n{HOLD_EXAMPLES}"
    ))]
    Hold(Hold),
    /// Stand for election without a job, and answer over HTTP who leads
    #[command(after_help = format!(
        "{EXIT_CODES}\n\n{HTTP}\n\n{WITHOUT_JOB}\n\n{HOOKS}\n\n{DATABASE}\n\n{CLUSTER}\n\n{SYSTEMD}\n\n{LOG}\n\n{SECRETS}\n\n{SERVE_EXAMPLES}"
    ))]
    Serve(Serve),
    /// Show who leads; of a member of a cluster, also what keeps it from leading
    #[command(after_help = format!("{STATUS}\n\n{STATUS_EXAMPLES}"))]
    Status(Status),
    /// Tell scripts by the exit code whether anybody leads, or this node does
    #[command(after_help = format!("{CHECK}\n\n{CHECK_EXAMPLES}"))]
    Check(Check),
    /// List the candidates, or the members of a cluster, or all elections in a database (--elections)
    #[command(after_help = format!("{LIST}\n\n{LIST_EXAMPLES}"))]
    List(List),
    /// Print each change of leadership as it is seen, with the time by this machine's clock
    ///
    /// Each line tells who leads now. In a database it looks every few seconds, and at once where the
    /// database tells of a change; a leadership that was over before the next look is not printed.
    #[command(after_help = format!("{OBSERVE}\n\n{OBSERVE_EXAMPLES}"))]
    Observe(Observe),
    /// Ask the current leader to resign
    #[command(after_help = format!("{RESIGN}\n\n{RESIGN_EXAMPLES}"))]
    Resign(Resign),
    /// Pause automatic failover in a whole cluster (--cluster)
    #[command(after_help = format!("{MAINTENANCE}\n\n{PAUSE_EXAMPLES}"))]
    Pause(Pause),
    /// Resume automatic failover in a whole cluster (--cluster)
    #[command(after_help = format!("{MAINTENANCE}\n\n{RESUME_EXAMPLES}"))]
    Resume(Order),
    /// Write and check the files of a cluster, and its certificates
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Print the definition of the tables for a database (--store), or apply it
    #[command(after_help = format!("{SCHEMA}\n\n{SCHEMA_EXAMPLES}"))]
    Schema(Schema),
    /// Print a script that makes a shell complete this command's words
    #[command(after_help = format!("{COMPLETIONS}\n\n{COMPLETIONS_EXAMPLES}"))]
    Completions(Completions),
    /// Write the manual pages of this command and its subcommands
    #[command(after_help = format!("{MAN}\n\n{MAN_EXAMPLES}"))]
    Man(Man),
    /// Watch three candidates while the demo kills their leader repeatedly
    #[command(after_help = format!("{DEMO}\n\n{DEMO_EXAMPLES}"))]
    Demo(Demo),
    #[command(name = "__exec", hide = true)]
    Exec(Exec),
    #[command(name = "__guard", hide = true)]
    Guard(Guard),
    #[command(name = "__hooks", hide = true)]
    HookRunner(HookRunner),
    #[command(name = "__first-breath", hide = true)]
    FirstBreath,
}

/// How a command answers, and the file that may say so.
pub(crate) struct Form<'a> {
    pub(crate) config: Option<&'a Path>,
    pub(crate) json: &'a mut bool,
    pub(crate) quiet: Option<&'a mut bool>,
}

impl Command {
    /// Which cluster it is about, for commands that may be about one.
    fn membership(&mut self) -> Option<&mut Membership> {
        Some(match self {
            Self::Run(run) => &mut run.stand.membership,
            Self::Hold(hold) => &mut hold.stand.membership,
            Self::Serve(serve) => &mut serve.stand.membership,
            Self::Status(status) => &mut status.look.asked.membership,
            Self::Check(check) => &mut check.look.asked.membership,
            Self::List(list) => &mut list.look.asked.membership,
            Self::Observe(observe) => &mut observe.asked.membership,
            Self::Resign(resign) => &mut resign.look.asked.membership,
            Self::Pause(pause) => &mut pause.order.asked.membership,
            Self::Resume(order) => &mut order.asked.membership,
            _ => return None,
        })
    }

    /// How it answers.
    pub(crate) fn form(&mut self) -> Option<Form<'_>> {
        let (database, quiet) = match self {
            Self::Run(Run { stand, .. })
            | Self::Hold(Hold { stand, .. })
            | Self::Serve(Serve { stand }) => (&mut stand.target.database, Some(&mut stand.quiet)),
            Self::Schema(schema) => (&mut schema.database, None),
            Self::Observe(observe) => (&mut observe.target.database, None),
            Self::Status(status) => (&mut status.look.target.database, None),
            Self::Check(check) => (&mut check.look.target.database, Some(&mut check.quiet)),
            Self::List(list) => (&mut list.look.target.database, None),
            Self::Resign(resign) => (&mut resign.look.target.database, None),
            Self::Pause(Pause { order, .. }) | Self::Resume(order) => {
                let config = order.config.as_deref();
                return Some(Form { config, json: &mut order.json, quiet: None });
            }
            Self::Exec(Exec { json, .. })
            | Self::Guard(Guard { json, .. })
            | Self::HookRunner(HookRunner { json, .. }) => {
                return Some(Form { config: None, json, quiet: None });
            }
            _ => return None,
        };
        let Database { config, json, .. } = database;
        Some(Form { config: config.as_deref(), json, quiet })
    }

    /// Whether to print JSON.
    pub(crate) fn json(&mut self) -> bool {
        self.form().is_some_and(|form| *form.json)
    }

    /// The level from which to log; none if this command writes no log of its own.
    pub(crate) fn log_level(&self) -> Option<Level> {
        match self {
            Self::Run(Run { stand, .. })
            | Self::Hold(Hold { stand, .. })
            | Self::Serve(Serve { stand })
                if !stand.quiet =>
            {
                Some(Level::INFO)
            }
            Self::HookRunner(runner) if !runner.quiet => Some(Level::INFO),
            Self::HookRunner(_)
            | Self::Run(_)
            | Self::Hold(_)
            | Self::Serve(_)
            | Self::Status(_)
            | Self::Check(_)
            | Self::List(_)
            | Self::Observe(_)
            | Self::Resign(_)
            | Self::Pause(_)
            | Self::Resume(_)
            | Self::Schema(_) => Some(Level::WARN),
            Self::Cluster(_) | Self::Completions(_) | Self::Man(_) => None,
            Self::Demo(_) | Self::FirstBreath | Self::Exec(_) | Self::Guard(_) => None,
        }
    }

    /// Whether the command runs for long, so that its errors need a time too.
    pub(crate) fn is_logged(&self) -> bool {
        matches!(
            self,
            Self::Run(_) | Self::Hold(_) | Self::Serve(_) | Self::Observe(_) | Self::HookRunner(_)
        )
    }
}

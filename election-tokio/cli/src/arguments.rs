//! The command line.

mod cluster;
mod filed;
mod given;
mod help;
mod manual;
mod options;
mod parse;
mod setup;
mod values;

pub(crate) use cluster::{Asked, Membership, Order, Pause, Seat};
pub(crate) use options::{
    Attempt, Check, Database, Demo, Exec, Guard, Hold, HookRunner, List, Look, Observe, OnLost,
    Port, Resign, Run, Schema, Serve, Stand, Status, Target,
};

pub(crate) use given::{Given, Place};
pub(crate) use manual::{Completions, Man};
pub(crate) use parse::own_words;
pub(crate) use setup::{
    AddOptions, CheckOptions, ClusterCommand, InitOptions, KeyOptions, MemberAt, MoveOptions,
    NewKey, RemoveOptions,
};

use clap::{Parser, Subcommand};
use help::{
    CHECK, CHECK_EXAMPLES, CLUSTER, DATABASE, DEMO, DEMO_EXAMPLES, EXIT_CODES, HOLD, HOLD_EXAMPLES,
    HOOKS, HTTP, JOB, LIST, LIST_EXAMPLES, LOG, MAINTENANCE, OBSERVE, OBSERVE_EXAMPLES,
    PAUSE_EXAMPLES, RESIGN, RESIGN_EXAMPLES, RESUME_EXAMPLES, RUN_EXAMPLES, SCHEMA,
    SCHEMA_EXAMPLES, SECRETS, SERVE_EXAMPLES, STATUS, STATUS_EXAMPLES, SYSTEMD, WITHOUT_JOB,
};
use help::{COMPLETIONS, COMPLETIONS_EXAMPLES, MAN, MAN_EXAMPLES};
use std::path::Path;
use tracing::Level;

/// Leader election: one job on exactly one of many processes.
#[derive(Debug, Parser)]
#[command(name = "election", version, max_term_width = 80, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command whenever this process leads, and on no other process at the same time
    #[command(after_help = format!(
        "{EXIT_CODES}\n\n{DATABASE}\n\n{CLUSTER}\n\n{JOB}\n\n{HOOKS}\n\n{HTTP}\n\n{SYSTEMD}\n\n{LOG}\n\n{SECRETS}\n\n{RUN_EXAMPLES}"
    ))]
    Run(Run),
    /// Acquire leadership, waiting if needed, and hold it until a signal or the end of standard
    /// input
    #[command(after_help = format!(
        "{EXIT_CODES}\n\n{HOLD}\n\n{HOOKS}\n\n{DATABASE}\n\n{CLUSTER}\n\n{HTTP}\n\n{SYSTEMD}\n\n{LOG}\n\n{SECRETS}\n\n{HOLD_EXAMPLES}"
    ))]
    Hold(Hold),
    /// Stand for election without a job, and tell over HTTP who leads
    #[command(after_help = format!(
        "{EXIT_CODES}\n\n{HTTP}\n\n{WITHOUT_JOB}\n\n{HOOKS}\n\n{DATABASE}\n\n{CLUSTER}\n\n{SYSTEMD}\n\n{LOG}\n\n{SECRETS}\n\n{SERVE_EXAMPLES}"
    ))]
    Serve(Serve),
    /// Show who leads; for a member of a cluster, also why it does not lead
    #[command(after_help = format!("{STATUS}\n\n{STATUS_EXAMPLES}"))]
    Status(Status),
    /// Tell scripts by the exit code whether this node leads, or whether anybody does
    #[command(after_help = format!("{CHECK}\n\n{CHECK_EXAMPLES}"))]
    Check(Check),
    /// List the candidates, or the members of a cluster, or all elections in a database (--elections)
    #[command(after_help = format!("{LIST}\n\n{LIST_EXAMPLES}"))]
    List(List),
    /// Print each change of leadership as it is seen, with the time by this machine's clock
    ///
    /// Each line says who leads now. A database is polled every few seconds, and immediately when
    /// it notifies of a change; a leadership that ends before the next poll is not printed.
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
    /// Write and check the files and certificates of a cluster
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Print the definition of the tables for a database (--store), or apply it
    #[command(after_help = format!("{SCHEMA}\n\n{SCHEMA_EXAMPLES}"))]
    Schema(Schema),
    /// Print a completion script for a shell
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

/// How a command answers, the file that may say so, and where its options were said.
pub(crate) struct Form<'a> {
    pub(crate) config: Option<&'a Path>,
    pub(crate) json: &'a mut bool,
    pub(crate) given: Option<&'a mut Given>,
}

impl Command {
    /// How it answers.
    pub(crate) fn form(&mut self) -> Option<Form<'_>> {
        let database = match self {
            Self::Run(Run { stand, .. })
            | Self::Hold(Hold { stand, .. })
            | Self::Serve(Serve { stand }) => &mut stand.target.database,
            Self::Schema(schema) => &mut schema.database,
            Self::Observe(observe) => &mut observe.target.database,
            Self::Status(status) => &mut status.look.target.database,
            Self::Check(check) => &mut check.look.target.database,
            Self::List(list) => &mut list.look.target.database,
            Self::Resign(resign) => &mut resign.look.target.database,
            Self::Pause(Pause { order, .. }) | Self::Resume(order) => {
                let config = order.config.as_deref();
                return Some(Form { config, json: &mut order.json, given: None });
            }
            Self::Exec(Exec { json, .. })
            | Self::Guard(Guard { json, .. })
            | Self::HookRunner(HookRunner { json, .. }) => {
                return Some(Form { config: None, json, given: None });
            }
            _ => return None,
        };
        let Database { config, json, given, .. } = database;
        Some(Form { config: config.as_deref(), json, given: Some(given) })
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

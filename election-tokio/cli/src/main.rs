//! The `election` command: one job on exactly one of many processes, without writing a program.
//!
//! ```text
//!   main ─▶ arguments (flag, environment, file) ─▶ settings ─▶ source (of the database's URL)
//!             │                                             └─▶ cluster (members, control socket)
//!             ├─▶ run      elector ─▶ guard (kills the job at the deadline) ─▶ job
//!             ├─▶ serve    elector without a job
//!             ├─▶ hold     elector that leads for whoever has started it
//!             │            all three: http (answers who leads), systemd (tells whoever has
//!             │            started this process)
//!             ├─▶ status, check, list, observe, resign, schema, pause, resume
//!             ├─▶ setup    the files of a cluster, and its certificates
//!             ├─▶ manual   what shells and `man` know of this command
//!             └─▶ demo     three `election run` on a temporary file, or as a cluster
//! ```
//!
//! `exec`, `guard` and `hooks` are roles that this binary gives itself: it starts itself again as the
//! process that becomes the job, as the one that watches over the job, and as the one that runs
//! hooks.
#![forbid(unsafe_code)]
// What only a job needs is left over on systems that run none.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

mod arguments;
mod cluster;
mod demo;
mod exit;
mod http;
mod inspect;
mod line;
mod location;
mod log;
mod manual;
mod plan;
mod room;
mod run;
mod secret;
mod settings;
mod setup;
mod source;
mod store;
mod systemd;
mod time;

use arguments::{Arguments, Command};
use clap::error::ErrorKind;
use exit::{Exit, Failed};
use log::Log;
use nix::sys::signal::SigSet;

fn main() {
    // Signals that whoever has started this blocks would neither end it nor its job, which inherits that.
    // Nothing is wrong with an empty mask.
    let _ = SigSet::empty().thread_set_mask();
    let mut arguments =
        Arguments::told().unwrap_or_else(|error| std::process::exit(misused(&error)));
    let filed = arguments.read_file();
    let json = arguments.command.json();
    let logs = arguments.command.is_logged();
    let room = arguments.command.log_level().map(|_| room::check());
    if let Some(Err(failed)) = room {
        std::process::exit(failed.tell(json).code());
    }
    let log = arguments.command.log_level().map(|level| Log::start(json, level));
    let outcome = filed.and_then(|()| carry_out(arguments.command));
    let exit = outcome.unwrap_or_else(|failed: Failed| match log {
        Some(log) if logs => {
            let (message, exit) = failed.into_parts();
            message.into_iter().for_each(|message| log.failed(&message));
            exit
        }
        log => {
            drop(log); // earlier lines are written first
            failed.tell(json)
        }
    });
    std::process::exit(exit.code());
}

fn carry_out(command: Command) -> Result<Exit, Failed> {
    match command {
        Command::Exec(exec) => run::become_job(&exec),
        Command::FirstBreath => demo::first_breath(),
        Command::HookRunner(runner) => run::run_hooks(&runner),
        Command::Guard(guard) => run::watch_over_job(guard),
        Command::Run(run) => run::run(&run),
        Command::Hold(hold) => run::hold(&hold),
        Command::Serve(serve) => run::serve(&serve),
        Command::Status(status) => inspect::inspect(inspect::status(status)),
        Command::Check(check) => inspect::inspect(inspect::check(check)),
        Command::List(list) => inspect::inspect(inspect::list(list)),
        Command::Observe(target) => inspect::inspect(inspect::observe(target)),
        Command::Resign(look) => inspect::inspect(inspect::resign(look)),
        Command::Pause(pause) => inspect::inspect(inspect::pause(pause)),
        Command::Resume(order) => inspect::inspect(inspect::resume(order)),
        Command::Schema(schema) => inspect::inspect(inspect::schema(schema)),
        Command::Cluster(command) => setup::cluster(&command),
        Command::Completions(completions) => manual::completions(&completions),
        Command::Man(man) => manual::man(&man),
        Command::Demo(demo) => inspect::inspect(demo::demo(&demo)),
    }
}

/// Prints clap's message, which may be the help that was asked for, and returns the exit code.
fn misused(error: &clap::Error) -> i32 {
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::OK.code();
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return Exit::TOOL_FAILED.code();
    }
    let json = arguments::own_words().any(|word| word == "--json");
    let text = secret::redacted_arguments(error.render().to_string());
    Failed::new(text.trim_end().strip_prefix("error: ").unwrap_or(&text)).tell(json).code()
}

//! The `election` command: one job on exactly one of many processes, without writing a program.
//!
//! ```text
//!   main ─▶ arguments ─▶ settings (flag, environment, file)
//!             ├─▶ run      elector ─▶ guard (kills the job at the deadline) ─▶ job
//!             ├─▶ status, list, observe, resign, schema
//!             └─▶ demo     three `election run` on a temporary file
//! ```
//!
//! `exec` and `guard` are the two faces this binary shows itself: it starts itself again as the
//! process that becomes the job, and as the one that watches over it.
#![forbid(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!("the `election` command contains its job by means that only Linux has");

mod arguments;
mod demo;
mod exit;
mod inspect;
mod log;
mod run;
mod settings;
mod store;

use arguments::{Arguments, Command};
use clap::Parser as _;
use exit::{Exit, Failed};

fn main() {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| {
        let _ = error.print();
        let code = if error.use_stderr() { Exit::TOOL_FAILED } else { Exit::OK };
        std::process::exit(code.code());
    });
    let json = arguments.command.json();
    let outcome = match arguments.command {
        Command::Exec(exec) => run::become_job(&exec),
        Command::FirstBreath => demo::first_breath(),
        Command::Guard(guard) => run::watch_over_job(guard),
        Command::Run(run) => run::run(run),
        Command::Status(target) => inspect::inspect(inspect::status(target)),
        Command::List(target) => inspect::inspect(inspect::list(target)),
        Command::Observe(target) => inspect::inspect(inspect::observe(target)),
        Command::Resign(target) => inspect::inspect(inspect::resign(target)),
        Command::Schema(schema) => inspect::inspect(inspect::schema(schema)),
        Command::Demo(demo) => demo::demo(&demo),
    };
    let exit = outcome.unwrap_or_else(|failed: Failed| failed.tell(json));
    std::process::exit(exit.code());
}

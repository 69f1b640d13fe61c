//! The `election` command: one job on exactly one of many processes, without writing a program.
//!
//! ```text
//!   main ─▶ arguments ─▶ settings (flag, environment, file)
//!             ├─▶ run      elector ─▶ job (a process group) ◀─ guard (kills it at the deadline)
//!             ├─▶ status, list, observe, resign, schema
//!             └─▶ demo     three `election run` on a temporary file
//! ```
//!
//! `exec` and `guard` are the two faces this binary shows itself: it starts itself again as the
//! process that becomes the job, and as the one that watches over it.
#![forbid(unsafe_code)]

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
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Exec(exec) => run::become_job(&exec),
        Command::Guard => run::watch_over_job(),
        Command::FirstBreath => demo::first_breath(),
        Command::Run(run) => run::run(run),
        Command::Status(target) => inspect::status(target),
        Command::List(target) => inspect::list(target),
        Command::Observe(target) => inspect::observe(target),
        Command::Resign(target) => inspect::resign(target),
        Command::Schema(schema) => inspect::schema(schema),
        Command::Demo(demo) => demo::demo(&demo),
    };
    let code = outcome.unwrap_or_else(|failed: Failed| {
        eprintln!("election: {failed}");
        Exit::TOOL_FAILED
    });
    std::process::exit(code.code());
}

//! `election-sim`: play seeds and `.scn` files, play a failure again, make it small, measure.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod json;
mod run;
mod turnover;

use args::Command;
use std::process::ExitCode;

/// Everything held.
const CLEAN: u8 = 0;
/// Something was violated.
const VIOLATED: u8 = 1;
/// The command or a file cannot be understood.
const INVALID: u8 = 2;

fn main() -> ExitCode {
    let outcome = args::parse().and_then(|command| match command {
        Command::Help => {
            print!("{}", args::HELP);
            Ok(CLEAN)
        }
        Command::Run(run) => run::run(&run),
        Command::Replay(replay) => run::replay(&replay),
        Command::Shrink(shrink) => run::shrink(&shrink),
        Command::Bench(bench) => bench::bench(&bench),
    });
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            eprintln!("election-sim: {why}");
            ExitCode::from(INVALID)
        }
    }
}

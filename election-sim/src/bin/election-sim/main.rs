//! `election-sim`: plays seeds and `.scn` files, replays and shrinks failures, explores, measures.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod explore;
mod failover;
mod json;
mod reach;
mod run;
mod values;

use args::{Arguments, Command, Options};
use clap::{CommandFactory as _, Parser as _};
use std::process::ExitCode;

/// All invariants held.
const CLEAN: u8 = 0;
/// An invariant was violated.
const VIOLATED: u8 = 1;
/// The command or a file cannot be understood.
const INVALID: u8 = 2;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        None => {
            print!("{}", Arguments::command().render_help());
            Ok(CLEAN)
        }
        Some(Command::Run(flags)) => Options::of("run", flags).and_then(|run| run::run(&run)),
        Some(Command::Replay(flags)) => {
            Options::of("replay", flags).and_then(|replay| run::replay(&replay))
        }
        Some(Command::Shrink(flags)) => {
            Options::of("shrink", flags).and_then(|shrink| run::shrink(&shrink))
        }
        Some(Command::Explore(flags)) => explore::explore(flags),
        Some(Command::Bench { json }) => bench::bench(json),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            eprintln!("election-sim: {why}");
            ExitCode::from(INVALID)
        }
    }
}

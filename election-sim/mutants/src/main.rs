//! Every small change of both protocols in one build: which of them does no check notice?
//!
//! ```text
//! election-mutants list [--only TEXT]...
//! election-mutants run [--shard K/N] [--seconds S] [--only TEXT]... [--named FILE] [--all]
//!                      [--tests] [--seeds N] [--jobs N] [--driver]
//! election-mutants build
//! ```
//!
//! `run` tries each mutant against the tests of the core, the scenarios, small worlds of the
//! explorer and seeds of the simulator, and fails if one survives that the file `accepted` does not
//! name. Each protocol is played with N seeds (40) within the contract and N beyond. `--tests` only
//! performs the tests of the core, which are built sooner. `--named` tries the mutants on the lines
//! of a file, for instance those that an earlier run has told. `--all` tries the accepted ones as
//! well. `--driver` is about what of the driver decides whether work may run, and how a node reaches the
//! others, and its tests. `build` leaves a simulator that can tell which branches its seeds take
//! (`election-sim run --reach`).
#![forbid(unsafe_code)]

mod accepted;
mod checks;
mod copy;
mod mutation;
mod options;
mod play;
mod report;
mod rewrite;
mod subject;
mod trial;

use options::{Options, Verb};
use std::{
    io,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};
use trial::{Fate, Table};

fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1))
        .and_then(|options| begin(&options).map_err(|why| why.to_string()))
    {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("election-mutants: {why}");
            ExitCode::from(2)
        }
    }
}

fn begin(options: &Options) -> io::Result<bool> {
    // Asked of `cargo run`: a build directory may be shared with a checkout that is gone.
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = own.join("../..").canonicalize()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let subject = if options.driver { &subject::DRIVER } else { &subject::CORE };
    let copy = target.join(subject.copy);
    let accepted = std::fs::read_to_string(root.join("election-sim/mutants/accepted"))?;
    let mut accepted = accepted::read(&accepted).map_err(io::Error::other)?;
    accepted.retain(|key, _| subject.is_about(key));
    let found = copy::write(subject, &root, &copy)?;
    let stale = report::stale(&accepted, &found.mutants);
    let chosen = options.choose(&found.mutants, &accepted);
    if options.verb == Verb::List {
        for id in chosen {
            println!("{}", found.mutants[id]);
        }
        return Ok(stale);
    }
    let began = Instant::now();
    // The simulator knows nothing of the driver.
    let seeds = (!options.tests && !options.driver).then_some(options.seeds);
    let built = checks::build(subject, &copy, seeds)?;
    println!("built in {:.0?}: {}", began.elapsed(), copy.join("target/debug").display());
    if options.verb == Verb::Build {
        return Ok(true);
    }
    let until = options.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let table = Table::count(&built, options.jobs)?;
    println!("{} checks counted, {:.0?}", table.checks.len(), began.elapsed());
    let told = |id: usize, fate: &Fate| {
        if matches!(fate, Fate::Survived | Fate::Unreached) {
            println!("{}: {}", report::word(fate), found.mutants[id]);
        }
    };
    for branch in table.untaken(&found.branches).filter(|told| options.is_about(told)) {
        println!("NOT TAKEN by any check: {branch}");
    }
    let fates = table.run(&built, &chosen, options.jobs, until, &told)?;
    println!("done, {:.0?}", began.elapsed());
    let clean = report::tell(&chosen, &fates, &found.mutants, &accepted);
    Ok(clean && stale)
}

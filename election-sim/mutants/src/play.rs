//! One process: checks with a mutant on, within bounds of work, memory and time.

use crate::checks::{Built, Check};
use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Kilobytes of address space: some mutants allocate without end.
const MEMORY: &str = "6000000";
/// How many histories a property is tried with.
const HISTORIES: &str = "64";
/// What `timeout` and the switches say when they end a process.
const ENDLESS: [i32; 3] = [124, 137, 97];

/// What a process came to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every check was content.
    Content,
    /// A check failed.
    Failed,
    /// It came to no end.
    Endless,
}

/// What one check meets of the rewritten code.
#[derive(Default)]
pub(crate) struct Reach {
    pub(crate) mutants: BTreeSet<usize>,
    pub(crate) branches: BTreeSet<usize>,
    /// At most this many functions and rounds of loops.
    pub(crate) rounds: u64,
    pub(crate) took: Duration,
}

/// How many times as long as a mutant the code as it is may take, on a busy machine.
const PATIENCE: u32 = 10;

impl Built {
    fn process(&self, checks: &[&Check], scratch: &Path, longest: u32) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -v \"$1\"; shift; exec timeout -s KILL \"$@\"", "sh"])
            .args([MEMORY, &longest.to_string()])
            .args(self.command(checks, scratch))
            .current_dir(self.directory())
            // Whoever is killed leaves its files there.
            .env("TMPDIR", scratch)
            .env("PROPTEST_RNG_SEED", "1")
            .env("PROPTEST_CASES", HISTORIES)
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Performs one check as it is, and counts.
    pub(crate) fn count(&self, check: &Check, scratch: &Path) -> io::Result<Reach> {
        let log = scratch.join("log");
        fs::write(&log, "")?;
        let status = self
            .process(&[check], scratch, PATIENCE * self.subject.longest)
            .env("MUTANT_LOG", &log)
            .status()?;
        if !status.success() {
            let words = self.command(&[check], scratch);
            return Err(io::Error::other(format!("fails without any mutant: {words:?}")));
        }
        let mut reach = Reach::default();
        for line in fs::read_to_string(&log)?.lines() {
            let Ok(number) = line.get(1..).unwrap_or("").parse::<u64>() else { continue };
            let id = usize::try_from(number).unwrap_or(usize::MAX);
            match line.as_bytes().first() {
                Some(b'm') => {
                    reach.mutants.insert(id);
                }
                Some(b'b') => {
                    reach.branches.insert(id);
                }
                _ => reach.rounds = reach.rounds.max(number.saturating_mul(2)),
            }
        }
        // Once more without the log, for the time.
        let began = Instant::now();
        self.process(&[check], scratch, PATIENCE * self.subject.longest).status()?;
        reach.took = began.elapsed();
        Ok(reach)
    }

    /// Performs checks that go together with this mutant on.
    pub(crate) fn play(
        &self,
        mutant: usize,
        checks: &[&Check],
        fuel: u64,
        scratch: &Path,
    ) -> io::Result<Verdict> {
        let status = self
            .process(checks, scratch, self.subject.longest)
            .env("MUTANT", mutant.to_string())
            .env("MUTANT_FUEL", fuel.to_string())
            .status()?;
        Ok(match status.code() {
            Some(0) => Verdict::Content,
            Some(code) if !ENDLESS.contains(&code) => Verdict::Failed,
            _ => Verdict::Endless,
        })
    }
}

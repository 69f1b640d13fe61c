//! The checks that mutants are tried against, and the programs that perform them.

use crate::subject::Subject;
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// How far the explorer goes in each of its small worlds.
const STATES: &str = "15000";
/// What performs a check. Several checks of one test program or of the scenarios go together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Check {
    /// A test of this program.
    Test { program: PathBuf, of: String, name: String },
    /// A scenario.
    Scenario(PathBuf),
    /// A small world of the explorer.
    World { side: &'static str, name: String },
    /// Seeds of the simulator.
    Seeds { side: &'static str, beyond: bool },
}

impl Check {
    /// What people call this kind of check.
    pub(crate) fn kind(&self) -> String {
        match self {
            Self::Test { of, .. } => format!("tests of {of}"),
            Self::Scenario(_) => "scenarios".into(),
            Self::World { side, .. } => format!("explorer, {side}"),
            Self::Seeds { side, .. } => format!("seeds, {side}"),
        }
    }

    /// Whether one process can perform both.
    pub(crate) fn goes_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Test { program, .. }, Self::Test { program: others, .. }) => program == others,
            (Self::Scenario(_), Self::Scenario(_)) => true,
            _ => false,
        }
    }
}

/// The built copy.
pub(crate) struct Built {
    pub(crate) subject: &'static Subject,
    pub(crate) copy: PathBuf,
    simulator: PathBuf,
    tests: Vec<(String, PathBuf)>,
    /// How many seeds the simulator plays of each protocol, within and beyond the contract; `None`
    /// if there is no simulator.
    seeds: Option<u64>,
}

/// Builds the copy: the tests, and the simulator if it is to play seeds.
pub(crate) fn build(
    subject: &'static Subject,
    copy: &Path,
    seeds: Option<u64>,
) -> io::Result<Built> {
    let target = copy.join("target");
    let cargo = |arguments: &[&str]| {
        let output = Command::new("cargo")
            .args(arguments)
            .current_dir(copy)
            .env("CARGO_TARGET_DIR", &target)
            .env("RUSTFLAGS", "--cfg election_rewritten --cap-lints allow")
            .stderr(Stdio::piped())
            .output()?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(told) } else { Err(io::Error::other(told)) }
    };
    if seeds.is_some() {
        cargo(&["build", "--package=election-sim", "--features=cli"])?;
    }
    let mut arguments = vec!["test", "--no-run"];
    arguments.extend(subject.tests);
    let told = cargo(&arguments)?;
    let mut tests = Vec::new();
    for line in told.lines() {
        // "Executable tests/lease/main.rs (target/debug/deps/lease-0123456789abcdef)"
        let Some(rest) = line.trim().strip_prefix("Executable ") else { continue };
        let Some((_, path)) = rest.split_once('(') else { continue };
        let path = copy.join(path.trim_end_matches(')'));
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let name = name.rsplit_once('-').map_or(name, |(name, _)| name).to_owned();
        tests.push((name, path));
    }
    let simulator = target.join("debug/election-sim");
    Ok(Built { subject, copy: copy.to_owned(), simulator, tests, seeds })
}

impl Built {
    /// Everything there is to try a mutant against.
    pub(crate) fn checks(&self) -> io::Result<Vec<Check>> {
        let mut checks = Vec::new();
        for (of, program) in &self.tests {
            let output = Command::new(program).args(["--list", "--format=terse"]).output()?;
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                if let Some(name) = line.strip_suffix(": test") {
                    let (program, of, name) = (program.clone(), of.clone(), name.to_owned());
                    checks.push(Check::Test { program, of, name });
                }
            }
        }
        if self.seeds.is_none() {
            return Ok(checks);
        }
        let scenarios = self.copy.join("election-sim/tests/scenarios");
        for folder in [scenarios.clone(), scenarios.join("quorum")] {
            let mut found = Vec::new();
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "scn") {
                    found.push(Check::Scenario(path));
                }
            }
            found.sort();
            checks.extend(found);
        }
        for side in ["lease", "quorum"] {
            for name in self.worlds(side)? {
                checks.push(Check::World { side, name });
            }
            for beyond in [false, true] {
                checks.push(Check::Seeds { side, beyond });
            }
        }
        Ok(checks)
    }

    /// The names of the explorer's worlds, as it tells them itself.
    fn worlds(&self, side: &str) -> io::Result<Vec<String>> {
        let output = Command::new(&self.simulator)
            .args(["explore", side, "--scope=all", "--states=1", "--json"])
            .output()?;
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let name =
            |line: &str| Some(line.split("\"scope\":\"").nth(1)?.split('"').next()?.to_owned());
        Ok(told.lines().filter_map(name).collect())
    }

    /// The command that performs these checks, which go together.
    pub(crate) fn command(&self, checks: &[&Check], scratch: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        match checks.first() {
            None => {}
            Some(Check::Test { program, .. }) => {
                words.push(program.into());
                words.extend(["--exact".into(), "--test-threads=1".into()]);
                words.extend(checks.iter().filter_map(|check| match check {
                    Check::Test { name, .. } => Some(name.into()),
                    _ => None,
                }));
            }
            Some(Check::Scenario(_)) => {
                words.extend([self.simulator.as_os_str().into(), "run".into()]);
                words.extend(checks.iter().filter_map(|check| match check {
                    Check::Scenario(file) => Some(file.into()),
                    _ => None,
                }));
            }
            Some(Check::World { side, name }) => {
                words.push(self.simulator.as_os_str().into());
                words.extend(["explore", side, "--scope", name].map(Into::into));
                words.extend(["--states", STATES, "--json", "--out"].map(Into::into));
                words.push(scratch.into());
            }
            Some(Check::Seeds { side, beyond }) => {
                words.push(self.simulator.as_os_str().into());
                let seeds = format!("--seeds=0..{}", self.seeds.unwrap_or_default());
                words.extend(["run", side, &seeds, "--jobs=1", "--json"].map(Into::into));
                words.extend(beyond.then_some("--beyond".into()));
            }
        }
        words
    }

    /// Where tests expect to be run.
    pub(crate) fn directory(&self) -> PathBuf {
        self.copy.join(self.subject.rewritten)
    }
}

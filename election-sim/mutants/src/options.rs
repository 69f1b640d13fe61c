//! The command line.

use crate::mutation::Mutant;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    List,
    Build,
    Run,
}

pub(crate) struct Options {
    pub(crate) verb: Verb,
    /// Which part, of how many.
    shard: (usize, usize),
    pub(crate) seconds: Option<u64>,
    /// Nothing but lines with one of these texts, if there are any.
    only: Vec<String>,
    /// Nothing but the mutants of these lines.
    named: Option<BTreeSet<String>>,
    all: bool,
    pub(crate) seeds: u64,
    /// No check but the tests of the core.
    pub(crate) tests: bool,
    /// About the driver and not the core.
    pub(crate) driver: bool,
    pub(crate) jobs: usize,
}

impl Options {
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let verb = match words.next().as_deref() {
            Some("list") => Verb::List,
            Some("build") => Verb::Build,
            Some("run") => Verb::Run,
            _ => return Err("expected `list`, `build` or `run`".into()),
        };
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self {
            verb,
            shard: (0, 1),
            seconds: None,
            only: Vec::new(),
            named: None,
            all: false,
            seeds: 40,
            tests: false,
            driver: false,
            jobs,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word}: a value is missing"));
            match word.as_str() {
                "--all" => options.all = true,
                "--tests" => options.tests = true,
                "--driver" => options.driver = true,
                "--named" => options.named = Some(named(&value()?)?),
                "--only" => options.only.push(value()?),
                "--seconds" => options.seconds = Some(number(&word, &value()?)?),
                "--seeds" => options.seeds = number(&word, &value()?)?,
                "--jobs" => options.jobs = number(&word, &value()?)?,
                "--shard" => options.shard = shard(&value()?)?,
                _ => return Err(format!("unexpected `{word}`")),
            }
        }
        Ok(options)
    }

    /// Whether these options are about the mutant or branch on this line.
    pub(crate) fn is_about(&self, line: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|text| line.contains(text))
    }

    /// The mutants that these options are about.
    pub(crate) fn choose(
        &self,
        mutants: &[Mutant],
        accepted: &BTreeMap<String, String>,
    ) -> Vec<usize> {
        let (part, parts) = self.shard;
        let is_chosen = |(id, mutant): &(usize, &Mutant)| {
            id % parts == part
                && self.is_about(&mutant.to_string())
                && self.named.as_ref().is_none_or(|named| named.contains(&mutant.key))
                && (self.all || self.verb == Verb::List || !accepted.contains_key(&mutant.key))
        };
        mutants.iter().enumerate().filter(is_chosen).map(|(id, _)| id).collect()
    }
}

fn number<T: std::str::FromStr>(word: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{word} {text}: expected a number"))
}

/// The mutants that a file names, a line each: as `run` tells them, or without the line number.
fn named(file: &str) -> Result<BTreeSet<String>, String> {
    let text = std::fs::read_to_string(file).map_err(|why| format!("{file}: {why}"))?;
    let key = |line: &str| {
        let line = line.rsplit_once("ED: ").map_or(line, |(_, mutant)| mutant).trim();
        let (file, rest) = line.split_once(".rs")?;
        let rest = rest.strip_prefix(':').map_or(rest, |numbered| {
            numbered.trim_start_matches(|digit: char| digit.is_ascii_digit())
        });
        Some(format!("{file}.rs{rest}"))
    };
    Ok(text.lines().filter_map(key).collect())
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("--shard {text}: expected K/N, K below N");
    let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
    let (part, parts) = (number("--shard", part)?, number("--shard", parts)?);
    if part < parts { Ok((part, parts)) } else { Err(wrong()) }
}

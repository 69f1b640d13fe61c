//! A mutant and a branch: where they are, and how people tell them apart.

use std::{collections::HashMap, fmt};

/// Source text in a list is cut to this many characters.
const LONGEST: usize = 90;

/// One small change of the source.
pub(crate) struct Mutant {
    pub(crate) file: String,
    pub(crate) line: usize,
    /// What identifies it, whatever its line: file, function, the change, and a number if the
    /// function contains the same change again.
    pub(crate) key: String,
}

/// One way that the code can go.
pub(crate) struct Branch {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) function: String,
    pub(crate) what: String,
}

impl Mutant {
    pub(crate) fn new(file: &str, line: usize, function: &str, before: &str, after: &str) -> Self {
        let (before, after) = (shortened(before), shortened(after));
        Self { file: file.to_owned(), line, key: format!("{file} {function}: {before} => {after}") }
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = self.key.strip_prefix(&self.file).unwrap_or(&self.key);
        write!(f, "{}:{}{rest}", self.file, self.line)
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, function, what } = self;
        write!(f, "{file}:{line} {function}: {what}")
    }
}

/// Numbers the changes that occur several times in one function.
pub(crate) fn tell_apart(mutants: &mut [Mutant]) {
    let mut times: HashMap<String, u32> = HashMap::new();
    for mutant in mutants {
        let time = times.entry(mutant.key.clone()).or_insert(0);
        *time += 1;
        if *time > 1 {
            mutant.key += &format!(" (#{time})");
        }
    }
}

pub(crate) fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let half = LONGEST / 2;
    let head: String = text.chars().take(half).collect();
    let skipped = text.chars().count() - half;
    let tail: String = text.chars().skip(skipped).collect();
    format!("{head}…{tail}")
}

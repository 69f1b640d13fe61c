//! One line of a `.scn` file as words, with the column of the word that cannot be read.

use super::{
    node_name::node_name,
    span::{read_signed, read_span},
};
use crate::{seed::Seed, span::DurationRange};
use std::time::Duration;

/// Something in a `.scn` file that cannot be read or is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct ScnError {
    /// The line, from one.
    pub line: usize,
    /// The column, from one, in characters.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub what: String,
}

/// The words of one line, each with its column.
pub(crate) struct Words<'a> {
    line: &'a str,
    number: usize,
    /// How many nodes the file has named so far.
    nodes: usize,
    at: usize,
}

impl<'a> Words<'a> {
    pub(crate) fn new(line: &'a str, number: usize, nodes: usize) -> Self {
        Self { line, number, nodes, at: 0 }
    }

    /// The number of the line, from one.
    pub(crate) fn line_number(&self) -> usize {
        self.number
    }

    pub(crate) fn next(&mut self) -> Option<(usize, &'a str)> {
        let rest = &self.line[self.at..];
        let start = self.at + rest.find(|c: char| !c.is_whitespace())?;
        let rest = &self.line[start..];
        if rest.starts_with('#') {
            return None;
        }
        let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.at = end;
        Some((start, &self.line[start..end]))
    }

    pub(crate) fn error(&self, at: usize, what: String) -> ScnError {
        let column = self.line[..at].chars().count() + 1;
        ScnError { line: self.number, column, what }
    }

    pub(crate) fn expect(&mut self, what: &str) -> Result<(usize, &'a str), ScnError> {
        self.next().ok_or_else(|| self.error(self.line.len(), format!("expected {what}")))
    }

    pub(crate) fn read<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ScnError> {
        let (column, word) = self.expect(what)?;
        read(word).ok_or_else(|| self.error(column, format!("expected {what}, found `{word}`")))
    }

    pub(crate) fn keyword(&mut self, keyword: &str) -> Result<(), ScnError> {
        self.read(&format!("`{keyword}`"), |word| (word == keyword).then_some(()))
    }

    pub(crate) fn span(&mut self) -> Result<Duration, ScnError> {
        self.read("a span of time, as in 1.5s or 20ms", read_span)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, ScnError> {
        self.read("a span with its sign, as in -3s", read_signed)
    }

    pub(crate) fn ppm(&mut self) -> Result<i32, ScnError> {
        self.read("parts per million, as in +200ppm", |word| word.strip_suffix("ppm")?.parse().ok())
    }

    pub(crate) fn number(&mut self, what: &str) -> Result<u64, ScnError> {
        self.read(what, |word| word.parse().ok())
    }

    pub(crate) fn seed(&mut self) -> Result<u64, ScnError> {
        self.read("a seed, as in 7 or 0x2a", |word| word.parse().ok().map(|Seed(seed)| seed))
    }

    pub(crate) fn between(&mut self) -> Result<DurationRange, ScnError> {
        self.read("a span or two, as in 1ms..5ms", |word| {
            let (low, high) = word.split_once("..").unwrap_or((word, word));
            Some(DurationRange { low: read_span(low)?, high: read_span(high)? })
        })
    }

    pub(crate) fn one_of<T: Clone>(&mut self, words: &[(&str, T)]) -> Result<T, ScnError> {
        let names: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        self.read(&names.join(" or "), |word| {
            words.iter().find(|(known, _)| *known == word).map(|(_, value)| value.clone())
        })
    }

    /// A name in quotes, with the escapes of a Rust string.
    pub(crate) fn quoted(&mut self) -> Result<String, ScnError> {
        let rest = &self.line[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let what = "expected a name in quotes, as in \"billing 1\"";
        let wrong = |words: &Self| words.error(start, what.to_owned());
        let mut chars = self.line[start..].char_indices();
        if chars.next().map(|(_, c)| c) != Some('"') {
            return Err(wrong(self));
        }
        let mut name = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = start + at + 1;
                    return Ok(name);
                }
                '\\' => name.push(escaped(&mut chars).ok_or_else(|| wrong(self))?),
                c => name.push(c),
            }
        }
        Err(wrong(self))
    }

    pub(crate) fn node(&mut self) -> Result<usize, ScnError> {
        let (column, name) = self.expect("a node")?;
        self.find(name, column)
    }

    pub(crate) fn nodes(&mut self) -> Result<Vec<usize>, ScnError> {
        let (column, list) = self.expect("nodes, as in `a,b`")?;
        list.split(',').map(|name| self.find(name, column)).collect()
    }

    fn find(&self, name: &str, column: usize) -> Result<usize, ScnError> {
        (0..self.nodes).find(|node| node_name(*node) == name).ok_or_else(|| {
            let what = format!("there is no node `{name}`; nodes come before what befalls them");
            self.error(column, what)
        })
    }

    /// A history and an offset, as in `3/120`.
    pub(crate) fn position(&mut self) -> Result<(u64, u64), ScnError> {
        self.read("history and offset, as in 3/120", |word| {
            let (history, offset) = word.split_once('/')?;
            Some((history.parse().ok()?, offset.parse().ok()?))
        })
    }
}

/// The character that an escape in a quoted name stands for.
fn escaped(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    match chars.next()?.1 {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '0' => Some('\0'),
        'u' => {
            let rest = chars.as_str().strip_prefix('{')?;
            let (digits, _) = rest.split_once('}')?;
            let code = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            chars.nth(digits.chars().count() + 1)?;
            Some(code)
        }
        c @ ('"' | '\\' | '\'') => Some(c),
        _ => None,
    }
}

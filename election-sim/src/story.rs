//! The end of a run in words: what led to a violation, short enough to read.
//!
//! A run has hundreds of lines about an app. The last of them are shown, many frames in a row as
//! one, and the others are counted.

use crate::{
    outcome::Outcome,
    text::node_name,
    trace::{Line, LineKind},
};
use std::{fmt::Write as _, time::Duration};

/// The end of a run.
#[derive(Debug)]
pub(crate) struct Story<'a> {
    /// What came before the rows, counted.
    pub(crate) before: String,
    pub(crate) rows: Vec<Row<'a>>,
}

/// One line of a run, or several that are alike.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) lines: &'a [&'a Line],
}

/// More frames than this in a row are counted.
const MOST_FRAMES: usize = 3;

impl Row<'_> {
    pub(crate) fn at(&self) -> Duration {
        self.lines.last().map_or(Duration::ZERO, |line| line.at)
    }

    pub(crate) fn begins(&self) -> Duration {
        self.lines.first().map_or(Duration::ZERO, |line| line.at)
    }

    /// The node, unless the row is about the world or about several nodes.
    pub(crate) fn node(&self) -> Option<usize> {
        match self.lines {
            [line] => line.node,
            _ => None,
        }
    }

    pub(crate) fn kind(&self) -> LineKind {
        self.lines.first().map_or(LineKind::Fault, |line| line.kind)
    }

    pub(crate) fn text(&self) -> String {
        match self.lines {
            [line] => line.text.clone(),
            lines => {
                let count = |kind| lines.iter().filter(|line| line.kind == kind).count();
                let (sent, lost) = (count(LineKind::Sent), count(LineKind::Lost));
                let since = self.begins().as_secs_f64();
                format!(
                    "since {since:.3}s frames between apps: {sent} sent, {} received, {lost} lost",
                    count(LineKind::Received),
                )
            }
        }
    }
}

impl<'a> Story<'a> {
    /// The last `most` rows of these lines, which are those that most readers want.
    pub(crate) fn of(lines: &'a [&'a Line], most: usize) -> Self {
        let mut rows = Vec::new();
        let mut end = lines.len();
        while end > 0 && rows.len() < most {
            let frames = lines[..end].iter().rev().take_while(|line| line.kind.is_frame()).count();
            let length = if frames > MOST_FRAMES { frames } else { 1 };
            rows.push(Row { lines: &lines[end - length..end] });
            end -= length;
        }
        rows.reverse();
        Self { before: counted(&lines[..end]), rows }
    }

    /// The rows as text, with the violation below them.
    pub(crate) fn told(&self, outcome: &Outcome) -> String {
        let mut text = String::new();
        if !self.before.is_empty() {
            let _ = writeln!(text, "    before that: {}", self.before);
        }
        let mut row = |at: Duration, who: &str, what: &str| {
            let _ = writeln!(text, "{:>11.3}s {who:<3} {what}", at.as_secs_f64());
        };
        for one in &self.rows {
            let node = one.node().map_or_else(|| "-".to_owned(), node_name);
            row(one.at(), &node, &one.text());
        }
        if let Some(violation) = &outcome.violation {
            row(violation.at, "!", &format!("{}: {}", violation.check, violation.what));
        }
        text
    }
}

fn counted(lines: &[&Line]) -> String {
    let parts = [
        ("notes", &[LineKind::Note][..]),
        ("writes accepted", &[LineKind::Accepted]),
        ("writes refused", &[LineKind::Refused]),
        ("frames sent between apps", &[LineKind::Sent, LineKind::Lost]),
        ("changes of leadership", &[LineKind::Change]),
        ("starts and ends of processes", &[LineKind::Process]),
        ("beginnings and ends of faults", &[LineKind::Fault]),
    ];
    let count = |kinds: &[LineKind]| lines.iter().filter(|line| kinds.contains(&line.kind)).count();
    let parts = parts.map(|(name, kinds)| (count(kinds), name)).into_iter();
    let parts = parts.filter(|(count, _)| *count > 0);
    parts.map(|(count, name)| format!("{name}: {count}")).collect::<Vec<_>>().join(", ")
}

/// The lines that most readers want.
pub(crate) fn brief(lines: &[Line]) -> Vec<&Line> {
    lines.iter().filter(|line| line.kind.is_brief()).collect()
}

//! Schedules as text, with what is expected of them: `.scn` files.
//!
//! ```text
//! # A leader is stopped for longer than its lease.
//! ttl 15s
//! node a
//! node b
//! at 8s for 30s pause a
//! run 60s
//! ----
//!      0.000s a  starts
//!      …
//! ```
//!
//! Above the `----` stands the [`Schedule`], one statement a line; below it the transcript that
//! playing it gives. A test plays the file and compares; with `UPDATE=1` it writes the transcript
//! anew, so that a change in behaviour is reviewed as a diff. Nodes are `a`, `b`, … in their
//! order; `named` gives one another configured name. `quorum 5s` in place of `ttl 15s` makes it a
//! schedule of a quorum whose peers are down after so long. What is not said keeps the value that
//! [`Schedule::calm`] gives it.

mod engines;
mod parse;
mod print;

pub use crate::text::ScnError;

use crate::{
    outcome::Outcome,
    schedule::{Schedule, ScheduleError},
    trace::{Line, LineKind},
    workload::Workload,
};
use std::{fmt::Write as _, sync::Arc};

/// A `.scn` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scn {
    /// The comment at its head, without the marks.
    pub head: Vec<String>,
    /// The schedule.
    pub schedule: Schedule,
    /// Whether the transcript shows statements, too.
    pub full: bool,
    /// The transcript, if the file has one.
    pub transcript: Option<String>,
}

impl Scn {
    /// A file for this schedule, without a transcript.
    #[must_use]
    pub fn new(schedule: Schedule) -> Self {
        Self { head: Vec::new(), schedule, full: false, transcript: None }
    }

    /// The text of a file with another transcript; what stands above it, comments included, stays
    /// as it is.
    #[must_use]
    pub fn rewritten(text: &str, transcript: &str) -> String {
        let head: String =
            text.split_inclusive('\n').take_while(|line| line.trim_end() != parse::RULE).collect();
        let line_end = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        format!("{head}{line_end}{}\n{transcript}", parse::RULE)
    }

    /// Plays the schedule and writes the transcript.
    ///
    /// # Errors
    /// If there can be no such world.
    pub fn play(&self, workload: &Arc<Workload>) -> Result<(Outcome, String), ScheduleError> {
        let (outcome, lines) = self.schedule.narrate(workload)?;
        let text = transcript(&outcome, &lines, self.full);
        Ok((outcome, text))
    }
}

/// The lines that a reader wants, and the verdict.
fn transcript(outcome: &Outcome, lines: &[Line], full: bool) -> String {
    let mut text = String::new();
    for line in lines.iter().filter(|line| full || line.kind.is_brief()) {
        if line.text.starts_with("register") {
            continue;
        }
        let node = line.node.map_or_else(|| "-".to_owned(), crate::text::node_name);
        let at = line.at.as_secs_f64();
        let _ = writeln!(text, "{at:>11.3}s {node:<2} {}", line.text);
    }
    match &outcome.violation {
        Some(violation) => {
            let _ = writeln!(text, "= {}: {}", violation.check, violation.what);
        }
        None if outcome.broken.is_empty() => text.push_str("= nothing violated\n"),
        None => {
            let _ = writeln!(text, "= beyond the contract, broken: {}", outcome.broken.join(", "));
        }
    }
    text
}

impl LineKind {
    fn is_brief(self) -> bool {
        matches!(self, Self::Process | Self::Fault | Self::Change | Self::App)
    }
}

//! Schedules as text, with their expected transcripts: `.scn` files.
//!
//! The [`Schedule`] stands above a line `----`, one statement a line; below that line stands the
//! transcript that playing it gives. A test plays the file and compares. With `UPDATE=1` the
//! command rewrites the transcript, so that a change in behaviour is reviewed as a diff.
//!
//! ```
//! use election_sim::{Scn, scn::ScnError};
//! use std::sync::Arc;
//!
//! let scn: Scn = "
//! ttl 15s
//! node a
//! node b clock +200ppm
//! latency 1ms..5ms
//! at 8s for 30s pause a      # for longer than its lease
//! at 50s statement b 9 late 2s
//! run 60s
//! "
//! .parse()?;
//! assert_eq!(scn.schedule.faults.len(), 2);
//! let (outcome, transcript) = scn.play(&Arc::default()).expect("a world that can be");
//! assert!(outcome.violation.is_none(), "{transcript}");
//! # Ok::<(), ScnError>(())
//! ```
//!
//! # Lines
//!
//! A line is a statement, empty, or a comment. `#` begins a comment, at the start of a line or
//! after a space. The comments before the first statement are the head of the file. Words are
//! separated by spaces. Every statement except `node` and `at` appears at most once. The order is
//! free, but a node comes before the lines that name it, and `quorum` comes before the statements
//! about the quorum. A setting that the file leaves out keeps the value that [`Schedule::calm`]
//! gives it. Only `run` and one `node` are required.
//!
//! # Statements
//!
//! | statement | what it sets |
//! | --- | --- |
//! | `seed SEED` | [`Schedule::seed`], which decides all draws; decimal, or hexadecimal after `0x` |
//! | `run SPAN` | [`Schedule::horizon`], the length of the run |
//! | `node NODE [named "NAME"] [offset SPAN] [clock GAIN] [ttl SPAN] [data HISTORY/OFFSET] [observer] [witness] [spare] [legacy] [downgraded] [upgraded]` | the next [`Member`](crate::Member): nodes are `a` to `z`, then `n26`, `n27`, …, in this order |
//! | `latency RANGE` | [`Schedule::latency`] |
//! | `stop RANGE` | [`Schedule::stop`] |
//! | `act RANGE` | [`Schedule::act`] |
//! | `drift GAIN` | the drift bound of all clocks |
//! | `grace SPAN`, `margin SPAN` | the setting of the lease, or of the quorum |
//! | `heal TIME core NODES within SPAN` | [`Schedule::heal`] |
//! | `at TIME [for SPAN] FAULT` | one of the [faults](#faults) |
//! | `show statements` | the transcript shows every statement and answer |
//!
//! For a lease only:
//!
//! | statement | what it sets |
//! | --- | --- |
//! | `ttl SPAN` | [`Timing::ttl`](crate::Timing::ttl) |
//! | `interval SPAN`, `jitter SPAN`, `wake-jitter SPAN`, `attempt-timeout SPAN`, `at-least-for SPAN`, `clock-step SPAN` | the other settings of [`Timing`](crate::Timing) |
//! | `engine postgres`, `engine mysql`, `engine sqlite`, `engine register` | [`Schedule::engine`] |
//! | `elections COUNT` | [`Schedule::elections`]: of several, the transcript shows the one in which something was violated, or the first |
//! | `commit RANGE` | [`Schedule::commit`] |
//! | `lock-timeout SPAN` | [`Schedule::lock_timeout`] |
//!
//! For a quorum only:
//!
//! | statement | what it sets |
//! | --- | --- |
//! | `quorum SPAN` | makes it a quorum; sets [`Cluster::down_after`](crate::Cluster::down_after) |
//! | `heartbeat SPAN`, `election-timeout SPAN`, `stagger SPAN`, `backoff RANGE` | the other settings of [`Cluster`](crate::Cluster) |
//! | `preferred NODE`, `fail-back SPAN` | the node that operators want to lead, and after how long it gets the leadership back |
//! | `save RANGE` | how long a ballot takes to become durable |
//! | `load RANGE` | how long a new process does not know how far its data have come |
//! | `growth SPAN` | how often the leader writes |
//! | `buffer FRAMES` | how many frames a stalled connection takes |
//! | `history on`, `history off` | whether data tells forks apart |
//!
//! # Values
//!
//! | value | how it is written |
//! | --- | --- |
//! | `SPAN`, `TIME` | a number and `ns`, `us`, `ms`, `s`, `m`, `h` or `d`: `20ms`, `1.5s`. A time counts from the start of the run |
//! | `RANGE` | one span, or two: `1ms..5ms` |
//! | `SHIFT` | a span with its sign: `+20ms`, `-3s` |
//! | `GAIN` | parts per million: `+200ppm` |
//! | `ODDS` | how many of a million: `10000ppm` |
//! | `NODE`, `NODES` | one node; several, separated by commas: `a,b` |
//! | `NTH` | counted from one, over all lives of the process |
//! | `DIRECTION` | `both`, `requests` (statements do not arrive) or `replies` (answers do not) |
//! | `FRAME-FAULT` | a [`FrameFault`](crate::FrameFault): `lost`, `twice` or `late SPAN` |
//! | `DISK-FAULT` | a [`DiskFault`](crate::DiskFault): `lost`, `torn` or `stale SPAN` |
//! | `SAVE-FAULT` | a [`SaveFault`](crate::SaveFault): `slow SPAN`, `failing`, `hanging` or `lying` |
//! | `STATEMENT-FAULT` | a [`StatementFault`](crate::StatementFault): `lost`, `late SPAN`, `stalled SPAN`, `unanswered`, `slow SPAN`, `twice`, `refused`, `fatal`, `locked`, `unknown`, `aborted`, `stale SPAN` or `phantom` |
//!
//! # Faults
//!
//! A fault that lasts for some time has a `for`; a fault that happens at one instant has none.
//!
#![doc = crate::fault::fault_table!(crate::fault::grammar)]

mod engines;
mod parse;
mod print;

pub use crate::text::ScnError;

use crate::{
    outcome::Outcome,
    schedule::{Schedule, ScheduleError},
    trace::Line,
    workload::Workload,
};
use std::{fmt::Write as _, sync::Arc};

/// The line at the head of a schedule that was shrunk with the app of a test.
pub(crate) const NEEDS_APP: &str = "Whether it fails depends on the app of that test.";

/// A `.scn` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scn {
    /// The comment at the file's head, without the `#` marks.
    pub head: Vec<String>,
    /// The schedule.
    pub schedule: Schedule,
    /// Whether the transcript also shows statements.
    pub full: bool,
    /// The transcript, if the file has one.
    pub transcript: Option<String>,
}

impl Scn {
    /// A file with this schedule and without a transcript.
    #[must_use]
    pub fn new(schedule: Schedule) -> Self {
        Self { head: Vec::new(), schedule, full: false, transcript: None }
    }

    /// Whether it was shrunk from a test with an app, without which only the election is played.
    #[must_use]
    pub fn needs_app(&self) -> bool {
        self.head.iter().any(|line| line == NEEDS_APP)
    }

    /// The text of a file with its transcript replaced. Everything above the transcript, comments
    /// included, stays as it is.
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
    /// If the schedule is invalid.
    pub fn play(&self, workload: &Arc<Workload>) -> Result<(Outcome, String), ScheduleError> {
        let (outcome, lines) = self.schedule.narrate(workload)?;
        let text = transcript(&outcome, &lines, self.full);
        Ok((outcome, text))
    }
}

/// The lines that a reader wants, and the verdict.
pub(crate) fn transcript(outcome: &Outcome, lines: &[Line], full: bool) -> String {
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

#[cfg(test)]
mod tests {
    use crate::{Swarm, fault::parameter_words};

    /// The documentation above, without the table of faults, which the table itself generates.
    const GRAMMAR: &str = include_str!("mod.rs");

    #[test]
    fn every_statement_stands_in_the_grammar() {
        for swarm in [Swarm::beyond_contract(), Swarm::beyond_contract().of_quorum()] {
            for seed in 0..500 {
                let text = swarm.schedule(seed).to_string();
                for statement in text.lines().filter_map(|line| line.split(' ').next()) {
                    let known = GRAMMAR.contains(&format!("`{statement} "));
                    assert!(known, "`{statement}` is not documented");
                }
            }
        }
    }

    #[test]
    fn every_parameter_of_a_fault_stands_in_the_grammar() {
        for word in parameter_words() {
            let word = word.replace("3s", "SPAN");
            assert!(GRAMMAR.contains(&format!("`{word}`")), "`{word}` is not documented");
        }
    }
}

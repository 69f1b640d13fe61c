//! The value that says who stands in an election. It informs people, and a single candidate that has
//! resigned; nothing else rests on it. So the candidates' own clocks will do.

use super::text::{VERSION, ValueError, kept, lines, parsed};
use crate::{
    Candidate, Incarnation, Label, NodeId, lease::Registration, sql::CandidateRow, time::millis,
};
use alloc::{string::ToString as _, vec::Vec};
use core::{fmt, str::FromStr, time::Duration};

/// Who stands in an election, as its register holds it, sorted by name.
///
/// ```text
/// election-candidates 1
/// 1764450000123 15000 5f0e6a52-3f33-4c0e-9d0a-0c5f0c2b1c1d host-7
/// label 10.0.0.7:8080
/// ```
///
/// A line for each candidate: when it last registered, in milliseconds since 1970 by its own clock; for
/// how many milliseconds; its incarnation; its name. A line with its label follows if it publishes one.
///
/// Each candidate writes the whole value once in an interval, so it is meant for tens of them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Candidates(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    candidate: Candidate,
    label: Option<Label>,
    at_ms: i64,
    ttl: Duration,
}

impl Entry {
    /// What is left of it, and never more than its length: clocks differ.
    fn remaining(&self, wall_ms: i64) -> Duration {
        let ends = self.at_ms.saturating_add(millis(self.ttl));
        let left = u64::try_from(ends.saturating_sub(wall_ms)).unwrap_or(0);
        Duration::from_millis(left).min(self.ttl)
    }

    /// Nobody counts on it any more: it has been over for as long as it lasted.
    fn is_long_gone(&self, wall_ms: i64) -> bool {
        self.at_ms.saturating_add(millis(self.ttl).saturating_mul(2)) < wall_ms
    }
}

impl Candidates {
    /// Those who stand at this time, in milliseconds since 1970.
    pub fn live(&self, wall_ms: i64) -> impl Iterator<Item = CandidateRow> {
        self.0.iter().filter(move |entry| !entry.remaining(wall_ms).is_zero()).map(move |entry| {
            CandidateRow {
                candidate: entry.candidate.clone(),
                label: entry.label.clone(),
                last_heartbeat_ms: entry.at_ms,
                remaining: entry.remaining(wall_ms),
            }
        })
    }

    pub(super) fn without(mut self, who: &Candidate, wall_ms: i64) -> Self {
        self.0.retain(|entry| entry.candidate != *who && !entry.is_long_gone(wall_ms));
        self
    }

    pub(super) fn with(self, who: &Registration, ttl: Duration, wall_ms: i64) -> Self {
        let mut others = self.without(&who.candidate, wall_ms);
        let Registration { candidate, label, .. } = who.clone();
        others.0.push(Entry { candidate, label, at_ms: wall_ms, ttl });
        others.0.sort_by(|a, b| a.candidate.cmp(&b.candidate));
        others
    }
}

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "election-candidates {VERSION}")?;
        for Entry { candidate, label, at_ms, ttl } in &self.0 {
            let Candidate { id, incarnation } = candidate;
            writeln!(f, "{at_ms} {} {incarnation} {}", millis(*ttl), id.as_str())?;
            if let Some(label) = label {
                writeln!(f, "label {}", label.as_str())?;
            }
        }
        Ok(())
    }
}

/// Whether a line is one of version 1.
fn is_known(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    matches!(word, "election-candidates" | "label") || word.parse::<i64>().is_ok()
}

/// Reads what `Display` writes, and skips lines that a later release has added.
impl FromStr for Candidates {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let mut all = Self::default();
        for line in lines(text, "election-candidates")?.filter(|line| is_known(line)) {
            if let Some(label) = line.strip_prefix("label ") {
                let entry = all.0.last_mut().ok_or(ValueError::Malformed)?;
                entry.label = Some(Label::recorded(label)?);
                continue;
            }
            let mut fields = line.splitn(4, ' ');
            let at_ms = parsed(fields.next())?;
            let ttl = Duration::from_millis(parsed(fields.next())?);
            let incarnation = Incarnation::new(parsed(fields.next())?);
            let id = NodeId::recorded(fields.next().unwrap_or_default())?;
            all.0.push(Entry { candidate: Candidate { id, incarnation }, label: None, at_ms, ttl });
        }
        if kept(text, is_known) == all.to_string() { Ok(all) } else { Err(ValueError::Malformed) }
    }
}

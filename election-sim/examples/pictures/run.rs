//! What happened in a scenario, and when.

use election_sim::{Line, LineKind, Schedule, ScheduleError, Scn};
use std::{sync::Arc, time::Duration};

pub(super) struct Run {
    pub(super) schedule: Schedule,
    lines: Vec<Line>,
}

impl Run {
    pub(super) fn of(scn: &Scn) -> Result<Self, ScheduleError> {
        let (_, lines) = scn.schedule.narrate(&Arc::default())?;
        Ok(Self { schedule: scn.schedule.clone(), lines })
    }

    /// When lines of this node and kind that begin with this text happened.
    fn times(
        &self,
        node: usize,
        kind: LineKind,
        text: &str,
    ) -> impl DoubleEndedIterator<Item = Duration> {
        let wanted = move |line: &&Line| {
            line.node == Some(node) && line.kind == kind && line.text.starts_with(text)
        };
        self.lines.iter().filter(wanted).map(|line| line.at)
    }

    pub(super) fn first(
        &self,
        node: usize,
        kind: LineKind,
        text: &str,
    ) -> Result<Duration, String> {
        self.times(node, kind, text).next().ok_or_else(|| format!("{node}: no {kind:?} {text}"))
    }

    pub(super) fn last(&self, node: usize, kind: LineKind, text: &str) -> Result<Duration, String> {
        self.times(node, kind, text)
            .next_back()
            .ok_or_else(|| format!("{node}: no {kind:?} {text}"))
    }

    pub(super) fn elected(&self, node: usize) -> Result<Duration, String> {
        self.first(node, LineKind::Change, "elected")
    }

    pub(super) fn lost(&self, node: usize) -> Result<Duration, String> {
        self.first(node, LineKind::Change, "lost")
    }

    /// When the work of this node has stopped.
    pub(super) fn stopped(&self, node: usize) -> Result<Duration, String> {
        self.first(node, LineKind::Stopped, "")
    }

    /// When the last fault began: the one that a picture is about.
    pub(super) fn fault(&self) -> Result<Duration, String> {
        self.schedule.faults.iter().map(|fault| fault.at).max().ok_or_else(|| "no fault".to_owned())
    }

    /// When the lease would end that a renewal has granted at this time.
    pub(super) fn expiry(&self, renewed: Duration) -> Duration {
        renewed + self.schedule.timing_of(0).ttl
    }
}

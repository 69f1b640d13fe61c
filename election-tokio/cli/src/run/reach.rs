//! How long it takes to reach every process of a job: so much earlier its killing begins.
//!
//! It grows with the job, and nobody knows it beforehand. So it is measured with each renewal, when the
//! hard stop is far away.

use super::process_tree;
use election_tokio::core::Timestamp;
use std::{collections::BTreeSet, time::Duration};

/// Signals to all processes take about twice as long as finding them.
const ALL: u32 = 3;
/// Measuring takes at most such a part of the time.
const PART: u32 = 20;
/// What is worth a warning: the margin of a short lease is not much longer.
const LONG: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(super) struct Reach {
    last: Duration,
    time: Duration,
    next: Timestamp,
    told: bool,
}

impl Reach {
    pub(super) fn time(&self) -> Duration {
        self.time
    }

    /// Measures. Returns what to warn of, once.
    pub(super) fn measure(&mut self) -> Option<String> {
        let began = election_tokio::now();
        if began < self.next {
            return None;
        }
        let found = process_tree::below(process_tree::own_pid(), &BTreeSet::new());
        let now = election_tokio::now();
        let took = now.since(began);
        // If this process stood still meanwhile, that is no property of the job: the shorter of two.
        self.time = took.min(self.last) * ALL;
        (self.last, self.next) = (took, now + took * PART);
        let is_news = self.time >= LONG && !self.told;
        self.told |= is_news;
        let count = found.map_or(0, |found| found.len());
        let time = self.time.as_millis();
        is_news.then(|| format!("killing the job's {count} processes takes {time} ms"))
    }
}

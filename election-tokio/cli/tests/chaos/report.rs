//! The results of a run, fault by fault.

use crate::{checker::Violation, journal::History};
use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

/// How long after a fault something still counts as its doing, in nanoseconds.
const AFTERMATH: u64 = 3_000_000_000;

/// What is known of one fault.
#[derive(Default)]
struct Row {
    count: usize,
    in_pairs: usize,
    missed: usize,
    violations: usize,
    /// In milliseconds.
    recoveries: Vec<f64>,
}

/// A table with a row for each fault.
#[derive(Default)]
pub(crate) struct Report {
    test: String,
    rows: BTreeMap<&'static str, Row>,
}

impl Report {
    pub(crate) fn of(test: &str) -> Self {
        Self { test: test.to_owned(), rows: BTreeMap::new() }
    }

    /// What a round has done, and how long after its end some node was seen to lead, if any was.
    pub(crate) fn round(&mut self, faults: &[&'static str], recovery: Option<u64>) {
        for fault in faults {
            let row = self.rows.entry(fault).or_default();
            row.count += 1;
            row.in_pairs += usize::from(faults.len() > 1);
            row.recoveries.extend(recovery.map(|nanos| nanos as f64 / 1e6));
        }
    }

    pub(crate) fn missed(&mut self, fault: &'static str) {
        self.rows.entry(fault).or_default().missed += 1;
    }

    /// Every violation counts for all faults that can have to do with it.
    pub(crate) fn judge(&mut self, history: &History, violations: &[Violation]) {
        for violation in violations {
            let near = history.windows.iter().filter(|window| {
                (window.from..=window.to.saturating_add(AFTERMATH)).contains(&violation.at)
            });
            let mut faults: Vec<_> = near.map(|window| window.fault).collect();
            faults.sort_unstable();
            faults.dedup();
            for fault in faults {
                self.rows.entry(fault).or_default().violations += 1;
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| fault on {} | count | in pairs | violations | recovery p50 | p99 | worst |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            self.test
        )?;
        for (fault, row) in &self.rows {
            let mut sorted = row.recoveries.clone();
            sorted.sort_by(f64::total_cmp);
            let at = |share: usize| {
                let place = (sorted.len() * share).div_ceil(100).saturating_sub(1);
                sorted.get(place).map_or("-".to_owned(), |millis| format!("{millis:.0} ms"))
            };
            let mut count = row.count.to_string();
            if row.missed > 0 {
                write!(count, " ({} missed)", row.missed)?;
            }
            let (in_pairs, violations) = (row.in_pairs, row.violations);
            let [p50, p99, worst] = [50, 99, 100].map(at);
            writeln!(
                f,
                "| {fault} | {count} | {in_pairs} | {violations} | {p50} | {p99} | {worst} |"
            )?;
        }
        Ok(())
    }
}

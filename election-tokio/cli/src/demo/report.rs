//! The figures at the end.

use comfy_table::{CellAlignment, Table, presets};
use election_tokio::core::Epoch;
use std::{fmt, time::Duration};

/// One killed leader, and what followed.
#[derive(Clone, Debug)]
pub(super) struct Failover {
    pub(super) killed: String,
    pub(super) epoch: Epoch,
    pub(super) successor: String,
    /// What kept the others out, in a word: the killed leader's lease, or the votes of the others.
    pub(super) keeps_out: &'static str,
    /// For how long yet: nobody may start before.
    pub(super) remaining: Duration,
    /// From the kill to the start of the next job.
    pub(super) took: Duration,
}

impl Failover {
    /// How many milliseconds the takeover took beyond the lease.
    fn beyond_ms(&self) -> f64 {
        (self.took.as_secs_f64() - self.remaining.as_secs_f64()) * 1e3
    }
}

impl fmt::Display for Failover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} → {}: {:.3} s, {} {:.3} s ({:+.0} ms)",
            self.killed,
            self.successor,
            self.took.as_secs_f64(),
            self.keeps_out,
            self.remaining.as_secs_f64(),
            self.beyond_ms()
        )
    }
}

pub(super) fn report(failovers: &[Failover]) -> String {
    let Some(keeps_out) = failovers.first().map(|failover| failover.keeps_out) else {
        return "no leader was killed".to_owned();
    };
    let left = format!("{keeps_out} left");
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["#", "killed", "epoch", &left, "took", "beyond"]);
    for (number, failover) in (1..).zip(failovers) {
        table.add_row([
            format!("{number}"),
            failover.killed.clone(),
            failover.epoch.to_string(),
            format!("{:.3} s", failover.remaining.as_secs_f64()),
            format!("{:.3} s", failover.took.as_secs_f64()),
            format!("{:+.0} ms", failover.beyond_ms()),
        ]);
    }
    for column in [0, 3, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let legend = format!(
        "took: from the kill to the first breath of the next job\nbeyond: how much of that came \
         after the {keeps_out} had expired"
    );
    format!("{table}\n\n{legend}\n{}", histogram(failovers))
}

/// Upper bounds of the classes, in milliseconds.
const CLASSES: [f64; 6] = [10.0, 20.0, 50.0, 100.0, 200.0, f64::INFINITY];

fn histogram(failovers: &[Failover]) -> String {
    let mut beyond: Vec<f64> = failovers.iter().map(Failover::beyond_ms).collect();
    beyond.sort_by(f64::total_cmp);
    let mut lines = Vec::new();
    let mut below = f64::NEG_INFINITY;
    for class in CLASSES {
        let count = beyond.iter().filter(|each| **each >= below && **each < class).count();
        let name = match class {
            class if class.is_infinite() => "    more".to_owned(),
            class => format!("<{class:4.0} ms"),
        };
        lines.push(format!("  {name} {count:4} {}", "█".repeat(count.min(60))));
        below = class;
    }
    let median = beyond[beyond.len() / 2];
    let worst = beyond.last().copied().unwrap_or_default();
    lines.push(format!("  median {median:.0} ms, worst {worst:.0} ms, of {}", beyond.len()));
    lines.join("\n")
}

//! A run as a picture of characters: who leads when, which nodes are down or stopped, and where an
//! invariant broke.
//!
//! ```text
//! a  ████████▒▒ppppppp············
//! b  ···········█████████████!····
//!    0s                        30s
//! ```

use crate::{
    activity::{Activity, Interval, activity},
    schedule::Schedule,
    text::node_name,
    trace::Line,
};
use std::{fmt::Write as _, time::Duration};

/// Draws the run of `lines`, `width` columns wide, up to `end`.
#[must_use]
pub fn timeline(schedule: &Schedule, lines: &[Line], end: Duration, width: usize) -> String {
    let width = width.max(10);
    let column = |at: Duration| {
        let end = end.as_nanos().max(1);
        let column = at.as_nanos().min(end) * (width as u128 - 1) / end;
        usize::try_from(column).unwrap_or(0)
    };
    let mut picture = String::new();
    for node in 0..schedule.nodes.len() {
        let row = row(&activity(lines, node, end), width, &column);
        let _ = writeln!(picture, "{:<4}{row}", node_name(node));
    }
    let _ = writeln!(picture, "{:<4}{}", "", axis(end, width));
    for fault in &schedule.faults {
        let from = column(fault.at.min(end));
        let to = column((fault.at + fault.lasts).min(end));
        let bar = if fault.kind.lasts() { "─".repeat(to - from + 1) } else { "│".into() };
        let _ = writeln!(picture, "{:<4}{}{bar} {}", "", " ".repeat(from), fault.kind);
    }
    picture.push_str("    █ leads   ▒ told to stop   · follows   (blank) down\n");
    picture
}

/// The most important activity wins a column: a short leadership does not vanish in a wide one.
fn row(stretches: &[Interval], width: usize, column: &dyn Fn(Duration) -> usize) -> String {
    let mut cells = vec![Activity::Down; width];
    for stretch in stretches {
        for cell in &mut cells[column(stretch.from)..=column(stretch.to)] {
            *cell = stretch.doing.max(*cell);
        }
    }
    let character = |doing| match doing {
        Activity::Down => ' ',
        Activity::Follows => '·',
        Activity::Drains => '▒',
        Activity::Leads => '█',
    };
    cells.into_iter().map(character).collect()
}

fn axis(end: Duration, width: usize) -> String {
    let right = format!("{:.3}s", end.as_secs_f64());
    format!("0s{}{right}", " ".repeat(width.saturating_sub(2 + right.len())))
}

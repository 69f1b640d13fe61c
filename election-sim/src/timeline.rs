//! A run as a picture of characters: who leads when, which nodes are down or stopped, and where an
//! invariant broke.
//!
//! ```text
//! a  ████████▒▒          ·········
//!    +  +  +
//! b  ·············████████████████
//!                  n + x
//!    0s                        30s
//! ```

use crate::{
    activity::{Activity, Interval, activity},
    schedule::Schedule,
    text::node_name,
    trace::{Line, LineKind},
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
        if let Some(marks) = marks(lines, node, width, &column) {
            let _ = writeln!(picture, "{:<4}{marks}", "");
        }
    }
    let _ = writeln!(picture, "{:<4}{}", "", axis(end, width));
    for fault in &schedule.faults {
        let from = column(fault.at.min(end));
        let to = column((fault.at + fault.lasts).min(end));
        let bar = if fault.kind.lasts() { "─".repeat(to - from + 1) } else { "│".into() };
        let _ = writeln!(picture, "{:<4}{}{bar} {}", "", " ".repeat(from), fault.kind);
    }
    picture.push_str("    █ leads   ▒ told to stop   · follows   (blank) down\n");
    if lines.iter().any(|line| line.kind.is_app()) {
        picture.push_str("    app: x write refused   + write accepted   n note   ~ frame\n");
    }
    picture
}

/// What the app of a node did. The most telling mark wins a column.
fn marks(
    lines: &[Line],
    node: usize,
    width: usize,
    column: &dyn Fn(Duration) -> usize,
) -> Option<String> {
    const MARKS: [char; 5] = [' ', '~', 'n', '+', 'x'];
    let mut cells = vec![0; width];
    for line in lines.iter().filter(|line| line.node == Some(node)) {
        let mark = match line.kind {
            LineKind::Sent | LineKind::Received | LineKind::Lost => 1,
            LineKind::Note => 2,
            LineKind::Accepted => 3,
            LineKind::Refused => 4,
            _ => continue,
        };
        let cell = &mut cells[column(line.at)];
        *cell = mark.max(*cell);
    }
    let row: String = cells.into_iter().map(|mark: usize| MARKS[mark]).collect();
    let row = row.trim_end();
    (!row.is_empty()).then(|| row.to_owned())
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

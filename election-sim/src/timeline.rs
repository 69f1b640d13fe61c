//! A run as a picture of characters: who leads when, who is down or stopped, and where it broke.
//!
//! ```text
//! a  ████████▒▒ppppppp············
//! b  ···········█████████████!····
//!    0s                        30s
//! ```

use crate::{
    schedule::{Schedule, name},
    scn,
    trace::{Line, LineKind},
};
use std::{fmt::Write as _, time::Duration};

/// What a node does in one column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Down,
    Follows,
    Drains,
    Leads,
}

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
        let row = row(lines, node, width, &column);
        let _ = writeln!(picture, "{:<4}{row}", name(node));
    }
    let _ = writeln!(picture, "{:<4}{}", "", axis(end, width));
    for fault in &schedule.faults {
        let from = column(fault.at.min(end));
        let to = column((fault.at + fault.lasts).min(end));
        let bar = if fault.what.lasts() { "─".repeat(to - from + 1) } else { "│".into() };
        let _ =
            writeln!(picture, "{:<4}{}{bar} {}", "", " ".repeat(from), scn::describe(&fault.what));
    }
    picture.push_str("    █ leads   ▒ told to stop   · follows   (blank) down\n");
    picture
}

fn row(lines: &[Line], node: usize, width: usize, column: &dyn Fn(Duration) -> usize) -> String {
    let mut cells = vec![None::<Cell>; width];
    let mut state = Cell::Down;
    let mut from = 0;
    for line in lines.iter().filter(|line| line.node == Some(node)) {
        let next = match line.kind {
            LineKind::Process if line.text == "starts" => Cell::Follows,
            LineKind::Process => Cell::Down,
            LineKind::Change if line.text.starts_with("elected") => Cell::Leads,
            LineKind::Change if line.text.starts_with("lost") => Cell::Drains,
            LineKind::Change => Cell::Follows,
            _ => continue,
        };
        let at = column(line.at);
        fill(&mut cells[from..=at], state);
        (state, from) = (next, at);
    }
    fill(&mut cells[from..], state);
    cells
        .into_iter()
        .map(|cell| match cell.unwrap_or(Cell::Down) {
            Cell::Down => ' ',
            Cell::Follows => '·',
            Cell::Drains => '▒',
            Cell::Leads => '█',
        })
        .collect()
}

/// What matters most is seen: a short leadership does not vanish in a wide column.
fn fill(cells: &mut [Option<Cell>], state: Cell) {
    for cell in cells {
        *cell = (*cell).max(Some(state));
    }
}

fn axis(end: Duration, width: usize) -> String {
    let right = format!("{:.3}s", end.as_secs_f64());
    format!("0s{}{right}", " ".repeat(width.saturating_sub(2 + right.len())))
}

//! Medians of interleaved measurements, side by side.

use crate::{
    contender::Play,
    watch::{Watch, median},
};
use std::time::{Duration, Instant};

/// How long each operation is measured at a time.
const SLICE: Duration = Duration::from_millis(4);

/// The unit of a figure.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// Per operation: less is better.
    Nanos,
    /// Operations per second: more is better.
    PerSecond,
}

/// One operation of one contender.
pub(crate) struct Row {
    name: &'static str,
    unit: Unit,
    play: Option<Play>,
}

impl Row {
    pub(crate) fn of(name: &'static str, unit: Unit, play: Option<Play>) -> Self {
        Self { name, unit, play }
    }

    /// A row that is not selected keeps its line, without a figure.
    pub(crate) fn keep_if(&mut self, column: bool, part_of_name: Option<&str>) {
        let row = part_of_name.is_none_or(|part| self.name.contains(part));
        self.play.take_if(|_| !(column && row));
    }

    /// Performs the operation this often, and returns what the last time comprised: the number of
    /// operations, and the number of frames in each.
    pub(crate) fn perform(&mut self, times: usize) -> Option<(u64, f64)> {
        let play = self.play.as_mut()?;
        let mut watch = Watch::default();
        for _ in 0..times {
            watch = Watch::default();
            play(&mut watch);
        }
        Some((watch.operations(), watch.frames()))
    }
}

/// A row with a figure for each contender that has one.
pub(crate) struct Measured {
    name: &'static str,
    unit: Unit,
    cells: Vec<Option<Cell>>,
}

struct Cell {
    /// Nanoseconds, or whatever is counted: less is better.
    figure: f64,
    frames: f64,
}

/// What is counted of one operation.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) instructions: f64,
    pub(crate) reads: f64,
    pub(crate) writes: f64,
    pub(crate) frames: f64,
}

impl Counts {
    /// The counts of each of so many operations, with so many frames in each.
    pub(crate) fn each_of(self, operations: f64, frames: f64) -> Self {
        let each = |count: f64| count / operations;
        let (instructions, reads) = (each(self.instructions), each(self.reads));
        Self { instructions, reads, writes: each(self.writes), frames }
    }
}

/// What a table shows.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Times,
    Allocations,
    Counts(&'static str),
}

/// Measures row after row, this often, and in each row all contenders in turn.
pub(crate) fn rows<const N: usize>(columns: [Vec<Row>; N], times: usize) -> Vec<Measured> {
    let count = columns[0].len();
    let mut columns = columns.map(Vec::into_iter);
    (0..count)
        .map(|_| {
            let row = columns.each_mut().map(|column| column.next().expect("as many rows"));
            measured(row, times)
        })
        .collect()
}

/// The rows with one figure of what was counted, row by row.
pub(crate) fn counted<const N: usize>(
    columns: &[Vec<Row>; N],
    counts: &[Option<Counts>],
    figure: impl Fn(&Counts) -> f64,
) -> Vec<Measured> {
    let cell = |counts: &Counts| Cell { figure: figure(counts), frames: counts.frames };
    let cells = counts.chunks(N).map(|row| row.iter().map(|one| one.as_ref().map(cell)));
    columns[0]
        .iter()
        .zip(cells)
        .map(|(row, cells)| Measured { name: row.name, unit: row.unit, cells: cells.collect() })
        .collect()
}

fn measured<const N: usize>(mut row: [Row; N], times: usize) -> Measured {
    let (name, unit) = (row[0].name, row[0].unit);
    let mut taken: [Vec<Watch>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..=times {
        for (contender, taken) in row.iter_mut().zip(&mut taken) {
            taken.extend(contender.play.as_mut().map(slice));
        }
    }
    let cells = taken.into_iter().map(|mut watches| {
        if watches.is_empty() {
            return None;
        }
        watches.remove(0); // the first one warms up
        let last = watches.last()?;
        let (allocations, frames) = (last.allocations(), last.frames());
        let mut nanos: Vec<f64> = watches.iter_mut().map(Watch::nanos).collect();
        let nanos = median(&mut nanos);
        Some(Cell { figure: if cfg!(feature = "count") { allocations } else { nanos }, frames })
    });
    Measured { name, unit, cells: cells.collect() }
}

fn slice(play: &mut Play) -> Watch {
    let mut watch = Watch::default();
    let began = Instant::now();
    // Preparing the work takes time, too; neither may take for ever.
    while watch.operations() == 0 || (watch.spent() < SLICE && began.elapsed() < SLICE * 4) {
        play(&mut watch);
    }
    watch
}

/// A line for each operation, and how the first contender's figure compares with the others'.
pub(crate) fn print(names: &[&str], rows: &[Measured], kind: Kind) {
    let counts_allocations = kind == Kind::Allocations;
    match kind {
        Kind::Allocations => println!("allocations of one operation\n"),
        Kind::Times => {
            println!("medians; frames in brackets; how many times as fast as it is election-core\n")
        }
        Kind::Counts(what) => {
            println!("{what} of one operation; frames in brackets; how many times ours\n");
        }
    }
    print!("{:<38}", "");
    for name in names {
        print!("{name:>17}");
    }
    for name in names.iter().skip(1).filter(|_| !counts_allocations) {
        print!("{:>15}", format!("× {name}"));
    }
    println!();
    for row in rows {
        print!("{:<38}", row.name);
        for cell in &row.cells {
            print!("{:>17}", cell.as_ref().map_or("–".into(), |cell| row.unit.shown(cell, kind)));
        }
        for cell in row.cells.iter().skip(1).filter(|_| !counts_allocations) {
            let both = row.cells[0].as_ref().zip(cell.as_ref());
            let ratio = both.map(|(ours, theirs)| theirs.figure / ours.figure);
            print!("{:>15}", ratio.map_or("–".into(), |ratio| format!("{ratio:.2}")));
        }
        println!();
    }
}

impl Unit {
    fn shown(self, cell: &Cell, kind: Kind) -> String {
        let figure = match (kind, self) {
            (Kind::Allocations, _) => return format!("{:.1}", cell.figure),
            (Kind::Times, Self::Nanos) => format!("{:.1} ns", cell.figure),
            (Kind::Times, Self::PerSecond) => format!("{:.0}", 1e9 / cell.figure),
            (Kind::Counts(_), _) => format!("{:.0}", cell.figure),
        };
        if cell.frames > 0.0 { format!("{figure} [{:.0}]", cell.frames) } else { figure }
    }
}

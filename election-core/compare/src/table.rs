//! Medians of interleaved measurements, side by side.

use crate::{
    contender::Play,
    watch::{Watch, median},
};
use std::time::{Duration, Instant};

/// How often each operation is measured, and for how long at a time.
const TIMES: usize = if cfg!(feature = "count") { 3 } else { 41 };
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
}

/// A row with a figure for each contender that has one.
pub(crate) struct Measured {
    name: &'static str,
    unit: Unit,
    cells: Vec<Option<Cell>>,
}

struct Cell {
    nanos: f64,
    allocations: f64,
    frames: f64,
}

/// Measures row after row, and in each row all contenders in turn.
pub(crate) fn rows<const N: usize>(columns: [Vec<Row>; N]) -> Vec<Measured> {
    let count = columns[0].len();
    let mut columns = columns.map(Vec::into_iter);
    (0..count)
        .map(|_| {
            let row = columns.each_mut().map(|column| column.next().expect("as many rows"));
            measured(row)
        })
        .collect()
}

fn measured<const N: usize>(mut row: [Row; N]) -> Measured {
    let (name, unit) = (row[0].name, row[0].unit);
    let mut taken: [Vec<Watch>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..=TIMES {
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
        Some(Cell { nanos: median(&mut nanos), allocations, frames })
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
pub(crate) fn print(names: &[&str], rows: &[Measured]) {
    let counting = cfg!(feature = "count");
    let kind = if counting {
        "allocations of one operation"
    } else {
        "medians; frames in brackets; how many times as fast as it is election-core"
    };
    println!("{kind}\n");
    print!("{:<38}", "");
    for name in names {
        print!("{name:>17}");
    }
    for name in names.iter().skip(1).filter(|_| !counting) {
        print!("{:>15}", format!("× {name}"));
    }
    println!();
    for row in rows {
        print!("{:<38}", row.name);
        for cell in &row.cells {
            print!("{:>17}", cell.as_ref().map_or("–".into(), |cell| row.unit.shown(cell)));
        }
        for cell in row.cells.iter().skip(1).filter(|_| !counting) {
            let both = row.cells[0].as_ref().zip(cell.as_ref());
            let ratio = both.map(|(ours, theirs)| theirs.nanos / ours.nanos);
            print!("{:>15}", ratio.map_or("–".into(), |ratio| format!("{ratio:.2}")));
        }
        println!();
    }
}

impl Unit {
    fn shown(self, cell: &Cell) -> String {
        if cfg!(feature = "count") {
            return format!("{:.1}", cell.allocations);
        }
        let figure = match self {
            Self::Nanos => format!("{:.1} ns", cell.nanos),
            Self::PerSecond => format!("{:.0}", 1e9 / cell.nanos),
        };
        if cell.frames > 0.0 { format!("{figure} [{:.0}]", cell.frames) } else { figure }
    }
}
